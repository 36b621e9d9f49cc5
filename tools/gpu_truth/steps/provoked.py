"""Verdicts of the usage report on provoked cases: a card that is busy and does nothing, one at work, fragmented memory.

Memory that creeps takes the report 30 minutes to believe, and idle cards ten: both are longer than a step may last.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, program, step

SECONDS = 140
#: case of programs/provoke.py -> what the report is to say of it
CASES = {"spinning": "PRF015", "steady": None}
#: the same as scenarios of the stand-in
SCENARIOS = {
    "spinning": "include = h100x8.ini\n[gpu *]\nactivity = 0 busy=1 sm=0.01 power=120 memory=30GiB\n",
    "steady": "include = h100x8.ini\n[gpu *]\nactivity = 0 busy=1 sm=0.8 power=600 memory=30GiB\n",
}
#: on the stand-in the verdict on a spinning card is not waited for
SHORT_S = 12


def run(bench: Bench) -> None:
    """Each case under the sampler, then the report over it; then the fragmented allocator."""
    bench.without("the report believes it after 30 minutes: longer than a step may last", "leak_named")
    found = {case: reported(bench, case) for case in CASES}
    bench.measures |= {"found": found, "accused": [each for each in found["steady"] if each != "GPU007"]}
    if not bench.on_card:
        why = "takes two minutes and a card"
        bench.without(why, "missed", "throttle_named_under_load", "fragmentation_named")
        return
    bench.measures["missed"] = [case for case, wanted in CASES.items() if wanted and wanted not in found[case]]
    bench.measures["throttle_named_under_load"] = "GPU007" in found["steady"]
    bench.measures["fragmentation_named"] = fragmented(bench)


def reported(bench: Bench, case: str) -> list[str]:
    """Problems that the report names."""
    place = Bench(bench.device, bench.folder / case)
    place.folder.mkdir(exist_ok=True)
    command, more = program("provoke.py", case, str(SECONDS)), {}
    if not bench.on_card:
        command = [sys.executable, "-c", f"import time; time.sleep({SHORT_S})"]
        more = {"scenario": SCENARIOS[case]}
    place.doctor("monitor", "--during-run", "--no-live", "--", *command, limit_s=SECONDS + 60, **more)
    (path,) = sorted(place.folder.glob("doctor-runs/2*"))[-1:]
    told = json.loads(place.doctor("report", str(path), "--format", "json", **more).stdout)
    return [each["id"] for each in told["findings"]]


def fragmented(bench: Bench) -> bool:
    """Whether the post-mortem of an allocation that only scattered holes could hold advises about fragmentation."""
    died = bench.call(program("provoke.py", "fragmented", "60"), limit_s=120)
    log = bench.folder / "fragmented.log"
    log.write_text(died.stdout + died.stderr)
    told = json.loads(bench.doctor("postmortem", str(log), "--format", "json").stdout)
    return bool(told["findings"]) and "expandable_segments" in json.dumps(told["findings"][0])


if __name__ == "__main__":
    step(run)
