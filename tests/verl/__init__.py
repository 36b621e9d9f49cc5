"""veRL: what is judged against the real parsers that it uses."""
