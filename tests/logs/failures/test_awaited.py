"""What a run waits for against what its lines say is there, and runs that only look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare

BUNDLE = "INFO Placement group bundles: [{'GPU': 6, 'CPU': 60}]\nINFO Waiting for placement group to be scheduled\n"
FOLDERS = (
    "[writer] 21:05:44 INFO Writing rollouts to {written}\n[reader] 21:05:12 INFO Looking for runs in /data/out/run_*\n"
    "[reader] 21:05:12 INFO Waiting for a batch to arrive\n[reader] 21:07:12 INFO Waiting for a batch to arrive\n"
)
PAUSE = '(vLLM) INFO: "POST /pause_generation HTTP/1.1" 200 OK\n'
GO_ON = '(vLLM) INFO: "POST /continue_generation HTTP/1.1" 200 OK\n'
ENGINE = "(vLLM) INFO: Engine 000: Running: {running} reqs, Waiting: 64 reqs, GPU KV cache usage: 0.0%\n"
ENDED = "[orchestrator] 12:44:52 SUCCESS Orchestrator finished.\n"
SENDS = "[trainer] 12:45:21 INFO Broadcasting weights via NCCL\n"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def told(prepared: Prepared, folder: Path, text: str, context: str = "") -> str:
    (folder / "train.log").write_text(text, encoding="utf-8")
    (folder / "context.txt").write_text(context, encoding="utf-8")
    given = [folder / "context.txt"] if context else []
    outcome = examine([str(folder / "train.log")], context=given, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    return " | ".join(each.words().headline for each in outcome.findings)


@pytest.mark.parametrize(
    ("text", "context", "holds"),
    [
        (BUNDLE, "#SBATCH --nodes=1 --gres=gpu:8 --cpus-per-task=32", "a bundle of 60 CPU, and the node has 32"),
        (BUNDLE, "ray start --head --node-ip-address=$head --num-gpus=4", "a bundle of 6 GPU, and the node has 4"),
        (FOLDERS.format(written="/data/out/rollouts/step_0"), "", "another writes to `/data/out/rollouts/step_0`"),
        (PAUSE + 2 * ENGINE.format(running=0), "", "64 requests wait, none runs"),
        (ENDED + SENDS, "", "after `Orchestrator` ended"),
    ],
)
def test_what_is_missing_is_told(prepared: Prepared, tmp_path: Path, text: str, context: str, holds: str) -> None:
    assert holds in told(prepared, tmp_path, text, context)


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (BUNDLE, "#SBATCH --nodes=1 --gres=gpu:8 --cpus-per-task=64"),
        (BUNDLE, "#SBATCH --nodes=1 --gres=gpu:8 --cpus-per-task=8 --ntasks-per-node=8"),
        (BUNDLE, ""),
        # another node of the cluster may have what this one has not
        (BUNDLE, "#SBATCH --nodes=4 --gres=gpu:8 --cpus-per-task=32"),
        (BUNDLE, "ray start --address=10.0.0.1:6379 --num-cpus=32"),
        (FOLDERS.format(written="/data/out/run_default/rollouts/step_0"), ""),
        (FOLDERS.format(written="/scratch/tmp/rollouts"), ""),
        (PAUSE + GO_ON + 2 * ENGINE.format(running=0), ""),
        (PAUSE + 2 * ENGINE.format(running=3), ""),
        (2 * ENGINE.format(running=0), ""),
        (SENDS, ""),
        (SENDS + ENDED, ""),
    ],
)
def test_neighbours_are_left_alone(prepared: Prepared, tmp_path: Path, text: str, context: str) -> None:
    words = told(prepared, tmp_path, text, context)
    assert not any(each in words for each in ("a bundle of", "another writes to", "none runs", "a process sends"))
