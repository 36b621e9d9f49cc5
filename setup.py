"""Builds the catalogue into the wheel, index and words, and the one compiled module; the rest is in pyproject.toml.

With DOCTOR_PURE=1 nothing is compiled: a wheel for every platform, for those that no compiled one fits.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithIndex(build_py):
    """Adds `doctor/_index.json` and `doctor/_words.jsonl`, so that an installed doctor never parses its own checks."""

    def run(self) -> None:
        """Build as usual, then read the catalogue of this tree."""
        super().run()
        if getattr(self, "editable_mode", False):
            return
        sys.path.insert(0, str(ROOT))
        from doctor.catalogue.index import CATALOGUE, build, write

        write(build({CATALOGUE: ROOT / "checks"}), Path(self.build_lib) / "doctor")


#: without a compiler the doctor is installed all the same, see doctor/logs/read/quick.py; with one it is built once for
#: every Python from 3.10 on
QUICK = Extension(
    "doctor.logs.read._quick",
    [f"doctor/logs/read/{name}.c" for name in ("_quick", "_figures", "_rows")],
    depends=["doctor/logs/read/_quick.h"],
    extra_compile_args=["-O3"],
    py_limited_api=True,
    optional=True,
)

#: where the packages lie: the last three become part of `doctor` (package-dir in pyproject.toml)
FOLDERS = ("doctor", "checks", "monitors", "fixes")


def packages() -> list[str]:
    """Every folder of the product, those of data too."""
    found = find_namespace_packages(str(ROOT), include=[part for name in FOLDERS for part in (name, f"{name}.*")])
    return sorted({name if name.startswith("doctor") else f"doctor.{name}" for name in found})


setup(
    packages=packages(),
    py_modules=["grpo_doctor"],
    cmdclass={"build_py": BuildWithIndex},
    ext_modules=[] if os.environ.get("DOCTOR_PURE") == "1" else [QUICK],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
