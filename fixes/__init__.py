"""How problems are mended."""
