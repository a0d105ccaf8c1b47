"""Exact numbers: tables read without rounding, exact linear algebra, fingerprints."""
