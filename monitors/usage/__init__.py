"""What the samples of a run mean."""
