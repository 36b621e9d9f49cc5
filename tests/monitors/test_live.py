"""The live table of several machines, over files as their samplers write them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from doctor.monitors.sampler import columns
from doctor.monitors.sampler.latest import Latest, LatestOfNodes, Tail
from doctor.render.usage import live, live_nodes
from doctor.run.folder import RunDir, host_name


def written(folder: Path, nodes: int, gpus: int) -> RunDir:
    """A moment of each node; the third one's first card is hot and slowed down."""
    run = RunDir(folder)
    for name in ("gpu", "host", "events"):
        (folder / name).mkdir(parents=True)
    for number in range(nodes):
        host = f"n{number:03d}"
        head = ",".join(columns.HOST) + "\n"
        run.host(host).write_text(head + row(columns.HOST, host=host, cpu_pct=50, mono_s=10.0))
        cards = [
            row(columns.GPU, host=host, mono_s=10.0, gpu=gpu, sm_active_pct=40 + 10 * gpu, power_w=300,
                temperature_c=90 if (number, gpu) == (2, 0) else 50,
                throttle_reasons="hw_thermal_slowdown" if (number, gpu) == (2, 0) else "sw_power_cap")
            for gpu in range(gpus)
        ]  # fmt: skip
        if gpus:
            run.gpu(host).write_text(",".join(columns.GPU) + "\n" + "".join(cards))
    return run


def row(names: dict[str, str], **told: Any) -> str:
    return ",".join(str(told.get(name, "")) for name in names) + "\n"


def drawn(run: RunDir, lines: int) -> str:
    latest = LatestOfNodes(run)
    latest.read()
    screen = Console(file=io.StringIO(), width=120, color_system=None)
    screen.print(live_nodes(latest, "x", lines))
    latest.close()
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_few_nodes_have_a_row_a_card(tmp_path: Path) -> None:
    lines = drawn(written(tmp_path, 3, 2), 40).splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [["n000", "0"], ["1", "50"], ["n001", "0"]]
    assert "hw_thermal_slowdown" in lines[5]
    assert "3 nodes" in lines[-1]


def test_many_nodes_have_a_row_each_as_far_as_the_terminal_goes(tmp_path: Path) -> None:
    lines = drawn(written(tmp_path, 50, 8), 25).splitlines()
    assert lines[2].split() == ["n000", "8", "75", "·", "·", "·", "·", "2400", "50", "·", "–"]
    assert lines[1].split() == ["n002", "8", "75", "·", "·", "·", "·", "2400", "90", "·", "1", "of", "8"]
    assert lines[21] == "+30 nodes"


@pytest.mark.parametrize(("what", "lost"), [(("lost",), True), (("lost", "back"), False)])
def test_a_node_that_is_lost_is_named(tmp_path: Path, what: tuple[str, ...], *, lost: bool) -> None:
    run = written(tmp_path, 3, 0)
    events = [{"t_ns": 1, "kind": "monitor", "data": {"what": f"node {each}", "of": "n001"}} for each in what]
    run.events(host_name(), 1).write_text("".join(json.dumps(each) + "\n" for each in events))
    text = drawn(run, 40)
    assert ("lost: n001" in text) is lost
    assert text.count("no GPU") == 3


def test_a_file_that_grew_by_much_is_read_near_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    tail = Tail(path)
    assert tail.rows() == [{"a": "1", "b": "2"}]
    with path.open("a") as file:
        file.writelines(f"{number},{'x' * 100}\n" for number in range(30_000))
    rows = tail.rows()
    assert rows[-1]["a"] == "29999"
    assert len(rows) < 11_000
    tail.close()


def test_name_and_memory_of_the_cards_stand_above_the_table(tmp_path: Path) -> None:
    run = one_machine(tmp_path)
    card = {"name": "NVIDIA H200", "memory_total_mib": 143771}
    event = {
        "t_ns": 1,
        "host": host_name(),
        "kind": "monitor",
        "data": {"what": "gpus", "cards": {"0": card, "1": card}},
    }
    run.events(host_name(), 1).parent.mkdir()
    run.events(host_name(), 1).write_text(json.dumps(event) + "\n")
    latest = Latest(run)
    latest.read()
    latest.read()
    screen = Console(file=io.StringIO(), width=100)
    screen.print(live(latest, "doctor-runs/x", None))
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert text.startswith("GPU 0, 1  NVIDIA H200 · 140.4 GiB\n")
    latest.close()


def one_machine(folder: Path) -> RunDir:
    """Two cards, the second slowed down, and a process on each."""
    run = RunDir(folder)
    for name in ("gpu", "host"):
        (folder / name).mkdir(parents=True)
    run.gpu().write_text(",".join(columns.GPU) + "\n" + "".join(
        row(columns.GPU, mono_s=10.0, gpu=gpu, sm_active_pct=87, gpu_busy_pct=100, tensor_active_pct=31,
            dram_active_pct=44, memory_used_mib=245760 - gpu, power_w=1000, temperature_c=71, sm_clock_mhz=1980,
            throttle_reasons="hw_thermal_slowdown|sw_thermal_slowdown" if gpu else "none")
        for gpu in range(2)
    ))  # fmt: skip
    run.host().write_text(",".join(columns.HOST) + "\n" + row(
        columns.HOST, mono_s=10.0, cpu_pct=37, cpus=128, memory_used_mib=301234, memory_total_mib=2063882,
        swap_used_mib=0, shm_used_mib=1234, shm_total_mib=1031941,
    ))  # fmt: skip
    run.processes().write_text(",".join(columns.PROCESS) + "\n" + "".join(
        row(columns.PROCESS, mono_s=10.0, pid=4000 + gpu, role="vllm_engine", memory_mib=123456, name="VLLM::Core")
        for gpu in range(2)
    ))  # fmt: skip
    return run


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_figures_are_whole_on_every_terminal(tmp_path: Path, width: int, language: str) -> None:
    latest = Latest(one_machine(tmp_path))
    latest.read()
    screen = Console(file=io.StringIO(), width=width, color_system=None)
    screen.print(live(latest, "doctor-runs/x", None, language))
    latest.close()
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    lines = text.splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert "…" not in text
    told = ["245,760", "245,759", "hw_thermal_slowdown", "sw_thermal_slowdown", "301,234", "2,063,882", "vllm_engine"]
    assert [each for each in told if each not in text] == []
    assert ("按 q 退出" if language == "zh" else "q quits") in text
    assert ("降频" in text, "显存" in text, "throttled" in text) == (
        language == "zh",
        language == "zh",
        language == "en",
    )
    if width >= 80:
        assert [each for each in ("1980", "31", "44", "4001", "123,456") if each not in text] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_columns_stand_below_each_other_with_wide_characters(tmp_path: Path, language: str) -> None:
    latest = Latest(one_machine(tmp_path))
    latest.read()
    screen = Console(file=io.StringIO(), width=120, color_system=None)
    screen.print(live(latest, "x", None, language))
    latest.close()
    head, first, second, *_ = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    ends = [cell_len(line[: line.index(word) + len(word)]) for line, word in ((first, "245,760"), (second, "245,759"))]
    assert ends[0] == ends[1] == cell_len(head[: head.index("MiB") + 3])


def test_why_no_gpu_is_sampled_is_told_in_chinese(tmp_path: Path) -> None:
    latest = Latest(RunDir(tmp_path))
    screen = Console(file=io.StringIO(), width=60, color_system=None)
    screen.print(live(latest, "x", "the driver does not answer", "zh"))
    assert screen.file.getvalue().startswith("没有 GPU:")  # type: ignore[attr-defined]
