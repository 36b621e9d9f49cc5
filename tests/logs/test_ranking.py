"""Causes before symptoms: what comes first, and what is said where nothing is known."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from doctor.logs.postmortem import Postmortem, examine
from doctor.render.words import WORDS, chain_of
from tests.prepared import prepared_once

PREPARED = prepared_once()
HEADER = "Traceback (most recent call last):"
OWN = f"""{{p}}{HEADER}
{{p}}  File "/home/user/project/reward.py", line 12, in score
{{p}}    return table[key]
{{p}}LookupFailed: no score for this answer
"""
LOST = f"""{{p}}{HEADER}
{{p}}  File "/home/user/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 9, in all_gather
{{p}}    work.wait()
{{p}}RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:29825
"""
SCALE = f"""{{p}}{HEADER}
{{p}}  File "/home/user/venv/lib/python3.11/site-packages/deepspeed/runtime/fp16/loss_scaler.py", line 2, in update_scale
{{p}}Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.
"""
KILLED = (
    "E1120 15:06:52.903000 7008 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) "
    "local_rank: 1 (pid: 7015) of binary: /home/user/venv/bin/python\n"
)
DONE = "{'train_runtime': '12.5', 'train_loss': '0.1'}\n"
STEP = "{{'loss': '0.1', 'grad_norm': '0.5', 'epoch': '{n}'}}\n"


def _examine(tmp_path: Path, *texts: str, names: tuple[str, ...] = ("train.log",)) -> Postmortem:
    for name, text in zip(names, texts, strict=True):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path)] if len(names) > 1 else [str(tmp_path / names[0])]
    return examine(paths, prepared=PREPARED)


def _first(tmp_path: Path, text: str) -> str:
    """Id of the first finding."""
    return _told(_examine(tmp_path, text))[0][0]


def _told(result: Postmortem) -> list[tuple[str, str]]:
    return [(each.problem.id, each.role.value) for each in result.diagnosis.outcome.findings]


def test_a_rank_of_its_own_failure_comes_before_those_that_lost_it(tmp_path: Path) -> None:
    result = _examine(tmp_path, LOST.format(p="[rank0]: ") + OWN.format(p="[rank1]: "))
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.rank, result.ranked.verdict) == ("UNK001", 1, "unknown")
    assert "reward.py:12 (score)" in first.words().headline
    assert {each.role for each in result.ranked.chain if each.rank == 0} == {"symptom"}


def test_a_known_cause_comes_before_its_consequences(tmp_path: Path) -> None:
    result = _examine(tmp_path, LOST.format(p="[rank0]: ") + SCALE.format(p="[rank1]: "))
    assert _told(result)[0] == ("DSP018", "cause")
    assert result.ranked.verdict == "known"
    assert all(role == "symptom" for _, role in _told(result)[1:])


def test_what_an_actor_failed_to_import_comes_before_ray_saying_so(tmp_path: Path) -> None:
    nested = f"""(raylet) {HEADER}
  File "python/ray/_raylet.pyx", line 2276, in ray._raylet.task_execution_handler
  File "/home/user/venv/lib/python3.9/site-packages/ray/_private/function_manager.py", line 608, in temporary_actor_method
    raise RuntimeError(
RuntimeError: The actor with name WorkerDict failed to import on the worker. This may be because needed library \
dependencies are not installed in the worker environment:

{HEADER}
  File "/home/user/venv/lib/python3.9/site-packages/flash_attn/flash_attn_interface.py", line 15, in <module>
    import flash_attn_2_cuda as flash_attn_gpu
ImportError: /home/user/venv/lib/python3.9/site-packages/flash_attn_2_cuda.cpython-39-x86_64-linux-gnu.so: undefined \
symbol: _ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv
"""
    assert _told(_examine(tmp_path, nested)) == [("FLA003", "cause")]


@pytest.mark.parametrize(
    ("word", "headline"),
    [
        ("KeyboardInterrupt", "The run was interrupted in `selectors.py:416 (select)`"),
        ("KeyboardInterrupt: terminated", "SIGTERM stopped vLLM's server"),
    ],
)
def test_an_interrupted_run_lost_nobody(tmp_path: Path, word: str, headline: str) -> None:
    frame = '  File "/usr/lib/python3.11/selectors.py", line 416, in select\n    ready = self._selector.poll(timeout)\n'
    first = _examine(tmp_path, f"{HEADER}\n{frame}{word}\n").diagnosis.outcome.findings[0]
    assert first.problem.id == "UNK002"
    assert headline in first.words().headline
    both = _examine(tmp_path, LOST.format(p="[rank1]: ") + f"{HEADER}\n{frame}{word}\n")
    assert _told(both) == [("NCC015", "cause")]


OPTIMIZER = '  File "/env/lib/python3.11/site-packages/torch/optim/lr_scheduler.py", line 9, in get_lr\n    f(step)\n'
CALLED = {
    "own": ('  File "/home/user/sft.py", line 33, in warm\n    step < warmup\n', "PYT4665"),
    "installed": ('  File "/env/lib/python3.11/site-packages/pack/a.py", line 3, in warm\n    step < n\n', "TRF067"),
    "of a checkpoint": (
        '  File "/root/.cache/hub/transformers_modules/m/a.py", line 3, in warm\n    s < n\n',
        "TRF067",
    ),
    "generated": ('  File "<eval_with_key>.12", line 3, in warm\n    step < n\n', "TRF067"),
}


@pytest.mark.parametrize("called", CALLED)
def test_what_the_users_own_code_raises_below_a_library_says_nothing_of_the_library(
    tmp_path: Path, called: str
) -> None:
    frame, problem = CALLED[called]
    error = "TypeError: '<' not supported between instances of 'int' and 'str'\n"
    assert _first(tmp_path, f"{HEADER}\n{OPTIMIZER}{frame}{error}") == problem


def test_what_a_reward_function_raises_is_found_below_the_trainer(tmp_path: Path) -> None:
    reward = '  File "/home/user/rewards.py", line 3, in score\n    text["content"]\n'
    trainer = "/env/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py"
    caller = f'  File "{trainer}", line 9, in _calculate_rewards\n    f(prompts)\n'
    error = "TypeError: string indices must be integers, not 'str'\n"
    assert _first(tmp_path, f"{HEADER}\n{caller}{reward}{error}") == "DAT028"


def test_a_killed_rank_comes_before_those_that_lost_it(tmp_path: Path) -> None:
    result = _examine(tmp_path, LOST.format(p="[rank0]: ") + KILLED)
    assert _told(result)[0] == ("LCH018", "cause")


def test_a_time_out_names_the_absent_rank(tmp_path: Path) -> None:
    text = LOST.format(p="[rank0]: ").replace(
        "Connection closed by peer [127.0.0.1]:29825", "Timed out waiting 8000ms for recv operation to complete"
    )
    result = _examine(tmp_path, "world_size: 3\n" + text + text.replace("rank0", "rank2"))
    first = result.diagnosis.outcome.findings[0]
    assert first.problem.id == "NCC011"
    assert "Ranks 0, 2 waited 8 s" in first.words().headline
    assert "Rank 1 reports nothing" in first.words().explanation


def test_a_time_out_is_a_symptom_where_another_rank_failed_by_itself(tmp_path: Path) -> None:
    text = "[rank0]: RuntimeError: x.cc:78] Timed out waiting 8000ms for recv operation to complete\n"
    result = _examine(tmp_path, text + OWN.format(p="[rank1]: "))
    assert _told(result) == [("UNK001", "cause"), ("NCC011", "symptom")]


def test_ranks_are_ordered_by_time_where_files_have_clocks(tmp_path: Path) -> None:
    early = "\n".join(f"2026-11-20 15:00:01 {line}" for line in OWN.format(p="").splitlines())
    late = "\n".join(f"2026-11-20 15:00:09 {line}" for line in OWN.format(p="").replace("Lookup", "Later").splitlines())
    result = _examine(tmp_path, late, early, names=("rank0.log", "rank1.log"))
    first = result.diagnosis.outcome.findings[0]
    assert (first.where.rank, "LookupFailed" in first.words().headline) == (1, True)


def test_a_failure_that_the_run_got_over_is_not_the_cause(tmp_path: Path) -> None:
    steps = "".join(STEP.format(n=n) for n in range(12))
    result = _examine(tmp_path, OWN.format(p="") + steps + SCALE.format(p=""))
    assert _told(result)[0] == ("DSP018", "cause")


@pytest.mark.parametrize(("steps", "problem"), [(0, "BNB004"), (20, "UNK001")])
def test_a_failure_of_the_same_type_that_the_run_got_over_explains_nothing(
    tmp_path: Path, steps: int, problem: str
) -> None:
    known = "ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM\n"
    other = OWN.format(p="").replace("LookupFailed: no score", "ValueError: no score")
    going_on = "".join(STEP.format(n=n) for n in range(steps))
    assert _first(tmp_path, STEP.format(n=0) + known + going_on + other) == problem


def test_what_came_before_a_good_end_is_no_failure(tmp_path: Path) -> None:
    result = _examine(tmp_path, SCALE.format(p="") + STEP.format(n=1) + DONE)
    assert (_told(result), result.ranked.verdict) == ([], "healthy")


def test_an_exit_without_a_word_names_rank_and_signal(tmp_path: Path) -> None:
    result = _examine(tmp_path, LOST.format(p="[rank0]: ") + KILLED.replace("-9", "-11"))
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.rank) == ("UNK002", 1)
    assert "SIGSEGV" in first.words().headline


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("double free or corruption (!prev)\n", "SIGABRT"),
        ("*** stack smashing detected ***: terminated\n", "SIGABRT"),
        (
            "(TaskRunner pid=29) [2025-07-06 07:14:27,052 C 29 29] task_receiver.cc:219:  Check failed: valid \n",
            "SIGABRT",
        ),
        ("F0801 10:00:00.123456 1234 tensor_pipe.cc:101] Check failed: ptr != nullptr \n", "SIGABRT"),
        ("[gpu-12:345] *** Process received signal ***\n[gpu-12:345] Signal: Segmentation fault (11)\n", "SIGSEGV"),
    ],
)
def test_native_code_that_ends_its_process_is_a_failure(tmp_path: Path, text: str, signal: str) -> None:
    first = _examine(tmp_path, text).diagnosis.outcome.findings[0]
    assert first.problem.id == "UNK002"
    assert signal in first.words().headline


def test_a_log_that_stops_is_said_to_stop(tmp_path: Path) -> None:
    text = STEP.format(n=1) + " 40%|████      | 4/10 [00:02<00:03,  1.98it/s]\n"
    result = _examine(tmp_path, text)
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.confidence.value, result.ranked.verdict) == ("UNK003", "likely", "unknown")
    assert "step 4 of 10" in first.words().headline


REPORTS = Path(__file__).parents[1] / "pasted" / "samples"


@pytest.mark.parametrize("name", sorted(each.name for each in REPORTS.iterdir()))
def test_a_report_about_a_machine_is_no_log(name: str) -> None:
    first = examine([str(REPORTS / name)], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert first.problem.id == "UNK003"
    assert first.words().headline.startswith("This is an environment report")
    assert f"doctor check --from {REPORTS / name}" in first.words().remedy


def test_a_note_does_not_make_a_log_that_stops_healthy(tmp_path: Path) -> None:
    note = (
        "(raylet) [2025-03-02 11:56:40,776 E 451181 451210] (raylet) file_system_monitor.cc:111: /tmp/ray/session_1 is "
        "over 95% full, available space: 153012346880; capacity: 3721784041472. Object creation will fail if spilling "
        "is required.\n"
    )
    loading = "(WorkerDict pid=458683) Loading checkpoint shards: 100%|##########| 2/2 [00:00<00:00,  5.01it/s]\n"
    result = _examine(tmp_path, loading + note)
    findings = result.diagnosis.outcome.findings
    assert [(each.problem.id, each.role.value) for each in findings] == [
        ("UNK003", "cause"),
        ("RAY019", "contributing"),
    ]
    assert result.diagnosis.verdict == "unknown"


FLUSHED = (
    "[2026-05-01 15:31:37,388] [WARNING] [stage3.py:2274:step] 4 pytorch allocator cache flushes since last step. this "
    "happens when there is high memory pressure and is detrimental to performance.\n"
)


@pytest.mark.parametrize(
    ("end", "told", "verdict"),
    [
        ("", [("UNK003", "cause"), ("PRF008", "contributing")], "unknown"),
        ("{'train_runtime': 119.8, 'train_loss': 1.2, 'epoch': 1.0}\n", [("PRF008", "cause")], "known"),
    ],
)
def test_what_makes_a_run_slow_is_not_why_its_log_stops(
    tmp_path: Path, end: str, told: list[tuple[str, str]], verdict: str
) -> None:
    result = _examine(tmp_path, "loading the model\n" + FLUSHED * 6 + end)
    assert (_told(result), result.ranked.verdict) == (told, verdict)


def test_a_problem_says_itself_that_it_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.checks.perf import allocator_flushes

    monkeypatch.setattr(allocator_flushes, "PROBLEM", replace(allocator_flushes.PROBLEM, ends_run=True))
    result = _examine(tmp_path, "loading the model\n" + FLUSHED * 6)
    assert _told(result)[0] == ("PRF008", "cause")


def test_a_log_that_begins_with_a_report_and_stops_is_a_log(tmp_path: Path) -> None:
    lines = "".join(f"INFO 08-01 23:37:{second:02} [core.py:58] Initializing a V1 LLM engine\n" for second in range(9))
    result = _examine(tmp_path, (REPORTS / "torch_collect_env_cpu.txt").read_text("utf-8") + lines)
    first = result.diagnosis.outcome.findings[0]
    assert first.words().headline == "The log shows neither a failure nor the end of the run"


def test_the_noise_of_a_wanted_stop_is_silent(tmp_path: Path) -> None:
    text = (
        "(EngineCore pid=7) INFO 08-01 23:37:28 [core.py:1214] [shutdown] EngineCore: trigger received signal=SIGTERM\n"
        f"(APIServer pid=9) ERROR 08-01 23:37:28 [async_llm.py:704] {HEADER}\n"
        '(APIServer pid=9) ERROR 08-01 23:37:28 [async_llm.py:704]   File "/home/user/a.py", line 1, in output_handler\n'
        "(APIServer pid=9) ERROR 08-01 23:37:28 [async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore "
        "encountered an issue. See stack trace (above) for the root cause.\n"
    )
    assert _examine(tmp_path, text).ranked.verdict == "healthy"


def test_folded_evidence_is_said(tmp_path: Path) -> None:
    text = "(WorkerDict pid=5) loading [repeated 7x across cluster]\n" + OWN.format(p="(WorkerDict pid=6) ")
    result = _examine(tmp_path, text)
    assert "RAY_DEDUP_LOGS=0" in result.diagnosis.outcome.findings[0].words().remedy


def test_versions_outside_the_range_silence_a_problem(tmp_path: Path) -> None:
    text = (
        "INFO 06-02 10:11:12 [api_server.py:1044] vLLM API server version {version}\n"
        f"{HEADER}\n"
        '  File "/home/user/venv/lib/python3.11/site-packages/vllm/entrypoints/launcher.py", line 46, in serve_http\n'
        "AttributeError: 'State' object has no attribute 'engine_client'\n"
    )
    assert _told(_examine(tmp_path, text.format(version="0.8.5.post1")))[0][0] == "VLL001"
    assert _told(_examine(tmp_path, text.format(version="0.9.1")))[0][0] == "PYT4665"


@pytest.mark.parametrize("text", ["", "\n", "\x00\x01\x02", "}{][", "Traceback (most recent call last):\n", "ray::x"])
def test_anything_is_read_without_a_crash(tmp_path: Path, text: str) -> None:
    result = _examine(tmp_path, text)
    assert not result.ranked.crashed


def test_a_time_out_that_the_process_itself_reported_is_no_silent_end(tmp_path: Path) -> None:
    text = """{'train_runtime': 119.8, 'train_loss': 1.2, 'epoch': 2.57}
[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2778, \
OpType=_ALLGATHER_BASE, Timeout(ms)=1800000) ran for 1801649 milliseconds before timing out.
terminate called after throwing an instance of 'std::runtime_error'
  what():  [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2778, OpType=_ALLGATHER_BASE, \
Timeout(ms)=1800000) ran for 1801649 milliseconds before timing out.
ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 0 (pid: 5037) of binary: python
"""
    assert _first(tmp_path, text) == "NCC011"
    assert _first(tmp_path, "".join(f"> {line}\n" for line in text.splitlines())) == "NCC011"


def test_words_of_a_watchdog_that_another_line_tore_apart_are_no_failure_of_their_own(tmp_path: Path) -> None:
    torn = """[rank0]:[E405 03:51:41.285624929 ProcessGroupNCCL.cpp:688] [Rank 0] Watchdog caught collective operation \
timeout: WorkNCCL(SeqNum=404, OpType=_ALLGATHER_BASE, NumelIn=1140480, NumelOut=2280960, Timeout(ms)=600000) ran for \
600050 milliseconds before timing out.
terminate called after throwing an instance of 'c10::DistBackendError'
ERROR 04-05 03:52:41 [dump_input.py:72] Dumping input data for V1 LLM engine (v0.19.0) with config: model='Qwen'
  what():  [PG ID 3 PG GUID 4 Rank 0] Process group watchdog thread terminated with exception: [Rank 0] Watchdog \
caught collective operation timeout: WorkNCCL(SeqNum=404, OpType=_ALLGATHER_BASE, Timeout(ms)=600000) ran for 600050 \
milliseconds before timing out.
E0405 03:52:43.001000 4973 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: -6) local_rank: 0 \
(pid: 5071) of binary: python
"""
    assert _first(tmp_path, torn) == "NCC011"
    own = torn.replace("'c10::DistBackendError'", "'c10::OutOfMemoryError'")
    assert _first(tmp_path, own) == "UNK001"


def test_a_thread_that_ends_does_not_outrank_a_known_cause(tmp_path: Path) -> None:
    text = f"""Exception in thread ray_print_logs:
{HEADER}
  File "/opt/lib/python3.8/site-packages/IPython/__init__.py", line 30, in <module>
ImportError: too old
{HEADER}
  File "/home/user/run.py", line 1, in <module>
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
"""
    assert _first(tmp_path, text) == "MEM018"


def test_what_a_signature_calls_a_lost_peer_is_no_failure_of_its_own(tmp_path: Path) -> None:
    text = f"""[rank0]: {HEADER}
[rank0]:   File "/home/user/run.py", line 1, in <module>
[rank0]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, \
remote process exited or there was a network error, NCCL version 2.21.5
[rank0]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.
"""
    assert _first(tmp_path, text) == "NCC015"


def test_a_scale_that_fell_for_a_gradient_that_is_no_number_is_the_symptom(tmp_path: Path) -> None:
    steps = "".join(STEP.format(n=number) for number in range(6))
    broken = "{'loss': 'nan', 'grad_norm': 'nan', 'epoch': '0.7'}\n" * 3
    told = _told(_examine(tmp_path, steps + broken + SCALE.format(p="")))
    assert told[0] == ("NUM006", "cause")
    assert ("DSP018", "symptom") in told


def test_a_trainer_that_asks_servers_breaks_off_like_any_other(tmp_path: Path) -> None:
    asked = 'INFO:     127.0.0.1:40112 - "POST /generate HTTP/1.1" 200 OK\n'
    bar = "Training Progress:  20%|##        | 21/105 [10:00<40:00, 30.10s/it]\n"
    assert _told(_examine(tmp_path, asked * 3)) == []
    assert _told(_examine(tmp_path, asked * 3 + bar + asked)) == [("UNK003", "cause")]


def test_words_of_a_shell_and_of_a_tracker_are_no_failure(tmp_path: Path) -> None:
    conda = "CondaError: Run 'conda init' before 'conda deactivate'\n"
    router = f"""2025-03-20 06:57:43,368 WARNING MsgRouterThr:2891642 [router.py:message_loop():77] message_loop has been closed
{HEADER}
  File "/home/user/venv/lib/python3.11/site-packages/wandb/sdk/interface/router.py", line 70, in message_loop
    msg = self._read_message()
wandb.sdk.interface.router.MessageRouterClosedError
"""
    assert (
        _told(_examine(tmp_path, conda + "".join(STEP.format(n=n) for n in range(3)) + "Training done in 49 s\n")) == []
    )
    assert _told(_examine(tmp_path, DONE + router)) == []


def test_bars_in_a_file_of_srun_do_not_hide_its_labels(tmp_path: Path) -> None:
    """A bar that is drawn anew carries its task's number before the first drawing alone."""
    bars = "".join(
        f"{task}: \r" + "\r".join(f"Map: {n}%|#| {n}/100 [00:01<00:02]" for n in range(20)) + "\n" for task in range(4)
    )
    result = _examine(tmp_path, bars + OWN.format(p="1: [rank4]: "))
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.rank) == ("UNK001", 4)
    assert "reward.py:12 (score)" in first.words().headline


def test_a_traceback_in_a_warning_does_not_explain_a_later_failure(tmp_path: Path) -> None:
    warned = "(EngineCore pid=189) WARNING 06-11 01:28:03 [import_utils.py:408] "
    text = f"""{warned}{HEADER}
{warned}  File "/home/user/venv/lib/python3.12/site-packages/vllm/third_party/deep_gemm/__init__.py", line 9, in <module>
{warned}    from . import _C
{warned}ImportError: cannot import name '_C' from partially initialized module 'vllm.third_party.deep_gemm' (most likely due to a circular import)
"""
    failed = "(EngineCore pid=189) ERROR 06-11 01:28:58 [core.py:1199] "
    result = _examine(tmp_path, text + "INFO 06-11 01:28:04 [core.py:1] a line\n" * 3 + OWN.format(p=failed))
    assert _told(result)[0][0] == "UNK001"


LOGGED = f"""2026-11-20 10:00:00,123 - {{level}} - {{words}}
{HEADER}
  File "/home/user/project/verify.py", line 66, in verify
    raise TargetError("no gold")
verify.TargetError: no gold target
"""
MEMORY = f"""{HEADER}
  File "/home/user/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.25 GiB. GPU 0 has a total capacity of 79.10 GiB of \
which 2.12 GiB is free.
"""
OTHER = f"""{HEADER}
  File "/home/user/project/train.py", line 12, in main
    trainer.train()
project.AnswerError: 500
"""
WARNED, ERRED = (LOGGED.format(level=level, words="verify failed") for level in ("WARNING", "ERROR"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WARNED + MEMORY, "MEM"),
        (ERRED + MEMORY, "MEM"),  # what was caught and logged did not end the run
        (MEMORY + WARNED, "MEM"),
        (WARNED + OTHER, "AnswerError"),
        (WARNED, "TargetError"),  # there is nothing else to tell
        (f"2026-11-20 10:00:00,123 - INFO - retrying after: {MEMORY.splitlines()[-1]}\n{OTHER}", "AnswerError"),
        (ERRED + OTHER, "TargetError"),  # a server's words are the cause of what its client says
        (ERRED + STEP.format(n=1) + OTHER, "AnswerError"),  # a step later it had not ended the run
        (f"{OTHER}{ERRED}", "AnswerError"),
    ],
)
def test_what_was_caught_did_not_end_the_run(tmp_path: Path, text: str, told: str) -> None:
    first = _examine(tmp_path, text).diagnosis.outcome.findings[0]
    assert told in (first.problem.id + first.words().headline)


@pytest.mark.parametrize(
    ("inner", "place"),
    [
        ("/env/lib/python3.11/inspect.py", "rl.py:63 (map_dataset)"),
        ("/env/lib/python3.11/site-packages/torch/nn/modules/module.py", "rl.py:63 (map_dataset)"),
        ("/env/lib/python3.11/site-packages/datasets/load.py", "datasets/load.py:2431 (_call_impl)"),
    ],
)
def test_the_place_of_an_unknown_failure_is_not_in_the_standard_library(tmp_path: Path, inner: str, place: str) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/home/user/rl.py", line 63, in map_dataset\n    sig = told(fn)\n'
        f'  File "{inner}", line 2431, in _call_impl\n    raise TypeError(what)\nTypeError: nothing that is known\n'
    )
    first = _examine(tmp_path, text).diagnosis.outcome.findings[0]
    assert first.problem.id == "UNK001"
    assert first.words().headline.endswith(f"raised in `{place}`; no known problem matches")


def test_processes_that_fail_again_and_again_are_counted_once(tmp_path: Path) -> None:
    failure = 'Traceback (most recent call last):\n  File "/srv/job.py", line 3, in run\nValueError: bad {}\n'
    lines = (f"(Worker pid={1000 + number % 80}) {line}\n" for number in range(160)
             for line in failure.format(number).splitlines())  # fmt: skip
    log = tmp_path / "run.log"
    log.write_text("".join(lines))
    chain = [asdict(link) for link in examine([str(log)], prepared=PREPARED).ranked.chain]
    _, who, _, _ = chain_of({"chain": chain}, WORDS["en"])[0]
    assert who == ", ".join(f"Worker pid={1000 + number}" for number in range(4)) + " and 76 more processes"
