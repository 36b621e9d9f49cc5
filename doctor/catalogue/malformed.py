"""What is said of a problem whose files cannot be read."""

from __future__ import annotations

CHINESE = "zh"  # folder beside problems that holds their Chinese words


class CatalogueError(Exception):
    """A problem's file does not declare what it must; names the file and the line."""
