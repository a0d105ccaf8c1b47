"""Separation in regression models: which coefficients are infinite, and the proof."""
