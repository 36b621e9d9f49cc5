from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.catalogue.finding import Confidence
from doctor.logs import artifacts
from doctor.logs.flight_recorder import NotADump, is_dump, parsed, read, unpickled

HOUR_NS = 3_600_000_000_000


def _entry(number, operation="all_reduce", *, group=("0", "default_pg"), sizes=((4,),), state="scheduled", **other):
    return {
        "record_id": number, "pg_id": 0, "process_group": group, "collective_seq_id": number, "p2p_seq_id": 0,
        "op_id": number, "profiling_name": f"nccl:{operation}", "time_created_ns": 1_000, "timeout_ms": 600_000,
        "input_sizes": [list(each) for each in sizes], "input_dtypes": ["Float"], "output_sizes": [list(each) for each in sizes],
        "output_dtypes": ["Float"], "state": state, "retired": state == "completed", "is_p2p": False,
        "frames": [
            {"filename": "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 3245, "name": "all_reduce"},
            {"filename": "/srv/train.py", "line": int(f"10{number}") if number != "x" else 0, "name": "step"},
        ], **other,
    }  # fmt: skip


def _write(folder: Path, rank: int, entries, *, ranks="[0, 1, 2]", written_ns=HOUR_NS, **other) -> Path:
    path = folder / f"nccl_trace_rank_{rank}"
    whole = {
        "version": "2.10", "entries": entries, "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}},
        "pg_status": {}, **other,
    }  # fmt: skip
    path.write_bytes(pickle.dumps(whole, protocol=2))
    os.utime(path, ns=(written_ns, written_ns))
    return path


def _done(*numbers):
    return [_entry(each, state="completed") for each in numbers]


def test_the_rank_that_never_came_is_named_and_the_waiting_ones_are_not_blamed(tmp_path) -> None:
    for rank in (0, 1):
        _write(tmp_path, rank, [*_done(1, 2, 3), _entry(4)])
    path = _write(tmp_path, 2, _done(1, 2))
    (finding,) = read(tmp_path)
    words = finding.words()
    assert words.headline == "Rank 2 never entered `all_reduce` number 4; rank 0, 1 waits"
    assert "Its last collective there was number 2" in words.explanation
    assert (finding.where.rank, finding.where.file, finding.confidence) == (2, str(path), Confidence.LIKELY)
    assert any("/srv/train.py:104 in step" in each.text for each in finding.evidence)
    assert read(tmp_path / "nccl_trace_rank_0") == (finding,)


def test_a_rank_without_a_dump_is_told_as_unseen(tmp_path) -> None:
    _write(tmp_path, 0, [*_done(1), _entry(2)])
    _write(tmp_path, 1, _done(1))
    (finding,) = read(tmp_path)
    assert "Rank 2 left no dump" in finding.words().explanation


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (_entry(2, "broadcast"), "`broadcast [4] Float` on rank 1"),
        (_entry(2, sizes=((5,),)), "`all_reduce [5] Float` on rank 1"),
        (_entry(2, input_dtypes=["BFloat16"]), "`all_reduce [4] BFloat16` on rank 1"),
    ],
)
def test_ranks_that_call_different_things_are_confirmed(tmp_path, other, told) -> None:
    _write(tmp_path, 0, [*_done(1), _entry(2)])
    _write(tmp_path, 1, [*_done(1), other])
    _write(tmp_path, 2, [*_done(1), _entry(2)])
    (finding,) = read(tmp_path)
    assert told in finding.words().headline
    assert "`all_reduce [4] Float` on rank 0, 2" in finding.words().headline
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.words("zh").headline != finding.words().headline


@pytest.mark.parametrize(
    "entries",
    [
        ([_entry(1)], [_entry(1)]),  # both wait: for a third whose dump is not there
        (_done(1, 2), _done(1)),  # apart, but nobody waits
        ([*_done(1), _entry(2, "all_gather", sizes=((3,),))], [*_done(1), _entry(2, "all_gather", sizes=((9,),))]),
        ([_entry(1), _entry(2, is_p2p=True)], [_entry(1)]),
        ([*_done(1), _entry(2, time_created_ns=HOUR_NS - 1_000_000)], _done(1)),  # a moment ago
        (_done(2), [_entry(2, "broadcast", state="completed")]),  # both came out: not the same group
    ],
)
def test_nothing_is_said_where_nothing_is_shown(tmp_path, entries) -> None:
    for rank, each in enumerate(entries):
        _write(tmp_path, rank, each)
    assert read(tmp_path) == ()


def test_a_rank_that_never_called_anything_in_its_group_is_absent(tmp_path) -> None:
    config = {"7": {"name": "7", "desc": "undefined", "ranks": "[0, 1]"}}
    _write(
        tmp_path,
        0,
        [_entry(1, group=("7", "undefined"))],
        pg_config=config,
        pg_status={"0": {"last_enqueued_collective": 3}},
    )
    _write(tmp_path, 1, _done(1), pg_config=config, pg_status={"0": {"last_enqueued_collective": 3}})
    (finding,) = read(tmp_path)
    assert finding.words().headline.startswith("Rank 1 never entered `all_reduce` number 1")


class Evil:
    def __reduce__(self):
        return os.system, ("touch owned",)


@pytest.mark.parametrize("protocol", range(6))
def test_a_dump_that_calls_anything_is_not_read(tmp_path, monkeypatch, protocol) -> None:
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps({"entries": [Evil()], "version": "2.10"}, protocol=protocol)
    with pytest.raises(NotADump):
        unpickled(data)
    (tmp_path / "nccl_trace_rank_0").write_bytes(data)
    assert read(tmp_path) == ()
    assert not (tmp_path / "owned").exists()


def test_a_dump_cannot_demand_memory() -> None:
    for bomb in (b"\x80\x02N\x72\xff\xff\xff\x7f.", b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",
                 b"\x80\x02\x8b\xff\xff\xff\x7f.", b"\x80\x04\x95" + (1 << 62).to_bytes(8, "little") + b"N."):  # fmt: skip
        try:
            assert unpickled(bomb) is None
        except NotADump:
            continue


@given(st.binary(max_size=300), st.binary(max_size=20), st.integers(0, 1500))
@settings(max_examples=200, deadline=None)
def test_damaged_dumps_are_refused_in_words(noise, change, at) -> None:
    whole = pickle.dumps({"version": "2.10", "entries": [_entry(1)], "pg_config": {}}, protocol=2)
    for data in (noise, whole[:at], whole[:at] + change + whole[at + len(change) :]):
        try:
            parsed(data, Path("nccl_trace_rank_0"), 0)
        except NotADump:
            continue


def test_a_value_of_another_kind_does_not_stop_the_reading(tmp_path) -> None:
    rows = [
        None,
        3,
        {"process_group": 7},
        _entry("x"),
        _entry(1, input_sizes=7, input_dtypes=None, frames="f"),
        _entry(2),
    ]
    _write(tmp_path, 0, rows, pg_status=[1], pg_config="x")
    _write(tmp_path, 1, _done(1), ranks="{[")
    read(tmp_path)


def test_other_files_are_no_dumps(tmp_path) -> None:
    (tmp_path / "rank_0").write_text("Traceback (most recent call last):\n")
    (tmp_path / "model-1").write_bytes(pickle.dumps([1, 2, 3], protocol=2))
    (tmp_path / "entries.log").write_bytes(pickle.dumps({"entries": []}, protocol=2))
    assert not any(is_dump(each) for each in tmp_path.iterdir())
    assert read(tmp_path, tmp_path / "none_3") == ()


_RUN = """
import os, sys, time
import torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace
rank, folder, fate = int(sys.argv[1]), sys.argv[2], sys.argv[3]
store = dist.FileStore(folder + "/store", 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
for _ in range(3):
    dist.all_reduce(torch.ones(4))
def train_step():
    if fate == "differs" and rank == 1:
        return dist.broadcast(torch.ones(7), 0, async_op=True)
    if fate == "differs" or rank == 0:
        return dist.all_reduce(torch.ones(7, 5), async_op=True)
work = train_step()
time.sleep(0.3)
with open(f"{folder}/nccl_trace_rank_{rank}", "wb") as file:
    file.write(_dump_fr_trace())
end = time.monotonic() + 60  # whose peer ends sees its collective fail: both tell first
while not os.path.exists(f"{folder}/nccl_trace_rank_{1 - rank}") and time.monotonic() < end:
    time.sleep(0.02)
os._exit(0)
"""


@pytest.mark.process
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("fate", ["absent", "differs"])
def test_real_dumps_of_torch(tmp_path, fate) -> None:
    environment = {**os.environ, "TORCH_FR_BUFFER_SIZE": "100", "OMP_NUM_THREADS": "1"}
    script = tmp_path / "train.py"
    script.write_text(_RUN)
    ranks = [
        subprocess.Popen([sys.executable, "-W", "ignore", str(script), str(rank), str(tmp_path), fate], env=environment)
        for rank in range(2)
    ]
    assert [each.wait(timeout=100) for each in ranks] == [0, 0]
    dumps = sorted(tmp_path.glob("nccl_trace_rank_*"))
    assert len(dumps) == 2
    for each in dumps:  # as if the time-out had passed
        later = each.stat().st_mtime_ns + HOUR_NS
        os.utime(each, ns=(later, later))
    (finding,) = read(*dumps)
    headline = finding.words().headline
    if fate == "absent":
        assert headline == "Rank 1 never entered `all_reduce` number 4; rank 0 waits"
        assert any("in train_step" in each.text for each in finding.evidence)
    else:
        assert "collective number 4" in headline
        assert "broadcast" in headline


def test_dumps_are_found_beside_the_logs(tmp_path) -> None:
    for rank in (0, 1):
        _write(tmp_path, rank, [*_done(1), _entry(2)] if rank else _done(1))
    found = artifacts.read([str(tmp_path)])
    assert [each.where.rank for each in found.findings] == [0]
    assert found.summary == ("flight recorders of 2 ranks",)
    assert sorted(found.files) == [str(tmp_path / f"nccl_trace_rank_{rank}") for rank in (0, 1)]
    assert artifacts.is_artifact(found.files[0])
