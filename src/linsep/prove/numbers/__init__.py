"""Exact numbers: tables read without rounding, one form of their cells, exact linear algebra, fingerprints."""
