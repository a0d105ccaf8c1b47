"""The fewest errors of any plane, between proved bounds."""
