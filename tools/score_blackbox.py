"""Scores what the doctor says of mistakes in real runs: whether its first finding holds the decisive fact.

Runs that fail are judged by the report of `doctor run`, those that stand still by `doctor hang` while they do.

    DOCTOR_REAL_PYTHON=.venv-real/bin/python python tools/score_blackbox.py [NAME|SET...] [--jobs 2] [--answers FILE]

Needs TRL, Accelerate and DeepSpeed in that interpreter, and torch and ray in this one. Prints one line a run, then the
sums. `tests/blackbox` has the programs and the labels: `mistakes.py`, `fresh.py` and `hangs.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.blackbox.fresh import FRESH  # noqa: E402
from tests.blackbox.hangs import HANGS  # noqa: E402
from tests.blackbox.mistakes import MISTAKES, Mistake  # noqa: E402
from tests.ports import free_port  # noqa: E402
from tests.real.runs import environment, interpreter  # noqa: E402

_LIMIT_S = 240
#: seconds in which a program has come to where it stands still, and those that it is left there
_READY_S, _SETTLE_S = 90, 6
SETS = {"mistakes": MISTAKES, "fresh": FRESH, "hangs": HANGS}
ALL = {name: each for one in SETS.values() for name, each in one.items()}


def command_of(mistake: Mistake, python: Path) -> list[str]:
    """How a program is started."""
    if mistake.stack == "ranks":
        return [str(python.parent / "torchrun"), "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                f"127.0.0.1:{free_port()}", "program.py"]  # fmt: skip
    return [sys.executable if mistake.stack == "ray" else str(python), "program.py"]


def laid_down(mistake: Mistake, python: Path, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Write the program; gives the command under the doctor, and its environment."""
    (folder / "tiny.py").write_text((ROOT / "tests" / "blackbox" / "tiny.py").read_text("utf-8"), "utf-8")
    (folder / "program.py").write_text(mistake.program, "utf-8")
    variables = {**environment(python, folder), "OMP_NUM_THREADS": "1"}
    if mistake.stack == "ray":  # whose sockets take 107 bytes of path
        variables["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="r", dir="/tmp")
    words = [sys.executable, "-m", "doctor", "run", "--no-check", "--no-monitor", "--lang", "en", "--"]
    return [*words, *command_of(mistake, python)], {**os.environ, **variables}


def answer_of(mistake: Mistake, python: Path, folder: Path) -> dict[str, Any]:
    """Run a program under the doctor; gives its first finding, {} where nothing was found."""
    words, variables = laid_down(mistake, python, folder)
    with (folder / "said.txt").open("wb") as said:
        subprocess.run(
            words, cwd=folder, env=variables, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    reports = sorted((folder / "doctor-runs").glob("2*/report.json"))
    findings = json.loads(reports[-1].read_text("utf-8"))["findings"] if reports else []
    return dict(findings[0]) if findings else {}


def look_at(mistake: Mistake, python: Path, folder: Path) -> dict[str, Any]:
    """Have `doctor hang` look at a program that stands still; gives its first sentence as a headline."""
    words, variables = laid_down(mistake, python, folder)
    with (folder / "said.txt").open("wb") as said:
        run = subprocess.Popen(
            words, cwd=folder, env=variables, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + _READY_S
        while not (folder / "ready").exists() and time.monotonic() < end:
            time.sleep(0.2)
        time.sleep(_SETTLE_S)
        place = next((folder / "doctor-runs").glob("2*"))
        look = [sys.executable, "-m", "doctor", "hang", str(place), "--format", "json", "--lang", "en"]
        done = subprocess.run(look, cwd=folder, capture_output=True, timeout=_READY_S, check=False)
        (folder / "look.json").write_bytes(done.stdout)
        return {"id": "hang", "headline": json.loads(done.stdout)["told"]["en"][0]}
    finally:
        _end(run, str(folder))


def _end(run: subprocess.Popen[bytes], folder: str) -> None:
    """End a run and all that it has started, by their own working directories."""
    run.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        run.wait(10)
    for each in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if (each / "cwd").readlink().is_relative_to(folder) and int(each.name) != os.getpid():
                os.kill(int(each.name), signal.SIGKILL)
    run.kill()
    run.wait()


def text_of(finding: dict[str, Any]) -> str:
    """Headline, explanation and evidence."""
    seen = "\n".join(str(each.get("text", "")) for each in finding.get("evidence", ()))
    return "\n".join((finding.get("headline", ""), finding.get("explanation", ""), seen))


def main() -> None:
    """Run all, or those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--answers", type=Path)
    chosen = parser.parse_args()
    python, answers = interpreter(), {}
    base = Path(tempfile.mkdtemp(prefix="blackbox-"))

    def one(name: str) -> tuple[str, bool]:
        begin = time.monotonic()
        folder = base / name
        folder.mkdir()
        try:
            finding = (look_at if name in HANGS else answer_of)(ALL[name], python, folder)
        except (StopIteration, ValueError):
            finding = {"headline": "(no look was taken)"}
        except subprocess.TimeoutExpired:
            finding = {"headline": "(the run did not end)"}
        text = text_of(finding)
        lacking = [each for each in ALL[name].must if not re.search(each, text)]
        answers[name] = {"holds": not lacking, "lacking": lacking, "id": finding.get("id"), "text": text}
        word = "holds" if not lacking else "LACKS"
        print(f"{name:28} {word} {time.monotonic() - begin:5.1f} s  {finding.get('id', '-'):8} "
              f"{finding.get('headline', '')[:110]}  {lacking or ''}", flush=True)  # fmt: skip
        return name, not lacking

    wanted = [name for each in chosen.names or SETS for name in SETS.get(each, (each,))]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        done = dict(pool.map(one, wanted))
    print()
    for title, group in SETS.items():
        found = [done[name] for name in group if name in done]
        if found:
            print(f"{title}: the decisive fact in {sum(found)} of {len(found)} first findings")
    print(f"what was said lies in {base}")
    if chosen.answers:
        chosen.answers.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
