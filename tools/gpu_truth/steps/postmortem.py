"""Programs that die on the device, and what the post-mortem makes of their genuine output; the logs are kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, program, step

#: case of tests/gpu/programs/dying.py -> what is to be named
ON_CARD = {
    "out-of-memory": "MEM006", "token-outside": "TOR012", "probabilities": "TOR012", "label-outside": "TOR012",
    "no-such-device": "LCH005", "two-devices": "TOR026", "attention-too-long": "MEM006",
}  # fmt: skip


def run(bench: Bench) -> None:
    """Every case; without a card the one program that dies on a CPU as well."""
    logs = bench.folder / "logs"
    logs.mkdir(exist_ok=True)
    wrong = {}
    commands = {"token-outside": program("device_error.py", "cpu", "token-outside")}
    if bench.on_card:
        commands = {case: program("dying.py", case) for case in ON_CARD}
    for case, command in commands.items():
        died = bench.call(command, limit_s=120)
        log = logs / f"{case}.log"
        log.write_text(died.stdout + died.stderr)
        told = json.loads(bench.doctor("postmortem", str(log), "--format", "json").stdout)
        first = told["findings"][0]["id"] if told["findings"] else None
        bench.measures.setdefault("first_findings", {})[case] = first
        if bench.on_card and first != ON_CARD[case]:
            wrong[case] = first
    if bench.on_card:
        bench.measures["named_wrong"] = wrong
    else:
        bench.without("a CPU dies of other errors", "named_wrong")


if __name__ == "__main__":
    step(run)
