"""Exact cells."""
