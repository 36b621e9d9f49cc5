"""Tables in terminals of any width: no cell is cut, for names of runs and folders are typed again."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from doctor.render.console import draw_table
from doctor.render.runs import draw_runs

RUNS = [
    (
        "20261128T171342Z-python",
        "failed · TOR013 cuda-kernel-fault",
        "1.3 s",
        "reward 0.34 at step 12",
        "python train.py",
    ),
    ("20261128T171336Z-python", "good", "·", "·", "python train.py"),
]
CHECKPOINTS = [("40", "outputs/qwen2.5-7b-grpo-run3/checkpoint-40", "weights", "model.safetensors is cut off")]


def drawn(width: int, rows: list[tuple[str, ...]], names: tuple[str, ...], *, runs: bool) -> list[str]:
    out = io.StringIO()
    (draw_runs if runs else draw_table)(rows, names, Console(file=out, width=width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [44, 80, 200])
def test_no_cell_is_cut(width: int) -> None:
    lines = drawn(width, RUNS, ("run", "verdict", "time", "best metric", "command"), runs=True)
    lines += drawn(width, CHECKPOINTS, ("step", "folder", "kind", "state"), runs=False)
    text = "\n".join(lines)
    assert "…" not in text
    for cell in (*RUNS[0], *CHECKPOINTS[0][:3]):
        assert cell in text


def test_a_wide_terminal_has_a_row_for_each_run() -> None:
    lines = drawn(200, RUNS, ("run", "verdict", "time", "best metric", "command"), runs=True)
    assert len(lines) == 3
    assert lines[0].split() == ["run", "verdict", "time", "best", "metric", "command"]


def test_a_narrow_one_leaves_out_what_is_not_known() -> None:
    assert drawn(80, RUNS, ("run", "verdict", "time", "best metric", "command"), runs=True)[2:] == [
        "20261128T171336Z-python  good", "  python train.py"
    ]  # fmt: skip


def test_a_narrow_table_names_each_cell() -> None:
    assert drawn(44, CHECKPOINTS, ("step", "folder", "kind", "state"), runs=False) == [
        "40", "  folder  outputs/qwen2.5-7b-grpo-run3/checkpoint-40", "  kind    weights",
        "  state   model.safetensors is cut off",
    ]  # fmt: skip
