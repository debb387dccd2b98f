"""Measurements, and the other id schemes that they compare with."""
