"""The source where an exception was raised: read as text and syntax tree, never imported."""
