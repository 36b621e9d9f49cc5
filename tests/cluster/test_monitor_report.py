"""What the report says of many machines: alike ones together, the one that departs by name, clocks put right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cluster.shared_run import unheard
from doctor.monitors.sampler import columns
from doctor.monitors.usage.files import load
from doctor.monitors.usage.hosts import HostSummary, folded
from doctor.monitors.usage.report import as_report, diagnose
from doctor.monitors.usage.tracks import GpuKey
from doctor.render.usage_plots import of_run
from doctor.run.folder import RunDir

BEGIN_NS = 1_795_000_000_000_000_000
SECONDS, TURN_S, AHEAD_S = 200, 20, 5.0
SLOW, AHEAD = "n03", "n05"


def working(second: int) -> bool:
    return second // TURN_S % 2 == 0


def written(folder: Path, hosts: int) -> RunDir:
    """Eight cards a host that work in turns; one card of SLOW works longest, and the clock of AHEAD is ahead."""
    run = RunDir(folder)
    (run.path / "gpu").mkdir()
    told = ("t_ns", "host", "gpu", "sm_active_pct", "sm_window_s", "sm_source", "power_w")
    for number in range(hosts):
        host = f"n{number:02d}"
        ahead_ns = int(1e9 * AHEAD_S) if host == AHEAD else 0
        lines = ["# schema doctor-gpu/1", ",".join(columns.GPU)]
        for second in range(SECONDS):
            for gpu in range(8):
                active = (
                    (95 if (host, gpu) == (SLOW, 6) else 60) if working(max(0, second - 1)) else 10
                )  # of the second before
                values = (BEGIN_NS + second * 10**9 + ahead_ns, host, gpu, active, 1, "gpm", 300)
                cells = dict(zip(told, map(str, values), strict=True))
                lines.append(",".join(cells.get(name, "") for name in columns.GPU))
        run.gpu(host).write_text("\n".join(lines) + "\n")
        event(run, 1, what="clock", of=host, offset_s=AHEAD_S if ahead_ns else 0.0003, error_s=0.001)
    for second in range(0, SECONDS, TURN_S):
        for at_s, edge in ((second, "begin"), (second + TURN_S, "end")):
            event(run, at_s, "phase", name="update" if working(second) else "generation", edge=edge)
    return run


def event(run: RunDir, at_s: float, kind: str = "monitor", **data: Any) -> None:
    path = run.events("n00", 1)
    path.parent.mkdir(exist_ok=True)
    fields = {"t_ns": BEGIN_NS + int(at_s * 1e9), "host": "n00", "pid": 1, "rank": 0, "kind": kind, "data": data}
    with path.open("a") as file:
        file.write(json.dumps(fields) + "\n")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    made = written(tmp_path_factory.mktemp("many"), 20)
    live = [{"id": name, "name": name, "address": None, "alive": True} for name in ("n00", "n77")]
    event(made, 1, what="nodes", nodes=live)
    event(made, 50, what="node lost", of="n04", reason="its raylet died")
    return made


def test_the_card_that_the_others_wait_for_is_named_with_its_phase(run: RunDir) -> None:
    loaded = load(run.path)
    diagnosis, summary = diagnose(loaded, run_dir=None, language="en")
    (finding,) = [each for each in diagnosis.outcome.findings if each.problem.id == "PRF017"]
    words = finding.words()
    assert words.headline == f"GPU {SLOW}:6: 95 % active, the 159 peers 60 % (`update`)"
    assert (finding.where.host, finding.where.gpu) == (SLOW, 6)
    usage = as_report(diagnosis, loaded, summary)["usage"]
    assert [(each["label"], each["nodes"]) for each in usage["hosts_shown"]] == [(SLOW, 1), ("n[00-02,04-19]", 19)]
    assert len(usage["hosts"]) == 20
    said = " · ".join(diagnosis.target.summary)
    assert "lost during the run: n04" in said
    assert "nodes without data: n77" in said
    assert "clocks at most 5000.0 ms apart (taken out), known to 1.0 ms" in said
    shares = {each["name"]: each["activity_pct"] for each in usage["phases"]}
    assert shares["update"] == pytest.approx(60, abs=1)  # and not mixed with the other phase on AHEAD
    assert shares["generation"] == pytest.approx(10, abs=1)


def test_an_offset_beyond_its_error_is_taken_out_of_that_host_alone(run: RunDir) -> None:
    usage = load(run.path)
    first = {host: float(usage.gpus[GpuKey(host, 0)]["sm_active_pct"].t[0]) for host in ("n00", AHEAD)}
    assert first["n00"] == BEGIN_NS / 1e9
    assert first[AHEAD] == pytest.approx(BEGIN_NS / 1e9, abs=1e-3)
    assert {host: each.moved for host, each in usage.clocks.items() if each.moved} == {AHEAD: True}


def test_a_plot_of_many_cards_shows_their_middle_their_bounds_and_who_departs(run: RunDir) -> None:
    usage = load(run.path)
    _, summary = diagnose(usage, run_dir=None, language="en")
    plots, _, _ = of_run(usage, summary)
    names = [name for name, _, _ in plots[0].lines]
    assert names == ["median of 160 GPUs", "lowest of 160 GPUs", "highest of 160 GPUs", f"{SLOW}:6"]
    assert max(plots[0].lines[2][2]) == 95


def test_nodes_of_which_nothing_was_written(tmp_path: Path) -> None:
    made = RunDir(tmp_path)
    assert unheard(made) == []
    nodes = [{"name": name, "alive": alive} for name, alive in (("a", True), ("b", True), ("c", False))]
    event(made, 0, what="nodes", nodes=nodes)
    made.host("a").parent.mkdir()
    made.host("a").touch()
    assert unheard(made) == ["b"]


def host(name: str, **other: Any) -> HostSummary:
    values: dict[str, Any] = {
        "hosts": [name], "gpus": 8, "activity_pct": 80.0, "lowest_pct": 78.0, "highest_pct": 82.0, "power_w": 5000.0,
        "sm_clock_mhz": 1900.0, "temperature_max_c": 60.0, "memory_peak_mib": 70000.0, "slowed_share": 0.0,
        "hours": 8.0, "idle_hours": 1.0,
    }  # fmt: skip
    return HostSummary(**{**values, **other})


@pytest.mark.parametrize(
    "other",
    [
        {"activity_pct": 60.0}, {"lowest_pct": 50.0}, {"highest_pct": 99.0}, {"sm_clock_mhz": 1500.0}, {"gpus": 7},
        {"slowed_share": 0.2}, {"power_w": None}, {"memory_peak_mib": 20000.0},
    ],
)  # fmt: skip
def test_of_a_thousand_machines_the_one_that_differs_has_a_row(other: dict[str, Any]) -> None:
    rows, left_out = folded([host(f"n{number}", **(other if number == 500 else {})) for number in range(1000)])
    assert [len(row.hosts) for row in rows] == [1, 999]
    assert (rows[0].hosts, left_out) == (["n500"], 0)
    assert rows[1].gpus == 8 * 999
    assert rows[1].idle_hours == 999


def test_many_that_differ_are_counted() -> None:
    levels = (80.0, 50.0, 20.0)
    figures = ("activity_pct", "lowest_pct", "highest_pct")
    rows, left_out = folded([host(f"n{k}", **dict.fromkeys(figures, levels[k % 3])) for k in range(60)])
    assert (len(rows), left_out) == (13, 28)
    assert sum(len(row.hosts) for row in rows) + left_out == 60


def test_few_machines_have_a_row_each() -> None:
    rows, left_out = folded([host(f"n{number}", activity_pct=number * 5.0) for number in range(16)])
    assert ([row.hosts for row in rows], left_out) == ([[f"n{number}"] for number in range(16)], 0)
