"""Holding the `affects` ranges of the catalogue against the sources of the releases at their bounds."""
