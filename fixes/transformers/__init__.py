"""transformers and its training arguments."""
