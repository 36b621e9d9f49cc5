"""Builds the index of the catalogue into the wheel, and the one compiled module; the rest stands in pyproject.toml."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from setuptools import Extension, setup
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


#: without a compiler the doctor is installed all the same, see doctor/logs/quick.py; with one it is built once for
#: every Python from 3.10 on
QUICK = Extension(
    "doctor.logs._quick", ["doctor/logs/_quick.c"], extra_compile_args=["-O3"], py_limited_api=True, optional=True
)

setup(
    cmdclass={"build_py": BuildWithIndex},
    ext_modules=[QUICK],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
