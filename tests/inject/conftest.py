"""The real stack of tests/real, for runs under `doctor run`."""

from __future__ import annotations

from tests.real.conftest import model, python, shared  # noqa: F401 - fixtures
