"""Signatures and the search for them."""
