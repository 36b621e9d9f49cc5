"""Ids that name nothing any more, with their successors. An id is never used for another problem."""

from __future__ import annotations

from collections.abc import Mapping

RETIRED: Mapping[str, str] = {}
