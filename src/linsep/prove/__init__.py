"""Rows to certificates: verdicts, margins and bounds, each with evidence that is checked in exact arithmetic.

In: rows and class codes. Out: claims with proofs. Read ``claims``, ``check/plain`` and ``verdicts/search`` first.
"""
