"""Builds the index of the catalogue into the wheel; everything else stands in pyproject.toml."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithIndex(build_py):
    """Adds `doctor/_index.json`, so that an installed doctor never has to parse its own checks."""

    def run(self) -> None:
        """Build as usual, then read the catalogue of this tree."""
        super().run()
        if getattr(self, "editable_mode", False):
            return
        sys.path.insert(0, str(ROOT))
        from doctor.core.index import CATALOGUE, build

        target = Path(self.build_lib) / "doctor" / "_index.json"
        target.write_text(json.dumps(build({CATALOGUE: ROOT / "checks"})), encoding="utf-8")


setup(cmdclass={"build_py": BuildWithIndex})
