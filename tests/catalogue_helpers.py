"""Reads the catalogue for the tests that lint it."""

from __future__ import annotations

from doctor.catalogue.index import load

ENTRIES = load()
