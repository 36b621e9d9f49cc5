"""What a program says of itself is understood by its predicate, where no signature knows the sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.logs.failures.spoken import of_message
from doctor.logs.postmortem import Prepared, examine, prepare

SAID = "LCH8772"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def first(prepared: Prepared, tmp_path: Path, text: str, context: str = "") -> Finding:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    told = [tmp_path / "context.txt"] if context else []
    result = examine([str(tmp_path / "train.log")], context=told, prepared=prepared)
    assert not result.diagnosis.outcome.crashed
    return result.diagnosis.outcome.findings[0]


# --- messages of exceptions ---


@pytest.mark.parametrize(
    ("kind", "message", "sense"),
    [
        # https://github.com/vllm-project/vllm/blob/v0.10.0/vllm/distributed/device_communicators/pynccl.py
        (
            "AssertionError",
            "this nccl communicator is created to work on cuda:0, but the input tensor is on cpu",
            "devices",
        ),
        # https://github.com/modelscope/ms-swift/issues/10073
        (
            "AssertionError",
            "Label count mismatch: student=93, teacher=2964. Student and teacher must share the same response tokens.",
            "disagree",
        ),
        # https://github.com/THUDM/slime/issues/641
        (
            "AssertionError",
            "rope_theta in hf config 1000000.0 is not equal to rotary_base 10000, please check the config.",
            "disagree",
        ),
        # https://github.com/vllm-project/vllm/issues/12165
        (
            "ValueError",
            "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
            "beyond",
        ),
        # https://github.com/THUDM/slime/pull/249
        ("AssertionError", "data parallel group is not initialized", "not_set_up"),
        # https://github.com/sunnweiwei/FoldAgent/issues/13
        ("ValueError", "training_batch_size must be greater than ppo_mini_batch", "required"),
        # https://github.com/NVIDIA-NeMo/RL/pull/1861
        (
            "AssertionError",
            "There is a known accuracy issue.\nPlease choose either of these: 1. Set tp_size",
            "required",
        ),
        # https://github.com/verl-project/verl/pull/7924
        ("ZeroDivisionError", "integer division or modulo by zero", "by_zero"),
        ("ValueError", "model_type: 'internvl2_5-38b' is not registered.", "not_known"),
        ("Exception", "The wandb backend process has shutdown", "gone"),
    ],
)
def test_a_message_is_understood(kind: str, message: str, sense: str) -> None:
    understood = of_message(kind, message)
    assert understood is not None
    assert understood.sense == sense


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("KeyError", "'prompt' must be there"),  # a lookup that failed refuses nothing
        ("RuntimeError", "CUDA error: an illegal memory access was encountered; please set CUDA_LAUNCH_BLOCKING=1"),
        ("RuntimeError", "stack expects each tensor"),
        ("ValueError", "boom"),
        ("AssertionError", "loss=0.5, step=7"),  # figures that nobody compares
    ],
)
def test_a_message_without_a_predicate_stays_unknown(kind: str, message: str) -> None:
    assert of_message(kind, message) is None


def test_what_may_be_the_reason_is_not_what_is(prepared: Prepared, tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n  ...\nRuntimeError: No answer. This could be because the worker died.\n"
    )
    assert first(prepared, tmp_path, text).problem.id.startswith("UNK")
    firm = text.replace("This could be because the", "The")
    assert first(prepared, tmp_path, firm).words().headline.startswith("A process has ended or was not started")


def test_two_figures_are_named(prepared: Prepared, tmp_path: Path) -> None:
    text = "AssertionError: Label count mismatch: student=93, teacher=2964. They must share the same tokens.\n"
    finding = first(prepared, tmp_path, text)
    assert finding.problem.id == SAID
    assert finding.words().headline.startswith("student = 93 and teacher = 2964 do not agree: ")
    assert (finding.confidence.value, finding.severity.value) == ("likely", "warning")


def test_settings_that_a_refusal_names_stand_beside_it(prepared: Prepared, tmp_path: Path) -> None:
    context = "data.train_batch_size=32\nactor_rollout_ref.actor.ppo_mini_batch_size=128\ntrainer.nnodes=1\n"
    finding = first(
        prepared, tmp_path, "ValueError: training_batch_size must be greater than ppo_mini_batch\n", context
    )
    words = finding.words().headline
    assert "`data.train_batch_size=32`" in words
    assert "`actor_rollout_ref.actor.ppo_mini_batch_size=128`" in words
    assert "nnodes" not in words


def test_a_division_by_zero_is_told_by_the_setting_that_is_zero(prepared: Prepared, tmp_path: Path) -> None:
    text = "ZeroDivisionError: integer division or modulo by zero\n"
    finding = first(prepared, tmp_path, text, "trainer.n_gpus_per_node=0\ntrainer.nnodes=1\n")
    assert finding.words().headline == "The code divides by 0, and `trainer.n_gpus_per_node=0` is 0"
    assert first(prepared, tmp_path, text).problem.id == "UNK001"


# --- lines of a run ---


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        # https://github.com/areal-project/AReaL/issues/1419
        (
            "WARNING: GroupedRolloutWorkflow: 3/4 episodes returned results, using remaining results\n",
            "GroupedRolloutWorkflow leaves out: 3/4 episodes returned results, using remaining results",
        ),
        # https://github.com/verl-project/verl/issues/7177
        (
            (
                "(AgentLoopWorker pid=7) ERROR:2026-07-28 17:56:20,378:Failed to decode tool call: Expecting value\n"
                "(AgentLoopWorker pid=8) ERROR:2026-07-28 17:56:24,092:Failed to decode tool call: 'name' "
                "[repeated 5x across cluster]\n"
            ),
            "The program cannot read its input: Failed to decode tool call: Expecting value",
        ),
        # https://github.com/locuslab/open-unlearning/issues/178
        (
            (
                "/env/lib/python3.11/site-packages/torch/utils/checkpoint.py:31: UserWarning: None of the inputs have "
                "requires_grad=True. Gradients will be None\n  warnings.warn(\n"
            ),
            "No gradient passes: Gradients will be None",
        ),
        # https://github.com/rllm-org/rllm/issues/352
        (
            (
                "(TaskRunner pid=3) WARNING:2025-12-17 21:07:06,390:When assemble steps, detect the trajectory not "
                "accumulative at position 4688. Setting response_masks to all 0s. This is likely due to retokenization.\n"
            ),
            "The program leaves out: When assemble steps, detect the trajectory not accumulative",
        ),
        # https://github.com/huggingface/trl/issues/3466
        (
            "UserWarning: Merge lora module to 4-bit linear may get different generations due to rounding errors.\n",
            (
                "The program reports different results: Merge lora module to 4-bit linear may get different generations due to "
                "rounding errors"
            ),
        ),
        ("NaN detected! sampler: next_token_logits\n", "The program found NaN or infinity: NaN detected! sampler: "),
    ],
)
def test_a_line_is_understood(prepared: Prepared, tmp_path: Path, text: str, headline: str) -> None:
    finding = first(prepared, tmp_path, text)
    assert finding.problem.id == SAID
    assert finding.words().headline.startswith(headline)
    assert finding.words("zh").headline


def test_what_is_said_again_is_counted(prepared: Prepared, tmp_path: Path) -> None:
    text = "".join(f"WARNING: tokenization mismatch: {n} vs. {n + 2}. (ignored)\n" for n in (253, 260, 271))
    assert first(prepared, tmp_path, text).words().headline.endswith("(said 3 times)")


def test_a_run_under_way_that_skips_something_is_under_way(prepared: Prepared, tmp_path: Path) -> None:
    rows = "".join(
        f"{{'loss': {1 / step:.4f}, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': {step / 10}}}\n"
        for step in range(1, 8)
    )
    finding = first(prepared, tmp_path, f"Skipping import of cpp extensions\nFalling back to eager attention\n{rows}")
    assert finding.problem.id == "UNK003"
    assert "The log stops during a run" in finding.words().headline


def test_in_a_long_log_something_is_always_skipped(prepared: Prepared, tmp_path: Path) -> None:
    text = "".join(f"worker {number}: loading shard {number * 7} of the model\n" for number in range(80))
    assert first(prepared, tmp_path, f"{text}Skipping import of cpp extensions\n").problem.id == "UNK003"
