"""What watches a live run."""
