"""The whole of a run in miniature, before its hours are spent."""
