"""veRL."""
