"""Task numbers of srun are ranks where each task is one, and nodes where each task is a launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.lines.prefixes import NODES, RANKS, labels_of, strip
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
TORCHRUN = "W0316 13:16:11.045000 575770 site-packages/torch/distributed/run.py:793] {}"
AGENT = "W0316 13:16:31.409000 575770 site-packages/torch/distributed/elastic/multiprocessing/api.py:897] {}"
FAILED = (
    "E0316 13:16:32.769000 575770 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] failed "
    "(exitcode: -7) local_rank: 1 (pid: 575909) of binary: /opt/conda/bin/python"
)
LOST = (
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. "
    "See inner exception for details."
)
FRAMES = [
    "Traceback (most recent call last):",
    '  File "/opt/conda/bin/torchrun", line 8, in <module>',
    "    sys.exit(main())",
]
#: two nodes, of which one lost a rank by a bus error, shortened: sequence_parallel_experiments/ulysses_slurm_logs/
#: standard-ulysses-1114.err of https://github.com/bigyanghimire/deepspeed-experiments
BUS_ERROR = [
    f"0: {TORCHRUN.format('*' * 41)}", f"1: {TORCHRUN.format('*' * 41)}",
    "0: loading the data", "1: loading the data",
    f"0: {AGENT.format('Sending process 575908 closing signal SIGTERM')}", f"0: {FAILED}",
    *(f"0: {each}" for each in FRAMES),
    "0: torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "0: " + "=" * 54, "0: train_gpt.py FAILED", "0: " + "-" * 54, "0: Failures:", "0:   <NO_OTHER_FAILURES>",
    "0: " + "-" * 54, "0: Root Cause (first observed failure):", "0: [0]:", "0:   time      : 2026-03-16_13:16:31",
    "0:   host      : hades", "0:   rank      : 1 (local_rank: 1)", "0:   exitcode  : -7 (pid: 575909)",
    "0:   error_file: <N/A>", "0:   traceback : Signal 7 (SIGBUS) received by PID 575909", "0: " + "=" * 54,
    "srun: error: hades: task 0: Exited with exit code 1", f"1: {AGENT.format('Sending process 345915 closing signal SIGTERM')}",
    *(f"1: {each}" for each in FRAMES), f"1: {LOST}", "srun: error: hercules: task 1: Exited with exit code 1",
]  # fmt: skip


def test_a_rank_that_died_silently_is_not_taken_for_the_node_that_spoke(tmp_path: Path) -> None:
    path = tmp_path / "slurm-1114.err"
    path.write_text("\n".join(BUS_ERROR) + "\n")
    diagnosis = examine([str(path)], prepared=PREPARED).diagnosis
    first, *others = diagnosis.outcome.findings
    assert (diagnosis.verdict, first.problem.id, first.where.rank) == ("unknown", "UNK002", 1)
    assert "SIGBUS" in first.words().headline
    assert [each.problem.id for each in others] == ["LCH020"]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["0: a", "1: b", "2: c"], RANKS),
        (["0: [rank0]: a", "1: [rank1]: b", "2: c"], RANKS),
        (["0: [rank0]: a", "1: [rank4]: b", "1: c"], NODES),
        (["0: a", f"1: {TORCHRUN.format('x')}", "1: c"], NODES),
        (["0: a", "1: [2026-03-16 13:16:31,409] [INFO] [launch.py:315:sigkill_handler] Killing", "1: c"], NODES),
        (["a", "b", TORCHRUN.format("x")], 0),
    ],
)
def test_what_a_task_number_stands_for(lines: list[str], wanted: int) -> None:
    assert labels_of(lines) == wanted


def test_a_node_is_no_rank() -> None:
    plain, ranked = strip("3: boom", slurm_labels=NODES), strip("3: [rank5]: boom", slurm_labels=NODES)
    assert (plain.process, plain.rank, plain.text) == ("task 3", None, "boom")
    assert (ranked.process, ranked.rank, ranked.text) == ("rank 5", 5, "boom")
    assert strip("3: boom", slurm_labels=RANKS).rank == 3
