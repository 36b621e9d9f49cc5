"""How two environments differ, and what stands first."""

from __future__ import annotations

from doctor.base.change import Change, Input
from doctor.base.evidence import Observed
from doctor.cli.diff import _few
from doctor.diagnosis.differ import by_weight, differences
from doctor.facts.environment import Environment


def test_versions_come_first_and_lists_of_paths_last_and_few() -> None:
    paths = [Change(Input("fact", f"interpreter.path[{each}]"), "/a", "/b") for each in range(40)]
    version = Change(Input("fact", "packages.distributions.torch.version"), "2.6.0", "2.7.0")
    variable = Change(Input("fact", "environment.variables.NCCL_DEBUG"), None, "INFO")
    ordered = by_weight([*paths, variable, version])
    assert ordered[:2] == [version, variable]
    shown = _few(ordered)
    assert shown[:2] == [version, variable]
    assert len(shown) == 7


def test_a_fact_that_one_side_alone_has_seen_is_one_change_and_one_that_both_have_is_told_part_by_part() -> None:
    old, new = (
        {"environment": Observed.seen(Environment({"NCCL_DEBUG": each, "OMP_NUM_THREADS": "8"}))}
        for each in ("INFO", "WARN")
    )
    (part,) = differences(old, new)
    assert part == Change(Input("fact", "environment.variables.NCCL_DEBUG"), "INFO", "WARN")
    blind = {"environment": Observed.unseen("no such process")}
    for one, other in ((old, blind), (blind, old)):
        (whole,) = differences(one, other)
        assert whole.input == Input("fact", "environment")
    assert differences(blind, blind) == []
