"""Exact numbers: tables read without rounding, one form of their cells, fingerprints."""
