"""What stop reasons and verdicts mean, in words: one table for the command line, the report and the page."""

from __future__ import annotations

STOPPED = {
    "separated": "a full pass without a mistake",
    "max_iter": "the pass budget is spent",
    "max_updates": "the update budget is spent",
    "loss_plateau": "the loss does not go down any more",
    "validation": "the error on held-out rows does not improve any more",
    "margin_refuted": "so many mistakes prove that no plane has the target margin",
}


def verdict_meaning(kind: str, fit_intercept: bool) -> str:
    """Return what a verdict says; without an offset it is about planes through the origin only."""
    through = "" if fit_intercept else " through the origin"
    return {
        "separable": f"a plane{through} has every row strictly on its side",
        "quasi": f"no plane{through} has every row strictly on its side, but one has none on the wrong side",
        "overlap": f"every plane{through} has rows on the wrong side, or all rows on it",
        "unknown": "the time limit came first",
    }[kind]
