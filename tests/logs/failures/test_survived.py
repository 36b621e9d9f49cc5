"""What a program caught or printed at its start, and another failure that ended it later."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
HEADER = "Traceback (most recent call last):\n"
PACKAGES = "/opt/conda/lib/python3.11/site-packages/"
IMPORTED = f"""{HEADER}  File "{PACKAGES}bitsandbytes/cextension.py", line 313, in <module>
    lib = get_native_library()
  File "{PACKAGES}bitsandbytes/cextension.py", line 282, in get_native_library
    raise RuntimeError(f"Configured CUDA binary not found at {{cuda_binary_path}}")
RuntimeError: Configured CUDA binary not found at {PACKAGES}bitsandbytes/libbitsandbytes_cuda128.so
"""
FETCHED = f"""{HEADER}  File "/home/u/proj/train.py", line 33, in fetch
    snapshot_download(name)
  File "{PACKAGES}huggingface_hub/utils/_http.py", line 400, in hf_raise_for_status
    raise _format(GatedRepoError, message, response) from e
huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1-1)

Cannot access gated repo for url https://huggingface.co/api/models/meta-llama/Llama-3.1-8B.
Access to model meta-llama/Llama-3.1-8B is restricted and you are not in the authorized list.
"""
BROKEN = f"""{HEADER}  File "/home/u/proj/train.py", line 80, in <module>
    main()
  File "{PACKAGES}weirdlib/core.py", line 10, in run
    raise Broken(phase)
weirdlib.core.Broken: the frobnicator is out of phase
"""
SLIP = f"""{HEADER}  File "/home/u/proj/train.py", line 80, in <module>
    main()
  File "/home/u/proj/train.py", line 12, in main
    return row["gold"]
KeyError: 'gold'
"""
STEPS = "".join(f"{{'loss': '0.1', 'grad_norm': '0.5', 'epoch': '{number}'}}\n" for number in range(2))
WARNED, FAILED = "WARNING:parts:could not load it\n", "2026-11-20 10:00:00,123 - parts - ERROR - could not load it\n"
MODULE = "train.sh: line 12: module: command not found\n"


UNKNOWN = ("UNK001", "cause", "likely")


def _top(text: str) -> str:
    return text.replace(HEADER, f'{HEADER}  File "/home/u/proj/train.py", line 3, in <module>\n    import it\n')


def _told(tmp_path: Path, text: str) -> list[tuple[str, str, str]]:
    (tmp_path / "train.log").write_text(text)
    findings = examine([str(tmp_path / "train.log")], prepared=PREPARED).diagnosis.outcome.findings
    return [(each.problem.id, each.role.value, each.confidence.value) for each in findings]


@pytest.mark.parametrize(("caught", "id_"), [(IMPORTED, "BNB002"), (FETCHED, "HUB003")])
@pytest.mark.parametrize("record", [WARNED, FAILED, ""])
def test_what_a_program_caught_and_went_on_after_did_not_end_it(
    tmp_path: Path, record: str, caught: str, id_: str
) -> None:
    told = _told(tmp_path, record + caught + STEPS + BROKEN)
    assert told == [("UNK001", "cause", "likely"), (id_, "contributing", "likely")]


def test_what_was_only_warned_of_needs_no_step(tmp_path: Path) -> None:
    told = _told(tmp_path, WARNED + IMPORTED + BROKEN)
    assert told == [("UNK001", "cause", "likely"), ("BNB002", "contributing", "likely")]


@pytest.mark.parametrize("record", [FAILED, ""])
def test_without_a_step_a_caught_failure_is_likely_and_the_end_is_listed(tmp_path: Path, record: str) -> None:
    told = _told(tmp_path, record + IMPORTED + BROKEN)
    assert told == [("BNB002", "cause", "likely"), ("UNK001", "symptom", "likely")]


def test_a_failure_of_another_program_was_not_caught(tmp_path: Path) -> None:
    other = BROKEN.replace("/train.py", "/evaluate.py")
    assert _told(tmp_path, _top(IMPORTED) + STEPS + other)[0] == ("BNB002", "cause", "likely")


def test_a_failure_that_came_alone_stays_proven(tmp_path: Path) -> None:
    assert _told(tmp_path, _top(IMPORTED) + STEPS) == [("BNB002", "cause", "confirmed")]


def test_a_failure_of_another_rank_was_not_caught(tmp_path: Path) -> None:
    def of(rank: int, text: str) -> str:
        return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())

    assert _told(tmp_path, of(1, IMPORTED) + STEPS + of(0, BROKEN))[0] == ("BNB002", "cause", "confirmed")


def test_a_line_before_any_step_does_not_hide_what_ended_the_process(tmp_path: Path) -> None:
    told = _told(tmp_path, MODULE + "loading the data set\n" + BROKEN)
    assert told == [("LCH052", "cause", "likely"), ("UNK001", "symptom", "likely")]


def test_a_cell_is_the_top_of_a_notebook(tmp_path: Path) -> None:
    cell = IMPORTED.replace(f'{PACKAGES}bitsandbytes/cextension.py", line 313, in <module>',
                            '/tmp/ipython-input-3.py", line 1, in <cell line: 1>()')  # fmt: skip
    assert _told(tmp_path, cell + STEPS + BROKEN)[0][:2] == ("BNB002", "cause")


# caught by a library, which prints it and goes on ------------------------------------------------------------------

PUSHED = FETCHED.replace('"/home/u/proj/train.py", line 33, in fetch', f'"{PACKAGES}mlflow/client.py", line 33, in log')
SCORED = f"""{HEADER}  File "{PACKAGES}verl/utils/reward_score/prime_code/testing_util.py", line 210, in run_test
    tmp = runtime_module.from_string("tmp_sol", "", sol)
  File "<string>", line 3, in <module>
ModuleNotFoundError: No module named 'flash_attn'
"""
SKIPPED = f"""{HEADER}  File "{PACKAGES}swift/llm/dataset/preprocessor/core.py", line 182, in batched_preprocess
    row = self.preprocess(row)
  File "{PACKAGES}swift/llm/dataset/preprocessor/core.py", line 370, in preprocess
    raise ValueError(f"messages: {{messages}}")
ValueError: messages: []

[ERROR:swift] There are errors in the dataset, the data will be deleted
"""
OF_HYDRA = f"""Error executing job with overrides: ['data.train_batch_size=8', 'trainer.n_gpus_per_node=8']
{HEADER}  File "{PACKAGES}verl/trainer/main_ppo.py", line 44, in main
    run_ppo(config)
  File "{PACKAGES}weirdlib/core.py", line 10, in run
    raise Broken(phase)
weirdlib.core.Broken: the frobnicator is out of phase

Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.
"""
REFUSED = BROKEN.replace("weirdlib.core.Broken: the frobnicator", "requests.exceptions.ConnectionError: the other end")
EACH_END = pytest.mark.parametrize("end", [BROKEN, OF_HYDRA], ids=["top", "hydra"])
EACH_LIBRARY = pytest.mark.parametrize(
    ("caught", "id_"), [(PUSHED, "HUB003"), (SCORED, "PYT3270/flash_attn")], ids=["hub", "verl"]
)


@EACH_END
@EACH_LIBRARY
def test_what_a_library_printed_is_likely_where_no_step_shows_more(
    tmp_path: Path, caught: str, id_: str, end: str
) -> None:
    told = _told(tmp_path, "loading\n" + caught + end)
    assert told == [(id_, "cause", "likely"), ("UNK001", "symptom", "likely")]


@EACH_LIBRARY
def test_what_a_library_printed_alone_stays_proven(tmp_path: Path, caught: str, id_: str) -> None:
    assert _told(tmp_path, "loading\n" + caught) == [(id_, "cause", "confirmed")]


def test_what_began_a_process_ended_it(tmp_path: Path) -> None:
    began = PUSHED.replace("mlflow/client.py", "multiprocess/process.py").replace("in log", "in _bootstrap")
    assert _told(tmp_path, began + STEPS + BROKEN)[0] == ("HUB003", "cause", "confirmed")


@pytest.mark.parametrize("caught", [PUSHED, _top(FETCHED)], ids=["library", "top"])
def test_an_end_that_only_lost_an_answer_may_be_an_echo(tmp_path: Path, caught: str) -> None:
    assert _told(tmp_path, caught + STEPS + REFUSED)[0] == ("HUB003", "cause", "confirmed")


def test_an_end_that_quotes_what_came_before_is_an_echo(tmp_path: Path) -> None:
    echo = BROKEN.replace("out of phase", "out of phase: 403 Client Error. (Request ID: Root=1-1)")
    assert _told(tmp_path, PUSHED + STEPS + echo)[0] == ("HUB003", "cause", "confirmed")


# at the top, without a word of whose they are ----------------------------------------------------------------------

EXIT = (
    "E1120 10:09:52.903000 7008 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
    "local_rank: 1 (pid: 7015) of binary: /usr/bin/python\n"
)
RECORDED = f"""{HEADER}  File "/opt/conda/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_10:00:10
  host      : node1
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 7015)
  error_file: /tmp/e/error.json
  traceback : Traceback (most recent call last):
    File "/opt/conda/lib/python3.11/site-packages/torch/distributed/elastic/errors/__init__.py", line 9, in wrapper
      return f(*args, **kwargs)
    File "/opt/conda/lib/python3.11/site-packages/weirdlib/core.py", line 10, in run
      raise Broken(phase)
  weirdlib.core.Broken: the frobnicator is out of phase

============================================================
"""


def _mixed(one: str, other: str) -> str:
    lines = zip_longest(one.splitlines(keepends=True), other.splitlines(keepends=True), fillvalue="")
    return "".join(line for pair in lines for line in pair)


def test_of_two_at_the_top_the_first_is_likely(tmp_path: Path) -> None:
    told = _told(tmp_path, "loading\n" + _top(FETCHED) + BROKEN)
    assert told == [("HUB003", "cause", "likely"), ("UNK001", "symptom", "likely")]


@pytest.mark.parametrize(
    "several", ["world_size: 2\n", "[rank1]: hello\n", "W1120 torch/distributed/run.py\n+ torchrun\n"]
)
def test_other_ranks_go_a_step_or_two_further(tmp_path: Path, several: str) -> None:
    told = _told(tmp_path, several + _top(FETCHED) + STEPS + BROKEN)
    assert told[:2] == [("HUB003", "cause", "likely"), ("UNK001", "symptom", "likely")]
    assert _told(tmp_path, several + _top(FETCHED) + STEPS * 3 + BROKEN)[0] == UNKNOWN


def test_what_torchrun_recorded_first_is_the_cause(tmp_path: Path) -> None:
    assert _told(tmp_path, _top(FETCHED) + BROKEN + RECORDED)[0] == UNKNOWN
    of_hub = RECORDED.replace("weirdlib.core.Broken: the frobnicator is out of phase", FETCHED.splitlines()[-4])
    assert _told(tmp_path, _top(FETCHED) + BROKEN + of_hub)[0] == ("HUB003", "cause", "confirmed")


@pytest.mark.parametrize("swapped", [False, True])
def test_two_whose_lines_stand_among_each_other_are_both_read(tmp_path: Path, swapped: bool) -> None:
    two = (BROKEN, _top(SCORED)) if swapped else (_top(SCORED), BROKEN)
    path = tmp_path / "train.log"
    path.write_text("loading\n" + _mixed(*two))
    found = examine([str(path)], prepared=PREPARED)
    assert {each.cause.name for each in found.case.failures} == {"ModuleNotFoundError", "Broken"}


def test_a_record_among_the_lines_of_its_own_traceback_keeps_its_frames(tmp_path: Path) -> None:
    whole = BROKEN.replace(HEADER, "").replace("in <module>", "in _bootstrap")
    path = tmp_path / "train.log"
    path.write_text("Process EngineCore_0:\n" + HEADER + PUSHED.replace("mlflow", "vllm").rstrip("\n") + "\n" + whole)
    read = examine([str(path)], prepared=PREPARED).case.failures
    assert [len(each.cause.frames) for each in read] == [2, 2]
