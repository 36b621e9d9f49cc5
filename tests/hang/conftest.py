"""Programs that stand still, run under the start-up hook in a run folder, and looked at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from doctor.hang import told
from doctor.hang.look import Hang, look
from doctor.hang.members import of_folder
from doctor.mend.processes.table import everybody
from doctor.monitors.inject.lay import lay
from doctor.run.folder import RunDir

_READY_S = 60


@dataclass
class Standing:
    """A run folder, and the programs that were started in it."""

    run: RunDir
    variables: dict[str, str]
    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, text: str, *words: str, name: str = "program.py", hook: bool = True, **more: str) -> int:
        """Start a program; gives its process id."""
        program = self.folder / name
        program.write_text(text, encoding="utf-8")
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", **more}
        environment |= {**self.variables, "DOCTOR_RUN_DIR": str(self.run.path)} if hook else {}
        process = subprocess.Popen(
            [sys.executable, str(program), *words], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self.started.append(process)
        return process.pid

    def ready(self, *names: str) -> None:
        """Wait until the programs have written files of these names, and have gone on to what they stand in."""
        end = time.monotonic() + _READY_S
        while not all((self.folder / each).exists() for each in names):
            assert time.monotonic() < end, f"not ready: {[each for each in names if not (self.folder / each).exists()]}"
            assert all(each.poll() in (None, 0) for each in self.started), "a program has ended"
            time.sleep(0.05)
        time.sleep(1.5)

    def look(self) -> Hang:
        """Look at all processes of the run."""
        return look(of_folder(self.run.path, everybody()), self.run.path, "look")

    def said(self) -> tuple[Hang, str]:
        """A look, and its sentences."""
        hang = self.look()
        return hang, "\n".join(told.sentences(hang))


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[Standing]:
    """A run folder with the hook laid down; what was started in it is ended afterwards."""
    folder = tmp_path / "run"
    folder.mkdir()
    made = Standing(RunDir(folder), lay(RunDir(folder), {}), tmp_path)
    yield made
    for each in made.started:
        with suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)
        each.wait()
