"""Post-mortems of many logs: links, copies, processes, and a real Ray cluster give one verdict."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from doctor.base.ranks import ranks_text
from doctor.cluster import log_task, ray_logs
from doctor.cluster.ray_child import RayRefused
from doctor.cluster.ray_logs import RayLogs
from doctor.diagnosis.report import as_dict
from doctor.logs.postmortem import Prepared, examine
from doctor.logs.read import dividing, parallel
from doctor.logs.read.layouts import sources
from doctor.logs.read.log import Reader, ReadSettings
from tests.cluster.rays import Rays, ray_cluster
from tests.commands import run_doctor
from tests.prepared import prepared_once

PROJECT = Path(__file__).parent.parent.parent
SAMPLES = PROJECT / "tests" / "postmortem"
CASES = (
    "ddp-rank1-raises", "grpo-num-generations", "deepspeed-zero2-scale-minimum", "ddp-rank1-sigkill",
    "grpo-huge-learning-rate",
)  # fmt: skip
STEPS = "".join(
    f"2025-11-20 16:{n:02}:00,000 - INFO - {{'loss': 0.{n}1, 'reward': 0.{9 - n}, 'step': {n}}}\n" for n in range(9)
)
WAITED = STEPS + (
    "Traceback (most recent call last):\n"
    '  File "/home/user/train.py", line 210, in <module>\n'
    "    work = group.allreduce([tensor], opts)\n"
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 600000ms for "
    "recv operation to complete\n"
)
FAILED = STEPS + (
    "Traceback (most recent call last):\n"
    '  File "/home/user/rewards.py", line 31, in score\n'
    "    return ledger.score(shard)\n"
    "ledger.LeaseLost: the lease of shard 4 is gone\n"
)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A folder with the real logs of several runs, one of them linked to by other ranks."""
    folder = tmp_path / "real"
    folder.mkdir()
    for number, case in enumerate(CASES):
        shutil.copy(SAMPLES / case / "log.txt", folder / f"rank{number}.log")
    for rank in (7, 8):
        os.link(folder / "rank0.log", folder / f"rank{rank}.log")
    return folder


def ranks_of(folder: Path, count: int, odd: int, *, linked: bool) -> Path:
    """A log for each rank, all alike but one."""
    folder.mkdir()
    first = folder / "rank0.log"
    first.write_text(WAITED)
    for rank in range(1, count):
        path = folder / f"rank{rank}.log"
        if rank == odd:
            path.write_text(FAILED)
        elif linked and rank % 2:
            path.symlink_to(first)
        elif linked:
            os.link(first, path)
        else:
            path.write_text(WAITED)
    return folder


def told(folder: Path, prepared: Prepared, work: Any = None) -> str:
    """The whole report as text, without seconds."""
    report = as_dict(examine([str(folder)], prepared=prepared, work=work).diagnosis)
    del report["summary"]["seconds"]
    return json.dumps(report, sort_keys=True, default=str)


@pytest.mark.process
def test_links_processes_and_copies_give_one_verdict(tmp_path: Path, prepared: Prepared) -> None:
    links = ranks_of(tmp_path / "links", 30, 17, linked=True)
    copies = ranks_of(tmp_path / "copies", 30, 17, linked=False)
    of_links, of_copies = told(links, prepared), told(copies, prepared)
    assert of_links.replace(str(links), "D") == of_copies.replace(str(copies), "D")
    assert told(copies, prepared, partial(dividing.here, workers=2)) == of_copies
    report = json.loads(of_links)
    assert report["findings"][0]["where"]["rank"] == 17
    assert "0-16, 18-29" in report["findings"][0]["explanation"]
    waited = next(each for each in report["findings"] if each["id"] == "NCC011")
    assert waited["headline"] == "Ranks 0-16, 18-29 waited 600 s in `recv` without an answer"
    assert (waited["role"], len(waited["evidence"])) == ("symptom", 3)


@pytest.mark.process
def test_real_logs_read_by_several_processes(real: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = told(real, prepared)
    assert told(real, prepared, partial(dividing.here, workers=3)) == alone
    monkeypatch.setattr(parallel, "RANGE_FROM_BYTES", 1 << 12)
    monkeypatch.setattr(parallel, "RANGE_BYTES", 1 << 12)
    assert [each["id"] for each in json.loads(told(real, prepared))["findings"]] == [
        each["id"] for each in json.loads(alone)["findings"]
    ]


def test_of_very_many_logs_less_is_kept_and_the_same_is_found(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ranks_of(tmp_path / "ranks", 12, 5, linked=False)
    whole = json.loads(told(folder, prepared))
    monkeypatch.setattr(dividing, "BRIEF_FROM", 2)
    monkeypatch.setattr("doctor.logs.gathered.BRIEF_FROM", 2)
    brief = json.loads(told(folder, prepared))
    assert [each["headline"] for each in brief["findings"]] == [each["headline"] for each in whole["findings"]]
    assert brief["findings"][0]["where"] == whole["findings"][0]["where"]


def test_the_chain_tells_how_many_more_did_the_same(tmp_path: Path, prepared: Prepared) -> None:
    chain = json.loads(told(ranks_of(tmp_path / "ranks", 80, 3, linked=True), prepared))["chain"]
    waited = [each for each in chain if each["what"] == "waited"]
    assert len(waited) == 64
    assert sum(each["alike"] for each in waited) == 79 - 64


def test_links_count_for_the_ranks_that_they_name(tmp_path: Path) -> None:
    (tmp_path / "rank3.log").write_text("x\n")
    (tmp_path / "latest.log").symlink_to("rank3.log")
    (tmp_path / "rank4.log").symlink_to("rank3.log")
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "rank4.log").symlink_to("../rank4.log")
    assert [each.rank for each in sources([str(tmp_path)])] == [3, 4]


def test_ranks_are_told_as_ranges_where_they_are_many() -> None:
    assert ranks_text([2, 0, 1]) == "0, 1, 2"
    assert ranks_text([*range(66), *range(67, 10_000)]) == "0-65, 67-9999"
    assert ranks_text(range(0, 100, 2)) == "0, 2, 4, 6, 8, 10, 12, 14 … (+42)"


# nodes that cannot do what they are asked -------------------------------------------------------------------------


@pytest.fixture
def nodes(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """A cluster whose nodes read in this process; what is put into the mapping happens to a batch instead."""
    instead: dict[int, Any] = {}

    def reader(settings: Any, *, every_metric: bool) -> Reader:
        scanner = prepared.scanner.for_a_table() if every_metric else prepared.scanner
        return Reader(scanner, ReadSettings(**dict(settings)))

    monkeypatch.setattr(log_task, "_reader", reader)
    monkeypatch.setattr(ray_logs, "BATCH_FILES", 1)

    def answers(request: Any, *_: object) -> Iterator[dict[str, Any]]:
        yield {"kind": "nodes", "nodes": [{"id": "n0", "name": "alpha", "address": "10.0.0.1"}]}
        for number, item in reversed(list(enumerate(json.loads(json.dumps(request.items))))):
            line = {"kind": "answer", "node": "n0", "item": number, "state": "ok", "reason": ""}
            change = instead.get(number, {})
            if isinstance(change, Exception):
                raise change
            yield {**line, "value": log_task.read({**request.arguments, "item": item}), **change}

    monkeypatch.setattr(ray_logs, "answers", answers)
    return instead


@pytest.mark.process
def test_what_nodes_cannot_read_is_read_here(real: Path, prepared: Prepared, nodes: dict[int, Any]) -> None:
    alone = told(real, prepared)
    nodes[0] = {"state": "died", "reason": "the node went away"}
    nodes[2] = {"value": {"unfit": "Python 3.9"}}
    work = RayLogs("auto", sys.executable)
    assert told(real, prepared, work) == alone
    assert work.notes[0] == "3 of 5 logs were read on 1 node"
    assert work.notes[-1] == "2 of 5 logs were read here instead"
    assert any("died: the node went away" in each or "Python 3.9" in each for each in work.notes[1:-1])


@pytest.mark.process
def test_a_cluster_that_is_lost_on_the_way(real: Path, prepared: Prepared, nodes: dict[int, Any]) -> None:
    nodes[1] = RayRefused("ended", "the Ray driver ended unexpectedly")
    work = RayLogs("auto", sys.executable)
    assert told(real, prepared, work) == told(real, prepared)
    assert "the cluster was lost (the Ray driver ended unexpectedly)" in work.notes


@pytest.mark.process
@pytest.mark.usefixtures("nodes")
def test_another_file_under_the_same_path_is_not_taken_for_it(
    real: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = log_task._seen

    def elsewhere(path: str) -> Any:
        if path.endswith("rank1.log"):
            return None
        found = seen(path)
        return [path, 1, 1] if path.endswith("rank2.log") else found

    alone = told(real, prepared)
    monkeypatch.setattr(log_task, "_seen", elsewhere)
    work = RayLogs("auto", sys.executable)
    assert told(real, prepared, work) == alone
    assert work.notes[-1] == "2 of 5 logs were read here instead"
    assert any("files do not lie there" in each for each in work.notes)


@pytest.mark.usefixtures("nodes")
def test_metric_lines_that_filled_a_file_travel(
    real: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    from doctor.logs.metrics.files import MetricsCsv

    monkeypatch.setattr("doctor.logs.metrics.lines.MOST_IN_MEMORY_BYTES", 1)
    tables = io.StringIO(), io.StringIO()
    for table, work in zip(tables, (None, RayLogs("auto", sys.executable)), strict=True):
        examine([str(real)], prepared=prepared, table=MetricsCsv(table), work=work)
    assert tables[0].getvalue().count("\n") > 20
    assert tables[0].getvalue() == tables[1].getvalue()
    assert not list(Path(prepared.scanner.folder).glob("*"))


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ray", "127.0.0.1:1"), "nothing accepts a connection"),
        (("--ray", " "), "--ray is empty"),
        (("--ray", "auto", "--follow"), "cannot be combined with --follow"),
        (("--python", sys.executable), "names the interpreter for --ray"),
    ],
)
def test_wrong_use_is_told(real: Path, options: tuple[str, ...], words: str) -> None:
    pytest.importorskip("ray")
    done = run_doctor("postmortem", str(real), *options, cwd=real.parent)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


# a real cluster ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rays() -> Iterator[Rays]:
    with ray_cluster([{"cpus": 1}, {"cpus": 1}, {"cpus": 1}]) as cluster:
        yield cluster


@pytest.mark.process
def test_real_nodes_give_the_same_verdict(
    rays: Rays, real: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_logs, "BATCH_FILES", 2)
    work = RayLogs(rays.address, sys.executable, rays.environ)
    assert told(real, prepared, work) == told(real, prepared)
    assert work.notes[0].startswith("5 of 5 logs were read on ")


@pytest.mark.process
def test_a_node_that_dies_while_logs_are_read(
    rays: Rays, tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ranks_of(tmp_path / "ranks", 24, 11, linked=False)
    alone = told(folder, prepared)
    monkeypatch.setattr(ray_logs, "BATCH_FILES", 1)
    work = RayLogs(rays.address, sys.executable, rays.environ)

    def killing(reader: Any, items: Any) -> Iterator[Any]:
        for number, result in enumerate(work(reader, items)):
            if number == 0:
                rays.kill(2)
            yield result

    assert told(folder, prepared, killing) == alone
    assert work.notes


# many -------------------------------------------------------------------------------------------------------------


def _writer() -> ModuleType:
    """The writer of the benchmark's logs, which is no part of the package."""
    folder = PROJECT / "benchmarks"
    spec = importlib.util.spec_from_file_location("rank_log_writer", folder / "rank_log_writer.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


_PEAK = """
import json, sys
from doctor.logs.postmortem import examine
from tests.peaks import with_children_kib
result = examine([sys.argv[1]])
first = result.diagnosis.outcome.findings[0]
waited = next(each for each in result.diagnosis.outcome.findings if each.problem.id == "NCC011")
print(json.dumps([first.where.rank, waited.words().headline, len(result.case.sources), with_children_kib() >> 10]))
"""


@pytest.mark.slow
def test_ten_thousand_ranks(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    _writer().write_rank_logs(folder, 10_000, 1_000_000, distinct=100, odd=6666)
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(folder)], capture_output=True, text=True, check=True, timeout=900
    )
    rank, headline, logs, peak_mb = json.loads(done.stdout)
    assert (rank, logs) == (6666, 10_000)
    assert headline == "Ranks 0-6665, 6667-9999 waited 600 s in `recv` without an answer"
    assert peak_mb < 300
