"""A whole rehearsal: laid down, run, resumed, examined, and cleared away."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.base.record import record, replace
from doctor.base.state import state_folder
from doctor.monitors.inject.lay import lay
from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings
from doctor.rehearse.again import Keeping, keeping
from doctor.rehearse.ahead import Known, known_of, making_ahead
from doctor.rehearse.apart import Apart, apart
from doctor.rehearse.beside import Checked, Checking
from doctor.rehearse.frameworks import adapted
from doctor.rehearse.parts import command_of, parts_of
from doctor.rehearse.passes import Ended, go_on, run_pass
from doctor.rehearse.record import Rehearsed
from doctor.run.folder import VARIABLE as VARIABLE_OF_RUN
from doctor.run.folder import RunDir

#: folders of earlier rehearsals that are kept, with journal and output but without models
_KEPT, _OLD_S = 5, 3600.0
_CARRIED = ("doctor.monitors.rehearse", "doctor.monitors.rehearse.relations")
#: what remains of the time for a second pass must be worth its start
_LEAST_S = 10.0
#: seconds without work after which the copy of a process is given up; it has nothing to import
_COPY_IDLE_S = 20.0


@record
class RehearsalWishes:
    """What is asked of a rehearsal; durations in seconds."""

    steps: int = 2
    scale: str = "tiny"
    null: bool = False
    offline: bool = False
    resume: bool = True
    deadline_s: float = 300.0
    overlay: bool = True
    language: str = "en"


@record
class Session:
    """A rehearsal that has ended.

    Args:
        run: folder of the first pass; its output and what the guard wrote lie in it.
        second: of the pass that resumed; None where there was none.
        ended: how each pass ended.
        checked: what the check says of the command.

    """

    argv: tuple[str, ...]
    wishes: RehearsalWishes
    run: RunDir
    apart: Apart
    rehearsed: Rehearsed
    ended: tuple[Ended, ...]
    second: RunDir | None = None
    framework: str = ""
    checked: Checked = Checked()

    @property
    def seconds(self) -> float:
        """Of all passes."""
        return sum(each.seconds for each in self.ended)

    @property
    def failed(self) -> RunDir | None:
        """Folder of the pass that ended badly; None where none did."""
        for folder, ended in zip((self.run, self.second), self.ended, strict=False):
            if folder is not None and ended.code != 0 and not ended.late:
                return folder
        return None

    @property
    def late(self) -> RunDir | None:
        """Folder of the pass that the deadline ended."""
        for folder, ended in zip((self.run, self.second), self.ended, strict=False):
            if folder is not None and ended.late:
                return folder
        return None


def rehearse(
    argv: Sequence[str],
    wishes: RehearsalWishes,
    guard: Mapping[str, Any],
    *,
    known: Known | None = None,
    on_tick: Callable[[Path], None] = lambda _: None,
) -> Session:
    """Rehearse a command.

    Args:
        argv: the user's command.
        wishes: what is asked of it.
        guard: `[guard]` of the user's settings.
        known: what the facts say of the command; read where None.
        on_tick: called now and then with the folder whose journals grow.

    Raises:
        OSError: there is no folder for it.

    """
    base = state_folder(Path.cwd()).parent / "rehearsals"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    _forget(base)
    run = RunDir.create(Path(argv[0]).name, base)
    root = run.path / "stage"
    root.mkdir()
    held = apart(run.path, wanted=wishes.overlay)
    checking = Checking(argv)
    try:
        known = known_of(argv) if known is None else known
        done = _rehearsed(argv, wishes, guard, run, held, known, on_tick)
        return replace(done, checked=checking.result())
    finally:
        held.clear()
        for name in ("models", "out", "home"):
            shutil.rmtree(root / name, ignore_errors=True)


def _rehearsed(
    argv: Sequence[str], wishes: RehearsalWishes, guard: Mapping[str, Any], run: RunDir, held: Apart,
    known: Known, on_tick: Callable[[Path], None],
) -> Session:  # fmt: skip
    root, began = run.path / "stage", time.monotonic()
    given = adapted(argv, known.python, known.framework)
    if not given.argv:
        return _parts(argv, wishes, guard, run, held, given.framework, on_tick)
    settings = PassSettings(
        root, time.time_ns(), wishes.steps, wishes.scale, wishes.null, wishes.offline, held=held.held,
        deadline_s=wishes.deadline_s,
    )  # fmt: skip
    words, own = held.around(given.argv, Path.cwd()), _laid(run, guard)
    tiny = wishes.scale == "tiny"
    with keeping(root, wanted=wishes.resume and tiny) as kept:
        variables = _variables(run, own, settings._replace(doctor=kept.doctor), wishes)
        with making_ahead(known if tiny else Known(), run, held, variables):
            first = run_pass(words, run, variables, limit_s=wishes.deadline_s, on_tick=lambda: on_tick(root))
        done = Rehearsed(tuple(journal.entries(root)))
        until = began + wishes.deadline_s
        if first.code != 0 or first.late or not done.saved or not wishes.resume or _left(until) < _LEAST_S:
            return Session(tuple(argv), wishes, run, held, done, (first,), framework=given.framework)
        second = RunDir(run.path / "resume")
        shutil.move(root / journal.FOLDER, root / journal.FIRST)
        later = _variables(_anew(second), own, settings._replace(resume=True), wishes)
        ended = _of_copy(kept, words, second, variables, later, until, lambda: on_tick(root))
    if ended is None or ended.code != 0 or ended.late:  # what a copy could not do accuses nobody
        shutil.rmtree(root / journal.FOLDER, ignore_errors=True)
        later = _variables(_anew(second), own, settings._replace(resume=True), wishes)
        ended = run_pass(words, second, later, limit_s=max(_left(until), _LEAST_S), on_tick=lambda: on_tick(root))
    both = Rehearsed(done.entries, tuple(journal.entries(root)))
    if both.begins_anew:  # whatever came of it: nobody asked for it
        return Session(tuple(argv), wishes, run, held, done, (first,), framework=given.framework)
    return Session(tuple(argv), wishes, run, held, both, (first, ended), second, given.framework)


def _of_copy(
    kept: Keeping, words: Sequence[str], run: RunDir, before: Mapping[str, str], later: Mapping[str, str],
    until: float, on_tick: Callable[[], None],
) -> Ended | None:  # fmt: skip
    """How the copy of the first pass's process ended as the second one; None where there is no copy."""
    run.console.parent.mkdir(parents=True, exist_ok=True)
    changed = {name: each for name, each in later.items() if before.get(name) != each}
    copy = kept.told({**changed, VARIABLE_OF_RUN: str(run.path)}, run.console)
    if copy is None:
        return None
    return go_on(copy, words, run, limit_s=_left(until), idle_s=_COPY_IDLE_S, on_tick=on_tick)


def _left(until: float) -> float:
    return until - time.monotonic()


def _anew(run: RunDir) -> RunDir:
    """The folder of a run, empty."""
    shutil.rmtree(run.path, ignore_errors=True)
    run.path.mkdir()
    return run


def _parts(
    argv: Sequence[str], wishes: RehearsalWishes, guard: Mapping[str, Any], run: RunDir, held: Apart, framework: str,
    on_tick: Callable[[Path], None],
) -> Session:  # fmt: skip
    """Rehearse data and reward of a framework whose workers cannot run here; nothing where it names neither."""
    made = parts_of(argv, framework)
    if made is None:
        return Session(tuple(argv), wishes, run, held, Rehearsed(), (), framework=framework)
    root = run.path / "stage"
    settings = PassSettings(
        root, time.time_ns(), wishes.steps, "real", wishes.null, wishes.offline, held=held.held,
        deadline_s=wishes.deadline_s,
    )  # fmt: skip
    variables = _variables(run, _laid(run, guard), settings, wishes)
    words = held.around(command_of(*made, run), Path.cwd())
    ended = run_pass(words, run, variables, limit_s=wishes.deadline_s, on_tick=lambda: on_tick(root))
    return Session(
        tuple(argv), wishes, run, held, Rehearsed(tuple(journal.entries(root))), (ended,), framework=framework
    )


def _laid(run: RunDir, guard: Mapping[str, Any]) -> dict[str, str]:
    """What brings the hook into the processes of all passes."""
    return lay(run, {"lang": "en", "witness": True, **guard}, also=_CARRIED)


def _variables(run: RunDir, own: Mapping[str, str], settings: PassSettings, wishes: RehearsalWishes) -> dict[str, str]:
    """The environment of a pass: the user's own, the hook, and trackers that are off."""
    path = run.path / "rehearsal.json"
    path.write_text(settings.as_json(), encoding="utf-8")
    silent = {**_SILENT, **({"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"} if wishes.offline else {})}
    kept = {name: each for name, each in os.environ.items() if name not in _ELSEWHERE}
    variables = {**kept, **own, **silent, VARIABLE: str(path), "PYTHONUNBUFFERED": "1"}
    variables["MLFLOW_TRACKING_URI"] = (settings.root / "home" / "mlruns").as_uri()
    variables["WANDB_DIR"] = str(settings.root / "home")
    variables["TRACKIO_DIR"] = str(settings.root / "home" / "trackio")
    return variables


#: variables by which trackers are switched off, no cluster of Ray's is joined, and Hydra shows whole tracebacks
#: https://docs.wandb.ai/ref/python/environment-variables  https://www.comet.com/docs/v2/guides/experiment-management/configure-sdk/
#: https://docs.swanlab.cn/en/api/environment-variable.html  https://clear.ml/docs/latest/docs/configs/env_vars
#: https://docs.ray.io/en/latest/ray-core/starting-ray.html
#: https://hydra.cc/docs/tutorials/basic/running_your_app/debugging/
_SILENT = {
    "WANDB_MODE": "disabled", "WANDB_SILENT": "true", "COMET_MODE": "disabled", "COMET_START_MODE": "disabled",
    "SWANLAB_MODE": "disabled", "CLEARML_OFFLINE_MODE": "1", "NEPTUNE_MODE": "debug",
    "RAY_ADDRESS": "local", "HYDRA_FULL_ERROR": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip


#: variables by which a tracker would put its runs elsewhere: https://huggingface.co/docs/trackio/v0.27.0/api
_ELSEWHERE = frozenset({"TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL", "MLFLOW_REGISTRY_URI"})


def _forget(base: Path) -> None:
    """Remove rehearsals before the last few; none that may still run."""
    with suppress(OSError):
        for each in sorted(each for each in base.iterdir() if each.is_dir())[: -_KEPT + 1]:
            if time.time() - each.stat().st_mtime > _OLD_S:
                shutil.rmtree(each, ignore_errors=True)
