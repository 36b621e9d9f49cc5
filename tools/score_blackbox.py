"""Scores what `doctor run` says of forty mistakes in real runs: whether its first finding holds the decisive fact.

    DOCTOR_REAL_PYTHON=.venv-real/bin/python python tools/score_blackbox.py [NAME...] [--jobs 2] [--answers FILE]

Needs TRL, Accelerate and DeepSpeed in that interpreter, and torch and ray in this one. Prints one line a run, then the
sum. `tests/blackbox/mistakes.py` has the programs and the labels.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.blackbox.mistakes import MISTAKES, Mistake  # noqa: E402
from tests.ports import free_port  # noqa: E402
from tests.real.runs import environment, interpreter  # noqa: E402

_LIMIT_S = 240


def command_of(mistake: Mistake, python: Path) -> list[str]:
    """How a program is started."""
    if mistake.stack == "ranks":
        return [str(python.parent / "torchrun"), "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                f"127.0.0.1:{free_port()}", "program.py"]  # fmt: skip
    return [sys.executable if mistake.stack == "ray" else str(python), "program.py"]


def answer_of(mistake: Mistake, python: Path, folder: Path) -> dict[str, Any]:
    """Run a program under the doctor; gives its first finding, {} where nothing was found."""
    (folder / "tiny.py").write_text((ROOT / "tests" / "blackbox" / "tiny.py").read_text("utf-8"), "utf-8")
    (folder / "program.py").write_text(mistake.program, "utf-8")
    variables = {**environment(python, folder), "OMP_NUM_THREADS": "1"}
    if mistake.stack == "ray":  # whose sockets take 107 bytes of path
        variables["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="r", dir="/tmp")
    words = [sys.executable, "-m", "doctor", "run", "--no-check", "--no-monitor", "--lang", "en", "--"]
    with (folder / "said.txt").open("wb") as said:
        subprocess.run(
            [*words, *command_of(mistake, python)], cwd=folder, env={**os.environ, **variables}, stdout=said,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    reports = sorted((folder / "doctor-runs").glob("2*/report.json"))
    findings = json.loads(reports[-1].read_text("utf-8"))["findings"] if reports else []
    return dict(findings[0]) if findings else {}


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
            finding = answer_of(MISTAKES[name], python, folder)
        except subprocess.TimeoutExpired:
            finding = {"headline": "(the run did not end)"}
        text = text_of(finding)
        lacking = [each for each in MISTAKES[name].must if not re.search(each, text)]
        answers[name] = {"holds": not lacking, "lacking": lacking, "id": finding.get("id"), "text": text}
        word = "holds" if not lacking else "LACKS"
        print(f"{name:28} {word} {time.monotonic() - begin:5.1f} s  {finding.get('id', '-'):8} "
              f"{finding.get('headline', '')[:110]}  {lacking or ''}", flush=True)  # fmt: skip
        return name, not lacking

    with ThreadPoolExecutor(chosen.jobs) as pool:
        done = list(pool.map(one, chosen.names or MISTAKES))
    print(f"\nthe decisive fact in {sum(good for _, good in done)} of {len(done)} first findings ({base})")
    if chosen.answers:
        chosen.answers.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
