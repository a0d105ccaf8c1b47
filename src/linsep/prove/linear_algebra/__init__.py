"""Exact linear algebra: integer rows, square systems of floats, inner products modulo primes."""
