"""The witness beside an engine: do trainer and engine agree, how restless is the engine, what does a look cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, program, step

#: updates between two rounds once the first ones are over, as the witness has them by itself
EVERY = 50
KINDS = ("dense", "moe")


def run(bench: Bench) -> None:
    """A dense model and one of experts, each with an engine that follows and with one that is given no weights."""
    rows = {f"{kind}, {case}": watched(bench, kind, case) for kind in KINDS for case in ("well", "stale")}
    well = [rows[f"{kind}, well"] for kind in KINDS]
    bench.measures |= {
        "rows": rows, "engines": sorted({each["engine"] for each in rows.values()}),
        "why_not_vllm": sorted({each["why"] for each in rows.values() if each["why"]}),
        "accused": sorted({found for each in well for found in each["found"]}),
        "stale_named": [kind for kind in KINDS if "WIT9046" in rows[f"{kind}, stale"]["found"]],
        "identity": [each["identity"] for each in well], "gap_worst": max(each["gap"] for each in well),
        "noise_worst": max(each["noise"] for each in well), "round_ms_most": max(each["round_ms"] for each in well),
        "share_of_run_pct": max(100 * each["round_ms"] / (EVERY * each["update_ms"]) for each in well),
    }  # fmt: skip
    if not bench.on_card:
        bench.measures.pop("share_of_run_pct")
        bench.without("an update of a model of two layers is no measure", "share_of_run_pct")


def watched(bench: Bench, kind: str, case: str) -> dict[str, Any]:
    """One loop: what its program printed, and what the witness left in the run folder.

    `identity`: state of the push of unmodified weights; `gap`: the largest mean difference of log probabilities;
    `noise`: the engine's own; `round_ms`: what one round took of the training's time.
    """
    place = Bench(bench.device, bench.folder / f"{kind}-{case}")
    place.folder.mkdir(exist_ok=True)
    run = place.folder / "run"
    run.mkdir(exist_ok=True)
    command = program("witnessed.py", bench.torch_device, kind, case, "4")
    told = place.told(command, limit_s=140, DOCTOR_RUN_DIR=str(run))
    rounds, end = events(run)
    gaps = [each["verdicts"]["agreement"]["value"] for each in rounds if "agreement" in each["verdicts"]]
    identity = [each["verdicts"]["identity"]["state"] for each in rounds if "identity" in each["verdicts"]]
    return {
        **told, "rounds": len(rounds), "gap": max(gaps, default=None), "identity": next(iter(identity), "unseen"),
        "noise": max((each["noise"] for each in rounds), default=None),
        "round_ms": 1000 * end["spent_s"] / max(1, len(rounds)),
    }  # fmt: skip


def events(run: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the witness wrote: its rounds, and its last word.

    Raises:
        RuntimeError: it wrote none, with the reason that it gave.

    """
    lines = [line for path in sorted(run.glob("events/*.jsonl")) for line in path.read_text().splitlines()]
    said = [each["data"] for each in map(json.loads, lines) if "witness" in each.get("data", {})]
    rounds = [each for each in said if each["witness"] == "round"]
    ends = [each for each in said if each["witness"] == "end"]
    if not rounds or not ends:
        raise RuntimeError(f"the witness saw nothing: {[each.get('reason') for each in said]}")
    return rounds, ends[-1]


if __name__ == "__main__":
    step(run)
