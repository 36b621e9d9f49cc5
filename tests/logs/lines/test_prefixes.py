"""What stands in front of lines, as programs print it."""

from __future__ import annotations

import pytest

from doctor.logs.lines.prefixes import has_slurm_labels, strip

CASES = [
    ("[rank1]: RuntimeError: boom", "rank 1", 1, "RuntimeError: boom"),
    ("[default1]:[rank1]:   File x", "rank 1", 1, "  File x"),
    ("[rank3]:[E227 16:30:43.526290891 ProcessGroupNCCL.cpp:1785] [PG ID 2] text", "rank 3", 3, "[PG ID 2] text"),
    ("(VllmWorker rank=0 pid=47465) ERROR 05-01 01:02:03 [multiproc_executor.py:470] x", "VllmWorker rank=0 pid=47465",
     0, "x"),
    ("(EngineCore_DP0 pid=77) ERROR 11-20 16:10:28 [core.py:1512]   File", "EngineCore_DP0 pid=77", None, "  File"),
    ("(APIServer pid=9) INFO:     127.0.0.1 - ok", "APIServer pid=9", None, "127.0.0.1 - ok"),
    ("\x1b[36m(WorkerDict pid=31484, ip=10.0.0.1)\x1b[0m INFO 03-05 09:19:14 worker.py:133] Sleep",
     "WorkerDict pid=31484, ip=10.0.0.1", None, "Sleep"),
    ("[36m(pid=23977)[0m [2026-11-20 15:15:11,138 E 23977 23977] logging.cc:113: x", "pid=23977", None,
     "logging.cc:113: x"),
    ("(head, rank=0, pid=4734) TimeoutError: x", "head, rank=0, pid=4734", None, "TimeoutError: x"),
    ("(worker1, rank=1, pid=12, ip=10.0.0.2) text", "worker1, rank=1, pid=12, ip=10.0.0.2", None, "text"),
    ("(raylet) text", "raylet", None, "text"),
    ("[2024-05-26 04:56:04,862] [INFO] [logging.py:96:log_dist] [Rank 2] step=1", "rank 2", 2, "step=1"),
    ("[2024-05-26 04:56:04,862] [INFO] [engine.py:1867:save] text", "", None, "text"),
    ("W1120 15:06:44.045000 6848 torch/distributed/elastic/multiprocessing/api.py:1028] Sending", "", None, "Sending"),
    ("2024-05-01T12:00:00.123456789Z stderr F [rank0]: hello", "rank 0", 0, "hello"),
    ('{"log":"\\u001b[31m[rank0]: boom\\n","stream":"stderr","time":"2024-05-01T12:00:00.1Z"}', "rank 0", 0, "boom"),
    ("ERROR 2025-04-05T00:01:19.209Z [2025-04-05 00:01:19 TP0] Scheduler hit", "", None, "Scheduler hit"),
    ("2026-11-20 15:15:07,805\tINFO worker.py:1852 -- Started", "", None, "Started"),
    ("11/20/2026 15:32:20 - INFO - __main__ - text", "", None, "text"),
    ("[INFO|trainer.py:123] 2024-01-01 10:00:00,123 >> Saving", "", None, "Saving"),
    ("2024-01-01 10:00:00.123 | ERROR | mod:fn:12 - text", "", None, "text"),
    (" 25%|██▌  | 1/4 [00:00<00:00,  8.59it/s][rank1]: Traceback (most recent call last):", "rank 1", 1,
     "Traceback (most recent call last):"),
    (" 52%|█████▏    | 31/60 [02:57<02:44,  5.68s/it]./run.sh: line 7:  1392 Killed     python train.py", "", None,
     "./run.sh: line 7:  1392 Killed     python train.py"),
    (" 52%|█████▏    | 31/60 [02:57<02:44,  5.68s/it, loss=1.2]  ", "", None,
     " 52%|█████▏    | 31/60 [02:57<02:44,  5.68s/it, loss=1.2]  "),
    ("worker-1  | text", "worker-1", None, "text"),
    # other trainers' own loggers
    ("(ActorWorker(actor_infer-0) pid=12266, ) text", "ActorWorker(actor_infer-0) pid=12266", None, "text"),
    ("\x1b[37m\x1b[1;38;2;180;140;80m(AReaL)\x1b[0m \x1b[37m20260412-23:25:24.142 ProcUtils INFO: text", "", None, "text"),
    ("[eval-rollout][31m[1;38;2;180;140;80m(AReaL)[0m [31m20260412-23:24:13.463 [RemoteInfEngine Rank 0] ERROR: x",
     "eval-rollout", None, "x"),
    ("[actor]     File x", "actor", None, "  File x"),
    ("[main] text", "", None, "[main] text"),  # not filled up: somebody's own print
    ("(MegatronPolicyWorker[rank=8] pid=32, ip=10.1.1.2)   File x", "MegatronPolicyWorker[rank=8] pid=32, ip=10.1.1.2",
     8, "  File x"),
    ("(MegatronTrainRayActor pid=32) [2025-12-17 14:10:28] model.py:649 - step 11: {}", "MegatronTrainRayActor pid=32",
     None, "step 11: {}"),
    ("21:01:26   ERROR Fatal error in orchestrate", "", None, "Fatal error in orchestrate"),
    ("21:01:26 SUCCESS Step 3", "", None, "Step 3"),
    ("21:01:26 elapsed", "", None, "21:01:26 elapsed"),
    ("(skyrl_entrypoint pid=12) 2025-08-30 12:00:00.123 | ERROR    | skyrl_train.trainer:train:100 - x",
     "skyrl_entrypoint pid=12", None, "x"),
    ("2025-08-30 12:00:00.123 | SUCCESS  | mod:fn:1 - x", "", None, "x"),
    ("2025-08-30:12:00:00,123 INFO     [evaluator.py:12] x", "", None, "    [evaluator.py:12] x"),
    ("[2025-08-02 22:57:24,293  |  asyncio  |  ERROR]:\tTask failed", "", None, "Task failed"),
    ("[2025-08-02 22:44:53,357 | INFO]: Backing off", "", None, "Backing off"),
    ("[2025-02-13 15:12:38,736][oumi][rank3][pid:11][MainThread][INFO]][train.py:326] x", "rank 3", 3, "x"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "process", "rank", "text"), CASES)
def test_layers_are_cut(line: str, process: str, rank: int | None, text: str) -> None:
    stripped = strip(line)
    assert (stripped.process, stripped.rank, stripped.text) == (process, rank, text)


@pytest.mark.parametrize(
    "line",
    ["{'loss': '0.1', 'epoch': '1'}", '{"a": 1}', "ValueError: [E1] wrong", "/home/user/a.py:12: FutureWarning: x",
     '  File "x.py", line 3, in f', "step:12 - actor/kl_loss:0.1", "tensor([3], dtype=x)"],
)  # fmt: skip
def test_lines_without_prefix_stay_as_they_are(line: str) -> None:
    assert strip(line).text == line
    assert strip(line).process == ""


def test_folded_lines_are_counted() -> None:
    stripped = strip("(WorkerDict pid=3) boom [repeated 7x across cluster]")
    assert (stripped.text, stripped.repeated) == ("boom", 7)


def test_slurm_labels_only_where_the_file_has_them() -> None:
    assert strip("3: boom", slurm_labels=True).rank == 3
    assert strip("3: boom").text == "3: boom"
    assert has_slurm_labels(["0: a", " 1: b", "12: c"])
    assert not has_slurm_labels(["0: a", "Traceback", "  File", "x"])


def test_a_megabyte_without_a_blank_costs_little() -> None:
    assert strip("[rank0]: " + "x" * (1 << 20)).rank == 0


@pytest.mark.parametrize(
    ("line", "process", "rank", "text"),
    [
        ("29.127.65.230: [rank3]: ValueError: no", "rank 3", 3, "ValueError: no"),
        ('worker-1.cluster: [rank12]:   File "a.py", line 3, in f', "rank 12", 12, '  File "a.py", line 3, in f'),
        ("10.0.0.7: Traceback (most recent call last):", "10.0.0.7", None, "Traceback (most recent call last):"),
        ("ValueError: [rank3] is not a rank", "", None, "ValueError: [rank3] is not a rank"),
        ("10.0.0.7:29500 is taken", "", None, "10.0.0.7:29500 is taken"),
    ],
)
def test_what_pdsh_writes_before_a_line(line, process, rank, text) -> None:
    told = strip(line)
    assert (told.process, told.rank, told.text) == (process, rank, text)


def test_a_clock_is_no_label_of_srun() -> None:
    lines = [f"05:{minute:02d}:21 SUCCESS Step {minute} | 18.2s | Loss 0.0013" for minute in range(20)]
    assert not has_slurm_labels(lines)
    assert has_slurm_labels([f"{task}: {lines[task]}" for task in range(8)])
    assert strip(f"3: {lines[0]}", slurm_labels=True).rank == 3
