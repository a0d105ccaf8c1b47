"""Checks of proofs: the plain pages, which use integers and the standard library alone, and the fast checks."""
