"""Checks of proofs: the plain page, which uses integers and the standard library alone, and the fast checks."""
