"""What stands first where two environments differ."""

from __future__ import annotations

from doctor.base.change import Change, Input
from doctor.cli.diff import _few
from doctor.diagnosis.differ import by_weight


def test_versions_come_first_and_lists_of_paths_last_and_few() -> None:
    paths = [Change(Input("fact", f"interpreter.path[{each}]"), "/a", "/b") for each in range(40)]
    version = Change(Input("fact", "packages.distributions.torch.version"), "2.6.0", "2.7.0")
    variable = Change(Input("fact", "environment.variables.NCCL_DEBUG"), None, "INFO")
    ordered = by_weight([*paths, variable, version])
    assert ordered[:2] == [version, variable]
    shown = _few(ordered)
    assert shown[:2] == [version, variable]
    assert len(shown) == 7
