"""Rows of address-is-loopback that take judgement of their own."""
