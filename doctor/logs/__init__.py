"""Reading logs."""
