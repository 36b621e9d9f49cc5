"""What this rehearsal was asked for, as the doctor wrote it down; the same for every process of the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple, Optional

#: names the file with the settings; without it no process is a rehearsal's
VARIABLE = "DOCTOR_REHEARSAL"


class PassSettings(NamedTuple):
    """Of one pass of a rehearsal.

    Attributes:
        root: folder of the rehearsal, where tiny models, outputs and journals lie.
        began_ns: time before which a file was there already.
        steps: optimizer steps before the training is ended.
        scale: `tiny`, or `real` for the user's own model at its longest lengths.
        null: learning rate 0: nothing may move.
        offline: remote addresses are refused.
        resume: this pass resumes what the first one saved.
        held: writes go to an overlay; otherwise they are refused here.
        deadline_s: seconds after which this pass is ended from outside.
        resources: folder of the program's modules, for the child that makes a tiny model.
        doctor: id of the process that started this pass and takes a copy for the second one; 0 where it wants none.

    """

    root: Path
    began_ns: int
    steps: int = 2
    scale: str = "tiny"
    null: bool = False
    offline: bool = False
    resume: bool = False
    held: bool = False
    deadline_s: float = 300.0
    resources: str = ""
    doctor: int = 0

    @property
    def tiny(self) -> bool:
        """Whether models are replaced by tiny ones."""
        return self.scale == "tiny"

    def as_json(self) -> str:
        """As `read` reads it."""
        return json.dumps({**self._asdict(), "root": str(self.root)})


class _Read:
    settings: Optional[PassSettings] = None


def read(path: Path) -> PassSettings:
    """Settings of a file.

    Raises:
        OSError, ValueError, TypeError: it is none of ours.

    """
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return PassSettings(**{**data, "root": Path(data["root"])})


def settings() -> PassSettings:
    """Of this process.

    Raises:
        KeyError: it is no process of a rehearsal.
        OSError, ValueError, TypeError: the file cannot be read.

    """
    if _Read.settings is None:
        _Read.settings = read(Path(os.environ[VARIABLE]))
    return _Read.settings


def forget() -> None:
    """Read the settings anew from now on: this process has become one of another pass."""
    _Read.settings = None


def with_real_models() -> None:
    """Replace no model in this process from now on: what follows reads tokenizers and rows alone."""
    _Read.settings = settings()._replace(scale="real")
