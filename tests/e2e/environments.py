"""Real environments for the end-to-end tests: real interpreters, and the published metadata of real packages.

The metadata come from the package index through pip (`--dry-run --report`), which serves them without the wheels; laid
into site-packages as `*.dist-info/METADATA` they are what the probe reads of an installed package. Without an index
the tests that need them are skipped and say so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run_doctor


def report_of(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The JSON report of `doctor check`; fails with what was printed when there is none."""
    done = run_doctor("check", "--format", "json", *arguments, cwd=cwd, env=env)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert not report["crashed"], report["crashed"]
    return report


def python_of(version: str) -> str:
    """An interpreter of a version, from PATH or from pyenv's versions."""
    found = shutil.which(f"python{version}")
    roots = [Path(os.environ.get("PYENV_ROOT", Path("~/.pyenv").expanduser())), Path(sys.base_prefix).parents[1]]
    for root in roots:
        candidates = sorted((root / "versions").glob(f"{version}.*/bin/python"))
        found = str(candidates[-1]) if candidates else found
    # a pyenv shim answers for versions that are not installed, so ask
    if found is None or subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"no Python {version} on this machine")
    return found


@lru_cache
def published_metadata(*requirements: str) -> tuple[dict[str, Any], ...]:
    """Metadata of releases as the index publishes them; nothing is downloaded but these."""
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed",
        "--only-binary", ":all:", "--report", "-", *requirements,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"the package index does not answer: {done.stderr.strip().splitlines()[-1:]}")
    return tuple(each["metadata"] for each in json.loads(done.stdout)["install"])


def lay(site_packages: Path, metadata: dict[str, Any]) -> None:
    """Write a release's metadata into an environment, as an installer does."""
    name = metadata["name"].replace("-", "_").lower()
    folder = site_packages / f"{name}-{metadata['version']}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"Metadata-Version: {metadata['metadata_version']}", f"Name: {metadata['name']}"]
    lines.append(f"Version: {metadata['version']}")
    if requires_python := metadata.get("requires_python"):
        lines.append(f"Requires-Python: {requires_python}")
    lines += [f"Requires-Dist: {each}" for each in metadata.get("requires_dist", ())]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    (folder / "INSTALLER").write_text("pip\n")
    (folder / "RECORD").write_text("")


def complete(site_packages: Path, python_version: str = "3.11") -> None:
    """Lay a name and a fitting version for everything that the releases laid so far require and that is missing."""
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name

    lines = [line for path in site_packages.glob("*.dist-info/METADATA") for line in path.read_text().splitlines()]
    present = {canonicalize_name(line[6:]) for line in lines if line.startswith("Name: ")}
    wanted: dict[str, SpecifierSet] = {}
    for line in lines:
        requirement = Requirement(line[15:]) if line.startswith("Requires-Dist: ") else None
        if requirement is None or canonicalize_name(requirement.name) in present:
            continue
        marker = requirement.marker
        if marker is None or marker.evaluate({"extra": "", "python_version": python_version}):
            name = canonicalize_name(requirement.name)
            wanted[name] = wanted.get(name, SpecifierSet()) & requirement.specifier
    for name, specifiers in wanted.items():
        versions = [*(each.version.rstrip(".*") for each in specifiers), "1000.0", "1.0"]
        versions += [*(f"{version}.1" for version in versions), "0.1", "0.0.1"]
        fitting = next((version for version in versions if specifiers.contains(version, prereleases=True)), None)
        assert fitting is not None, f"no version of {name} fits {specifiers}"
        lay(site_packages, {"metadata_version": "2.1", "name": name, "version": fitting})


def bare_venv(folder: Path, python: str | None = None) -> Path:
    """A virtual environment without pip; returns its interpreter."""
    if python is None:
        venv.create(folder, with_pip=False, symlinks=True)
    else:
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    return folder / "bin" / "python"


def site_packages_of(python: Path) -> Path:
    """site-packages of an environment."""
    return next((python.parents[1] / "lib").glob("python*/site-packages"))


def environment_of(folder: Path, *requirements: str) -> Path:
    """An environment that holds the published metadata of releases; returns its interpreter."""
    python = bare_venv(folder)
    for metadata in published_metadata(*requirements):
        lay(site_packages_of(python), metadata)
    return python
