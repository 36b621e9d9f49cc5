"""A stand-in with nothing but what the guard touches."""
