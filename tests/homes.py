"""Homes of tests: each new and empty, but for what the doctor keeps in a user's cache, which all of them share.

A wheel carries the index of the catalogue ready made. In a checkout the first command in a new home would read the
whole catalogue, which takes two seconds, and the tests start hundreds of commands.
"""

from __future__ import annotations

from pathlib import Path

_CACHE = Path(".cache", "grpo-doctor")


def with_cache(home: Path, shared: Path | None = None) -> Path:
    """A folder made a home with the shared cache: that of the test's own home where none is given."""
    own = home / _CACHE
    if not own.is_symlink():
        own.parent.mkdir(parents=True, exist_ok=True)
        own.symlink_to(shared or (Path.home() / _CACHE).resolve())
    return home
