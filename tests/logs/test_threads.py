"""Fresh threads stay answered, and what answers them is tried apart from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.shared.numbers import meanings, numbers_in
from doctor.catalogue.shared.refusals import read, values_of
from doctor.logs.failures.spoken import of_message
from doctor.logs.failures.unrecognised import sentence_of
from doctor.logs.postmortem import Prepared, examine, prepare
from doctor.logs.told.lines import of_line

THREADS = Path(__file__).parent / "threads"
FOLDERS = sorted(each.parent for each in THREADS.glob("*/label.json"))
#: which mechanism answers: what its words hold
ANSWERS = {
    "agenticarxiv-max-seq-length": ("TRL2205/removed", "it is `max_length`"),
    "axolotl-max-prompt-length": ("PYT5808/parameter", "trl no longer has"),
    "eagle-allow-all-kernels": ("PYT5808/parameter", "was written for an older one"),
    "openproof-train-batch": ("LCH6560/verl", r"train_batch_size=16`.*ppo_mini_batch_size=128"),
    "openr1-create-model-card": ("PYT5808/parameter", "your code passes `finetuned_from`"),
    "prime-empty-batches": ("LCH8772", "has nothing left to work on: Step 3"),
    "primerl-max-vio-none": ("UNK001", r"What is `None` there is `tensors\['max_vio'\]\[-1\]`"),
    "ray-train-tmp-generator": ("PYT4665", r"\.tmp_generator` does not exist: it is in a folder that other processes"),
    "rlinf-extra-state": ("CKP7555/names", "also needs the extra state"),
    "skyrl-eval-partial-batch": ("UNK001", r"^assert len\(prompt_end_indices\) == train_batch_size · "),
    "sglang-think-end-token": ("LCH8772", "reasoning_parser=deepseek-v3"),
    "torch-iterable-uneven": ("NCC011", "fewer batches"),
    "trl-ci-sdpa-heads": ("TOR052", "do not fit in the attention: 4 and 8"),
    "trl-colocate-missing-llm": ("PYT4665", "reads its own `llm`, which nothing has set"),
    "trl-dpo-second-target-parameters": ("LCH8772", "refuses a second one.*Here `trl` asked"),
    "ttrl-mini-batch-zero": ("LCH6560/verl", r"rollout\.n=4.*n_gpus_per_node=8"),
    "unsloth-logits-as-hidden": ("TOR052", "The input of a layer is already 248320 wide"),
    "vllm-orig-mod": ("VLL036", "torch.compile's"),
    "vllm-peft-expert-lora": ("TOR052", r"`moe_intermediate_size` = 512, `hidden_size` = 2048"),
}
SHAPES = """Traceback (most recent call last):
  File "{path}", line 9, in {function}
    x = a + b
RuntimeError: The size of tensor a (4) must match the size of tensor b (8) at non-singleton dimension 1
"""


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def _label(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "label.json").read_text(encoding="utf-8")))


def _told(prepared: Prepared, log: Path, context: Path | None = None) -> tuple[str, str]:
    result = examine([str(log)], context=[context] if context is not None else [], prepared=prepared)
    assert not result.diagnosis.outcome.crashed
    first = result.diagnosis.outcome.findings[0]
    words = first.words()
    return first.problem.id, f"{words.headline}\n{words.explanation}\n{words.remedy}"


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_thread_is_answered(prepared: Prepared, name: str) -> None:
    folder = THREADS / name
    context = folder / "context.txt"
    found, words = _told(prepared, folder / "log.txt", context if context.is_file() else None)
    problem, holds = ANSWERS[name]
    assert found == problem
    assert re.search(holds, words, re.DOTALL), words


def test_labels_are_whole_and_patterns_are_patterns() -> None:
    labels = [_label(each) for each in FOLDERS]
    assert all(each["id"] == folder.name for each, folder in zip(labels, FOLDERS, strict=True))
    assert {each["half"] for each in labels} == {1, 2, 3}
    assert len({each["source"] for each in labels}) == len(labels)
    assert all(re.compile(pattern) for each in labels for pattern in each["answer_must_match"])


# --- the parts ---


def test_a_size_that_one_setting_has_is_that_setting() -> None:
    settings = {"hidden_size": 2048, "model.moe_intermediate_size": "512", "a": 64, "b": 64, "c": 64, "on": True}
    assert meanings(numbers_in("sizes 512, 2048, 64 and 1"), settings) == (
        (512, ("moe_intermediate_size",)), (2048, ("hidden_size",)),
    )  # fmt: skip


def test_names_alone_are_no_sentence() -> None:
    assert sentence_of("prompt") == ""
    assert sentence_of("'layers.0.weight'") == ""
    assert sentence_of("The first one failed. Then more.") == "The first one failed"
    assert len(sentence_of("word " * 200)) <= 180


def test_one_s_own_shapes_are_not_the_library_s(prepared: Prepared, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(SHAPES.format(path="/home/me/attention.py", function="attention"), encoding="utf-8")
    assert "in the attention" not in _told(prepared, log)[1]
    library = "/venv/lib/python3.12/site-packages/transformers/integrations/sdpa_attention.py"
    log.write_text(SHAPES.format(path=library, function="sdpa_attention_forward"), encoding="utf-8")
    assert "in the attention" in _told(prepared, log)[1]


@pytest.mark.parametrize(
    ("message", "sense"),
    [
        ("Adapter with name ref already exists. Please use a different name.", "taken"),
        ("default process group has already been initialized", "taken"),
        ("Collected 0 samples in this step, cannot continue training", "nothing_left"),
        ("no groups left after filtering", "nothing_left"),
    ],
)
def test_one_only_and_nothing_left(message: str, sense: str) -> None:
    understood = of_message("RuntimeError", message)
    assert understood is not None
    assert understood.sense == sense


@pytest.mark.parametrize(
    "message",
    [
        "step() has already been called since the last update().",  # of a call, not of a thing
        "`_is_root` should not have been set yet or should have been set to `False`",  # the library's own affair
        "the loss of the empty string",
    ],
)
def test_what_is_none_of_them(message: str) -> None:
    assert of_message("AssertionError", message) is None


def test_a_mark_of_a_template_compares_nothing() -> None:
    assert read("think_end_token '</think>' must encode to exactly one token") is None
    assert read("train_batch_size must be > ppo_mini_batch_size") is not None


def test_what_multiplies_a_batch_stands_beside_it() -> None:
    config = {"actor.ppo_mini_batch_size": "1", "rollout.n": "4", "trainer.n_gpus_per_node": "8", "lr": "1"}
    assert values_of(("actor.ppo_mini_batch_size",), config) == (
        "actor.ppo_mini_batch_size=1", "rollout.n=4", "trainer.n_gpus_per_node=8",
    )  # fmt: skip
    assert values_of(("lr",), config) == ("lr=1",)


def test_hydra_repeats_the_overrides() -> None:
    line = "Error executing job with overrides: ['actor_rollout_ref.rollout.n=8', '+data.x=null', 'trainer.nnodes=2']"
    said = {each.name: each.value for each in of_line(line, 1)}
    assert said["actor_rollout_ref.rollout.n"] == 8
    assert said["trainer.nnodes"] == 2
    assert not list(of_line(line[:70], 1))  # cut off
    assert not list(of_line("Error executing job with overrides: ['trainer.nnodes=2']", 1))  # of another program
