"""The runs of a `doctor-runs` folder: how each ended, what it was, and which of them went well."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doctor.base.record import record
from doctor.base.redact import redact_argv, redact_text
from doctor.logs.history.metrics import Best, best_of
from doctor.run import aside
from doctor.run.folder import RunDir

#: how a run ended: `good`: with code 0 and nothing known against it; `stopped`: by the guard; `running`: no end is
#: noted, and its folder was written to lately; `unknown`: no end is noted
GOOD, FAILED, STOPPED, RUNNING, UNKNOWN = "good", "failed", "stopped", "running", "unknown"
#: seconds since the last write, after which a run without an end is not running any more
_LATELY_S = 120.0
#: exit code of a command that Ctrl-C ended
_INTERRUPTED = 130


@record
class PastRun:
    """One run.

    Args:
        path: its folder.
        state: one of the words above.
        verdict: the first finding of its post-mortem, `TOR012 cuda-device-assert`; empty without one.
        argv: its command, redacted.
        started_s: wall time; seconds: how long it took; None where it is not known.
        exit: code of its command.
        best: its best metric, None where none is known.

    """

    path: Path
    state: str
    verdict: str
    argv: tuple[str, ...]
    started_s: float | None
    seconds: float | None
    exit: int | None
    best: Best | None

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.path.name

    def as_data(self) -> dict[str, Any]:
        """For programs; times in ISO 8601, UTC."""
        return {
            "name": self.name, "path": redact_text(str(self.path)), "state": self.state, "verdict": self.verdict,
            "argv": list(self.argv), "started": clock(self.started_s),
            "seconds": None if self.seconds is None else round(self.seconds, 1), "exit": self.exit,
            "best": None if self.best is None else self.best.as_data(),
        }  # fmt: skip


def clock(at_s: float | None) -> str | None:
    """`2026-03-01T10:15:00Z` of seconds since the epoch; None for what is no time of this world, in a damaged file."""
    if at_s is None:
        return None
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))
    except (OverflowError, ValueError, OSError):
        return None


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run."""
    return path.is_dir() and (path / "run.json").is_file()


def folders(base: Path) -> Iterator[Path]:
    """Folders of runs below `base`, the latest first (their names begin with their time)."""
    try:
        found = [each for each in base.iterdir() if not each.is_symlink() and is_run(each)]
    except OSError:
        return
    yield from sorted(found, key=lambda each: each.name, reverse=True)


def read(path: Path, *, with_metrics: bool = True) -> PastRun:
    """One run, from its folder; what is missing is unknown."""
    run = RunDir(path)
    noted = aside.noted(run)
    started, ended = (_seconds(noted.get(name)) for name in ("started_ns", "ended_ns"))
    code = noted.get("exit")
    report = report_of(path)
    first = next((each for each in report.get("findings", []) if each.get("severity") != "info"), None)
    state = _state(path, noted, report, code)
    return PastRun(
        path, state, f"{first['id']} {first['name']}" if first and state != GOOD else "",
        tuple(redact_argv([str(word) for word in noted.get("argv") or ()])), started,
        None if started is None or ended is None else ended - started, code,
        best_of(path) if with_metrics else None,
    )  # fmt: skip


def _seconds(t_ns: Any) -> float | None:
    return t_ns / 1e9 if isinstance(t_ns, int) and not isinstance(t_ns, bool) else None


def _state(path: Path, noted: dict[str, Any], report: dict[str, Any], code: Any) -> str:
    if noted.get("stopped"):
        return STOPPED
    if code is None:
        return RUNNING if time.time() - _last_write(path) < _LATELY_S else UNKNOWN
    if code != 0:
        return UNKNOWN if code == _INTERRUPTED else FAILED
    errors = any(each.get("severity") == "error" for each in report.get("findings", []))
    return FAILED if errors and report.get("verdict") == "known" else GOOD


def _last_write(path: Path) -> float:
    times = [0.0]
    for each in (*path.glob("logs/*"), *path.glob("events/*"), *path.glob("host/*"), *path.glob("metrics/*")):
        try:
            times.append(each.stat().st_mtime)
        except OSError:
            continue
    return max(times)


def report_of(path: Path) -> dict[str, Any]:
    """The report that was kept in a run folder; empty without one."""
    try:
        data = json.loads((path / "report.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    whole = isinstance(data, dict) and isinstance(data.get("findings"), list)
    return data if whole and all(isinstance(each, dict) for each in data["findings"]) else {}


def script_of(argv: tuple[str, ...]) -> str:
    """What a command trains with: the first word that is a script or a module, else its first word."""
    for before, word in zip(("", *argv), argv, strict=False):
        if word.endswith((".py", ".sh", ".ipynb")) or (before == "-m" and not word.startswith("-")):
            return Path(word).name
    return Path(argv[0]).name if argv else ""


def last_good(path: Path) -> Path | None:
    """The latest run before this one, beside it, that went well with the same script; None where there is none."""
    path = path.resolve()
    script = script_of(read(path, with_metrics=False).argv)
    for each in folders(path.parent):
        if each.name < path.name:
            past = read(each, with_metrics=False)
            if past.state == GOOD and script and script_of(past.argv) == script:
                return each
    return None


def last(base: Path) -> Path | None:
    """The latest run below a folder."""
    return next(folders(base), None)
