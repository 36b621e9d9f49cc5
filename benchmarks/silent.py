"""Silent failures of another tool's simulator: how many of its eleven pathologies each side names, and in what time.

Run it as ``python benchmarks/silent.py PYTHON [SEEDS]``, where PYTHON is an interpreter that has `rldoctor` (0.2.0; no
dependency of ours: `python -m venv V && V/bin/pip install rldoctor==0.2.0`). Its series of 100, 150 and 400 steps are
judged by its own detectors, and by our rules under TRL's and under veRL's names, in the same run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from typing import Any

#: prints every series with what the other tool finds in it, a line of JSON each
_PEER = """
import json, sys, time
from rl_doctor.simulate import EXPECTED_DETECTIONS, SCENARIOS, simulate, simulate_run
from rl_doctor import diagnose
for steps in (100, 150, 400):
    for name in SCENARIOS:
        for seed in range(int(sys.argv[1])):
            rows, _ = simulate(name, n_steps=steps, seed=seed)
            run = simulate_run(name, n_steps=steps, seed=seed)
            began = time.process_time()
            told = diagnose(run)
            took = time.process_time() - began
            found = [each.detector for each in told.findings if each.severity.name not in ("OK", "INFO")]
            hit = bool(set(found) & set(EXPECTED_DETECTIONS[name])) if name != "healthy" else bool(found)
            print(json.dumps([name, steps, seed, rows, hit, took]))
"""

#: scenario -> problems of ours that say the same
NAMED = {
    "entropy_collapse": {"RLX005"}, "saturated_groups": {"RLX010"}, "too_hard": {"RLX010"},
    "reward_hacking": {"RLX016"},
    "length_hacking": {"RLX016"}, "truncation": {"RLX011"}, "kl_blowup": {"RLX004"}, "clip_saturation": {"RLX013"},
    "grad_spikes": {"NUM008"}, "plateau": {"RLX008"}, "format_domination": {"RLX020"},
}  # fmt: skip

#: veRL's names of what it logs; the rest keeps the name that a reward manager gives it
VERL = {
    "reward": "critic/score/mean", "entropy": "actor/entropy", "kl": "actor/kl_loss", "grad_norm": "actor/grad_norm",
    "clip_ratio/region_mean": "actor/pg_clipfrac", "clip_ratio/low_mean": "actor/pg_clipfrac_lower",
    "completions/mean_length": "response_length/mean", "completions/clipped_ratio": "response_length/clip_ratio",
    "learning_rate": "actor/lr", "step_time": "timing_s/step", "eval/accuracy": "val-core/data/acc/mean@1",
    "reward_std": "critic/score/std",
}  # fmt: skip


def as_trl(row: dict[str, Any]) -> bytes:
    """A row as TRL prints it."""
    told = {name: f"{value:.4g}" for name, value in row.items() if name != "step"}
    return str({**told, "epoch": "0.1"}).encode()


def as_verl(row: dict[str, Any]) -> bytes:
    """A row as veRL prints it."""
    told = (f"{VERL.get(name, name)}:{value!r}" for name, value in row.items() if name != "step")
    return f"step:{row['step']} - {' - '.join(told)}".encode()


def ours(lines: list[bytes]) -> set[str]:
    """Problems that our rules name in lines of a log."""
    from doctor.catalogue.rules import RuleEngine
    from doctor.logs.metrics.steps import read_lines
    from doctor.logs.metrics.wanted import rules

    engine = RuleEngine(rules())
    engine.feed_all(read_lines(lines))
    engine.close()
    return {each.problem.id for each in engine.findings}


def main(python: str, seeds: int) -> None:
    """Print a line a scenario, and the ratio of all."""
    ours([])  # what is imported once is not part of the time
    out = subprocess.run([python, "-c", _PEER, str(seeds)], capture_output=True, text=True, check=True).stdout
    hits: dict[str, Counter[str]] = {side: Counter() for side in ("rldoctor", "TRL", "veRL")}
    runs: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for line in out.splitlines():
        name, _, _, rows, hit, took = json.loads(line)
        runs[name] += 1
        hits["rldoctor"][name] += hit
        seconds["rldoctor"] += took
        for side, write in (("TRL", as_trl), ("veRL", as_verl)):
            lines = [write(row) for row in rows]
            began = time.process_time()
            found = ours(lines)
            seconds[side] += time.process_time() - began
            hits[side][name] += bool(found & NAMED[name]) if name in NAMED else bool(found)
    print(f"{'scenario':20} {'series':>7} {'rldoctor':>9} {'TRL':>5} {'veRL':>5}")
    for name, count in runs.items():
        print(f"{name:20} {count:7} {hits['rldoctor'][name]:9} {hits['TRL'][name]:5} {hits['veRL'][name]:5}")
    spoilt = sum(count for name, count in runs.items() if name in NAMED)
    for side, found in hits.items():
        named = sum(count for name, count in found.items() if name in NAMED)
        print(f"{side}: {named / spoilt:.1%} named, {found['healthy']} of {runs['healthy']} healthy ones accused,"
              f" {1000 * seconds[side] / sum(runs.values()):.1f} ms a series")  # fmt: skip
    ratio = seconds["TRL"] / seconds["rldoctor"]
    print(f"ratio of the time, TRL's lines read and judged, to rldoctor's judging: {ratio:.2f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
