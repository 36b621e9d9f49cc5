"""The guard on a real GRPO step: what it costs, how often it waits for the device, what it keeps from the weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, needs_trl, program, relative, step


def run(bench: Bench) -> None:
    """Cost first, then what must be caught."""
    needs_trl()
    cost(bench)
    caught(bench)
    if bench.on_card:
        spoiled(bench)
    else:
        bench.without("a GradScaler works on a GPU alone", "scale_collapse_named", "gradient_stopped")


def cost(bench: Bench) -> None:
    """Milliseconds and waits of a GRPO step without and with the guard, in turns in one process."""
    size, steps = ("0.5B", "24") if bench.on_card else ("tiny", "8")
    told = bench.told(program("grpo_cost.py", bench.torch_device, size, steps), limit_s=300)
    bench.measures["grpo_step"] = told
    bench.measures["step_time_change_pct"] = 100 * relative(told["with"]["ms"], told["without"]["ms"])
    if bench.on_card:
        bench.measures["waits_added_a_step"] = told["with"]["waits"] - told["without"]["waits"]
    else:
        bench.without("a CPU has no stream to wait for", "waits_added_a_step")


def caught(bench: Bench) -> None:
    """NaN in a weight, a gradient, a reward: named at its step, and the weights stay finite."""
    found: dict[str, Any] = {}
    for case in ("healthy", "weight", "backward", "reward"):
        command = program("grpo_spoiled.py", bench.torch_device, case)
        done = bench.doctor("run", "--no-check", "--no-monitor", "--stopped-exit", "0", "--", *command, limit_s=150)
        finite = "FINITE True" in done.stdout
        alarms = [each for each in ("NUM006", "RLX006") if f"error {each}" in done.stderr]
        found[case] = {"alarms": alarms, "finite": finite, "at_its_step": "step 3" in done.stderr}
    bench.measures["cases"] = found
    bench.measures["healthy_silent"] = not found["healthy"]["alarms"]
    bench.measures["nan_caught"] = [name for name in ("weight", "backward", "reward") if found[name]["at_its_step"]]
    bench.measures["weights_kept_finite"] = [name for name in ("backward", "reward") if found[name]["finite"]]


def spoiled(bench: Bench) -> None:
    """A gradient in a plain loop, and a GradScaler whose scale collapses."""
    for case, measure in (("nan", "gradient_stopped"), ("overflow", "scale_collapse_named")):
        done = bench.call(program("spoiled.py", case), limit_s=120)
        told = [json.loads(each[7:]) for each in done.stdout.splitlines() if each.startswith("RESULT ")]
        named = any(each in done.stderr for each in ("NUM006", "NUM005"))
        bench.measures[measure] = bool(told and told[-1]["finite"] and named)


if __name__ == "__main__":
    step(run)
