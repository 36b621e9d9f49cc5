"""The Python that would run the training: its version, its kind and where its packages come from."""

from __future__ import annotations

from pathlib import Path

from doctor.core.record import record
from doctor.facts.base import fact
from doctor.facts.target import Target


@record
class Interpreter:
    """The patient's interpreter.

    Args:
        executable: path as found; `chosen_because` one clause: "`accelerate` on PATH runs it",
            "--python", "active venv".
        version: "3.11.7".
        environment_kind: "venv", "conda" or "system".
        path: its sys.path in isolated mode; `pythonpath` and `user_site` are what a normal start adds.
        is_own: it is the interpreter that runs the doctor.
        glibc: "2.36", None where it is not glibc.
        first_on_path: folder that a start of the launch command puts first: the script's, or the working folder for
            `-m`; None without a launch command.

    """

    executable: str
    version: str
    implementation: str = "cpython"
    chosen_because: str = ""
    environment_kind: str = "system"
    prefix: str = ""
    base_prefix: str = ""
    path: tuple[str, ...] = ()
    pythonpath: tuple[str, ...] = ()
    user_site: str | None = None
    platform: str = "linux"
    machine: str = "x86_64"
    glibc: str | None = None
    is_own: bool = False
    first_on_path: str | None = None

    @property
    def version_info(self) -> tuple[int, int]:
        """(major, minor)."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)


@fact(timeout_s=4.0)
def collect(target: Target) -> Interpreter:
    """Read the probe's answer about the interpreter itself."""
    raw = target.raw
    if raw["conda"] or Path(raw["prefix"], "conda-meta").is_dir():
        kind = "conda"
    else:
        kind = "venv" if raw["prefix"] != raw["base_prefix"] else "system"
    return Interpreter(
        executable=target.executable,
        version=raw["version"],
        implementation=raw["implementation"],
        chosen_because=target.chosen_because,
        environment_kind=kind,
        prefix=raw["prefix"],
        base_prefix=raw["base_prefix"],
        path=tuple(raw["path"]),
        pythonpath=tuple(raw["pythonpath"]),
        user_site=raw["user_site"],
        platform=raw["platform"],
        machine=raw["machine"],
        glibc=raw["glibc"],
        is_own=target.is_own,
        first_on_path=target.first,
    )
