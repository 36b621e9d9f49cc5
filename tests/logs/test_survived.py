"""What a program caught or printed at its start, and another failure that ended it later."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine, prepare

PREPARED = prepare()
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


def test_a_failure_that_nobody_caught_stays_proven(tmp_path: Path) -> None:
    top = IMPORTED.replace(HEADER, f'{HEADER}  File "/home/u/proj/train.py", line 3, in <module>\n    import it\n')
    assert _told(tmp_path, top + STEPS + BROKEN)[0] == ("BNB002", "cause", "confirmed")


def test_a_failure_of_another_rank_was_not_caught(tmp_path: Path) -> None:
    def of(rank: int, text: str) -> str:
        return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())

    assert _told(tmp_path, of(1, IMPORTED) + STEPS + of(0, BROKEN))[0] == ("BNB002", "cause", "confirmed")


def test_a_line_before_any_step_does_not_hide_what_ended_the_process(tmp_path: Path) -> None:
    told = _told(tmp_path, MODULE + "loading the data set\n" + BROKEN)
    assert told == [("LCH052", "cause", "likely"), ("UNK001", "symptom", "likely")]


@pytest.mark.parametrize(
    ("line", "id_"), [(MODULE, "LCH052"), ("user@node2: Permission denied (publickey,password).\n", "LCH038")]
)
def test_a_slip_of_the_users_own_code_needs_no_line_before_it(tmp_path: Path, line: str, id_: str) -> None:
    told = _told(tmp_path, line + "loading the data set\n" + SLIP)
    assert told == [("UNK001", "cause", "likely"), (id_, "contributing", "likely")]


def test_a_cell_is_the_top_of_a_notebook(tmp_path: Path) -> None:
    cell = IMPORTED.replace(f'{PACKAGES}bitsandbytes/cextension.py", line 313, in <module>',
                            '/tmp/ipython-input-3.py", line 1, in <cell line: 1>()')  # fmt: skip
    assert _told(tmp_path, cell + STEPS + BROKEN)[0][:2] == ("BNB002", "cause")
