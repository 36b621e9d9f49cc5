"""Logs that stop where something was begun that has no time limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine
from tests.prepared import prepared_once

EXTENSION = "Using /root/.cache/torch_extensions/py310_cu118 as PyTorch extensions root...\n"
RENDEZVOUS = "[INFO] [comm.py:668:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl\n"
COMMUNICATOR = "INFO 08-31 09:50:46 pynccl.py:63] vLLM is using nccl==2.20.5\n"
CONNECTED = "NODE:23458:23665 [0] NCCL INFO comm 0x23ba7ea0 rank 0 nranks 2 cudaDev 0 busId 47000 - Init COMPLETE\n"
NOT_BEGUN = "Processed prompts:   0%|          | 0/16 [00:00<?, ?it/s]\n"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def headlines(tmp_path: Path, prepared: Prepared, text: str) -> dict[str, str]:
    log = tmp_path / "run.log"
    log.write_text(text)
    found = examine([str(log)], prepared=prepared).diagnosis.outcome.findings
    return {each.problem.id: each.words().headline for each in found}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (EXTENSION, "/root/.cache/torch_extensions/py310_cu118 may be locked"),
        (RENDEZVOUS, "not all of them arrived"),
        (COMMUNICATOR, "data between the GPUs may not arrive"),
        (CONNECTED + NOT_BEGUN, "after NCCL connected 2 ranks"),
    ],
)
def test_what_was_begun_last(tmp_path: Path, prepared: Prepared, text: str, told: str) -> None:
    assert told in headlines(tmp_path, prepared, "starting\n" + text).get("LCH023", "")


@pytest.mark.parametrize(
    "text",
    [
        EXTENSION + "Loading extension module fused_adam...\n",
        RENDEZVOUS + "[rank0] model loaded\n",
        COMMUNICATOR + "INFO 08-31 09:50:50 model_runner.py:879] Starting to load model\n",
        CONNECTED + NOT_BEGUN.replace("0%", "6%").replace("0/16", "1/16"),
        "{'loss': 0.5, 'grad_norm': 0.4, 'epoch': 0.1}\n 10%|#  | 1/10 [00:02<00:18, 2.0s/it]\n" + RENDEZVOUS,
        COMMUNICATOR + "RuntimeError: no\n",
    ],
)
def test_what_went_on(tmp_path: Path, prepared: Prepared, text: str) -> None:
    assert "LCH023" not in headlines(tmp_path, prepared, text)


WAITS = "14:22:55 INFO Pausing dispatcher to keep pace with the trainer. Waiting for new policy...\n"


def test_a_process_that_waits_after_another_one_has_finished(tmp_path: Path, prepared: Prepared) -> None:
    """https://github.com/PrimeIntellect-ai/prime-rl/issues/2912"""
    told = headlines(tmp_path, prepared, "14:21:46 INFO RL trainer finished!\n" + WAITS)
    assert told["LCH023"] == "The log ends while a process waits for new policy, after `trainer` ended"


def test_workers_and_data_that_have_ended_are_named(tmp_path: Path, prepared: Prepared) -> None:
    """https://github.com/thinking-machines-lab/tinker-cookbook/pull/480"""
    text = "INFO step 3 finished\nINFO No more data\nINFO worker 0 finished\nINFO worker 1 finished\nINFO Waiting for groups\n"
    assert headlines(tmp_path, prepared, text)["LCH023"] == (
        "The log ends while a process waits for groups, after `data`, `worker 0`, `worker 1` ended"
    )


def test_a_log_that_ends_with_words_of_waiting(tmp_path: Path, prepared: Prepared) -> None:
    text = "INFO: Application startup complete.\nINFO connecting to the trainer\nINFO Waiting for weights of step 3\n"
    assert headlines(tmp_path, prepared, text)["LCH023"] == "The log ends while a process waits for weights of step 3"


@pytest.mark.parametrize(
    "text",
    [
        WAITS + "14:21:46 INFO RL trainer finished!\n",
        "INFO Training finished\nINFO:     Waiting for application shutdown.\n",
        "INFO Training finished\nINFO Waiting for background tasks to complete.\n",
        WAITS + "RuntimeError: no\n",
    ],
)
def test_words_of_waiting_that_mean_nothing(tmp_path: Path, prepared: Prepared, text: str) -> None:
    assert "LCH023" not in headlines(tmp_path, prepared, text)
