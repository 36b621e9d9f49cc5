"""The Python that would run the training: its version, its kind and where its packages come from."""

from __future__ import annotations

from doctor.base.record import record


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
        command_starts: the interpreter that the launch command starts, where `--python` named this one; None else.

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
    command_starts: str | None = None

    @property
    def version_info(self) -> tuple[int, int]:
        """(major, minor)."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)
