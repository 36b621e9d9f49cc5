"""What makes a run slow."""
