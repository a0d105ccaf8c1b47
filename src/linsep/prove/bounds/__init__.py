"""Margins, mistake bounds, error bounds, and the audit of a run."""
