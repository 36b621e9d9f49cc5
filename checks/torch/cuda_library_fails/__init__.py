"""Rows of cuda-library-fails that take judgement of their own."""
