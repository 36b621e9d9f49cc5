"""Gives inputs made from numbers to the commands: `program.py FIRST COUNT FOLDER`; ends with 1 where one failed."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

import logs
import runs
import setups

SECONDS = 60  # processor time of one input; real ones take a second
MEMORY_BYTES = 500 << 20
PLAIN = ("fix", "explain", "plan", "diff", "compare", "runs", "last", "checkpoint")  # have not all of the options
MAKERS = [*logs.MAKERS, *runs.MAKERS, *setups.MAKERS]


def tried(seed: int, folder: Path) -> str:
    """What went wrong with the input of a number, "" where nothing did."""
    from click.testing import CliRunner

    from doctor.cli.app import app

    r = random.Random(seed)  # noqa: S311 - a number must make the same input again
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    argv = MAKERS[seed % len(MAKERS)](r, folder)
    if argv[0] not in PLAIN:
        at = argv.index("--") if "--" in argv else len(argv)
        argv[at:at] = r.choice([[], ["--format", "json"], ["--lang", "zh"], ["--verbose"]])
    if os.environ.get("DOCTOR_FUZZ_FAULT"):
        app.get_command = lambda *_: 1 // 0  # type: ignore[method-assign]
    began = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, 2 * SECONDS)
    done = CliRunner().invoke(app, argv)
    signal.setitimer(signal.ITIMER_REAL, 0)
    told = f"seed {seed}: doctor {' '.join(argv)[:300]!r}: "
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return told + "".join(traceback.format_exception(*(done.exc_info or (None, None, None))))[-2500:]
    if "This is a bug in the doctor" in done.output or "是 doctor 自身的缺陷" in done.output:
        return told + done.output[-2500:]
    if (peak := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) > MEMORY_BYTES:
        return f"{told}{peak >> 20} MB"
    spent = time.process_time() - began
    return f"{told}{spent:.0f} s" if spent > SECONDS else ""


def _too_late(_number: int, _frame: object) -> None:
    raise TimeoutError("it took too long")


def main() -> int:
    """Try them all; say what failed."""
    first, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    signal.signal(signal.SIGALRM, _too_late)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # of addresses, which libraries reserve and do not use
    os.environ.update(XDG_STATE_HOME=str(folder / "state"), HOME=str(folder), COLUMNS="100")
    failed = [said for seed in range(first, first + count) if (said := tried(seed, folder / "input"))]
    print("\n\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
