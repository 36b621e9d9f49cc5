"""NaN, infinity, precision."""
