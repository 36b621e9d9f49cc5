"""Tiny wheels and environments for real uv, so that no test of the resolver needs an index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from doctor.mend.environment import uv


def wheel(folder: Path, name: str, version: str, *requires: str, extras: tuple[str, ...] = ()) -> Path:
    """A wheel that holds one empty module."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    lines += [f"Provides-Extra: {each}" for each in extras] + [f"Requires-Dist: {each}" for each in requires]
    path = folder / f"{stem}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{stem}.py", "")
        file.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", f"{stem}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


def index_of(folder: Path) -> dict[str, str]:
    """Variables that let uv see a folder of wheels and nothing else."""
    config = folder.parent / "only-these.toml"
    config.write_text(f'no-index = true\nfind-links = ["{folder}"]\ncache-dir = "{folder.parent / "cache"}"\n')
    return {"UV_CONFIG_FILE": str(config)}


def environment(path: Path, env: dict[str, str], *requirements: str) -> Path:
    """A virtual environment with these installed; returns its interpreter."""
    every = {**os.environ, **env}
    subprocess.run([uv.program(), "venv", "-q", "--python", sys.executable, str(path)], check=True, env=every)
    python = path / "bin" / "python"
    if requirements:
        install = [uv.program(), "pip", "install", "-q", "--python", str(python), *requirements]
        subprocess.run(install, check=True, env=every)
    return python


def development_install(python: Path, source: Path, name: str, *requires: str) -> None:
    """What `pip install -e` leaves in site-packages."""
    site = next(python.parents[1].glob("lib/python*/site-packages"))
    info = site / f"{name}-0.1.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n" + "".join(
        f"Requires-Dist: {each}\n" for each in requires
    )
    (info / "METADATA").write_text(text)
    (info / "direct_url.json").write_text(json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
    (info / "RECORD").write_text("")
    (info / "INSTALLER").write_text("pip\n")
