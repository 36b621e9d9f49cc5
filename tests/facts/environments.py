"""Real interpreters and environments for tests: found under pyenv or on PATH, filled with small distributions."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.readers.collector import Collector

# read at import: the tests' own HOME hides the real one later
_PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"


def interpreter(version: str) -> str:
    """A real interpreter of "3.9"; skips the test where there is none."""
    found = sorted(_PYENV.glob(f"{version}.*/bin/python")) if _PYENV.is_dir() else []
    path = str(found[-1]) if found else shutil.which(f"python{version}")
    if path is None:
        pytest.skip(f"no Python {version} on this machine")
    return path


def venv(folder: Path, *options: str, python: str = sys.executable, pip: bool = False) -> Path:
    """A real virtual environment, by default without pip (fast); its site-packages folder."""
    without = [] if pip else ["--without-pip"]
    subprocess.run([python, "-I", "-m", "venv", *without, *options, str(folder)], check=True, capture_output=True)
    return next(folder.glob("lib/python*/site-packages"))


def pip_install(python: Path, *wheels: Path) -> None:
    """Install wheels with real pip: that of the tests' own interpreter, for to make one for each takes seconds."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("no pip beside the tests")
    subprocess.run(
        [sys.executable, "-m", "pip", f"--python={python}", "install", "-q", "--no-index", "--no-deps", *wheels],
        check=True, capture_output=True,
    )  # fmt: skip


def lay(site: Path, name: str, version: str, *requires: str, files: dict[str, str] | None = None) -> Path:
    """Lay a distribution into a folder as pip does; its .dist-info folder."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in requires]
    (info / "METADATA").write_text("\n".join([*lines, "Requires-Python: >=3.9", "", "A description"]))
    (info / "INSTALLER").write_text("pip\n")
    (info / "RECORD").write_text("")
    for path, text in (files or {}).items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    return info


def wheel(folder: Path, name: str, version: str, files: dict[str, str], entry_point: str = "") -> Path:
    """Build a wheel that pip installs, with a console script when `entry_point` is "name=module:function"."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry_point:
        contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{entry_point}\n"
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in contents.items():
            archive.writestr(each, text)
        record = "".join(f"{each},,\n" for each in [*contents, f"{info}/RECORD"])
        archive.writestr(f"{info}/RECORD", record)
    return path


def script(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def facts(context: Context, *names: str) -> dict[str, Observed]:
    """Facts collected as `doctor check` collects them."""
    collector = Collector(context)
    collector.ask(names or ("interpreter", "packages"))
    return collector.states
