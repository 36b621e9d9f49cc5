"""Mini projects of the cases of half 1 that leave a trace before launch: which are caught, and by what."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from doctor.base.fact import Context
from doctor.diagnosis.diagnose import Patient, diagnose
from doctor.diagnosis.report import as_dict
from tests.case_files import read_cases
from tests.checks.cases import states

PROJECTS: dict[str, dict[str, Any]] = read_cases(Path(__file__).with_name("projects.yaml"))
#: case -> the finding that names its cause
CAUGHT = {
    "accelerate-deepspeed-world-one": "PYT1494", "askanything-torch-after-vllm": "PYT014",
    "deepspeed-zero2-gradients-too-small": "PYT1494", "dstack-fabric-manager-version": "CUD011",
    "flash-attn-torch-23": "FLA003", "liquid-assistant-mask-all-zero": "DAT033",
    "megatron-fsdp-gradients-doubled": "PYT1494", "miles-fp8-rollout-gap": "PYT1494",
    "nccl-foreign-connection": "PYT1494", "nemorl-prefix-cache-outlives-weights": "PYT1494",
    "ollama-fabric-manager": "CUD011", "openr1-liger-without-logits": "PYT1494",
    "openrlhf-worker-use-ray": "PYT1494", "peft-llama-targets-on-bloom": "PFT004",
    "peft-targets-unknown-for-chatglm": "PFT004", "ray-wait-for-infeasible-group": "RAY012",
    "sglang-deepep-hidden": "PYT1494", "sglang-fp8-deepep-nan": "PYT1494", "sglang-update-weights-dp": "PYT1494",
    "swift-async-rollout-ignores-lora": "PYT1494",
    "swift-model-type-unregistered": "LCH6560/validator", "trl-top-k-top-p-gone": "PYT1494",
    "verl-fsdp-size-one-no-sync": "PYT1494", "vllm-other-torch": "PYT014",
    "vllm-qwen25vl-inductor-strides": "PYT1494",
}  # fmt: skip


FRESH: dict[str, dict[str, Any]] = {
    name: case
    for file in (
        "fresh.yaml",
        "fresh_two.yaml",
        "fresh_three.yaml",
        "fresh_four.yaml",
        "fresh_five.yaml",
        "fresh_six.yaml",
        "fresh_seven.yaml",
        "fresh_eight.yaml",
        "fresh_nine.yaml",
        "fresh_ten.yaml",
    )
    for name, case in read_cases(Path(__file__).with_name(file)).items()
}
#: case of the files -> the finding that names its cause; the first five of the first, the first two of each of the two
#: behind it, the first three of the fourth, the first four of the sixth and the first of the seventh were caught in the
#: first run, none of the fifth and of the eighth, two of the ninth and
#: five of the tenth
FRESH_CAUGHT = {
    "trl-two-sizes-of-a-generation": "TRL3814/twice", "vllm-heads-over-eight": "VLL9193/heads",
    "verl-key-of-the-other-trainer": "VRL001", "ttrl-keys-of-a-fork": "VRL001", "olmocr-groups-of-28": "TRL3814/groups",
    "trlx-batch-of-the-ds-file": "DSP004", "x-r1-name-of-a-newer-trl": "PYT5808/name",
    "verl-two-way-rollout-on-one-card": "LCH5095/verl_rollout", "liger-keyword-of-an-older-trl": "TRL2205/removed",
    "open-r1-demo-without-dataset": "LCH025", "vllm-fp8-cache-on-volta": "GPU7876/triton_fp8",
    "prismatic-torchrun-in-every-task": "LCH029", "vllm-container-without-shared-memory": "HST001",
    "transformers-reentrant-after-all": "PFT005", "unsloth-prompts-over-the-context": "TRL022",
    "verl-two-nodes-where-one-is": "RAY012",
    "medicalgpt-device-map-under-zero-three": "DSP023", "idefics-weights-in-half": "TRF018",
    "accelerate-node-number-of-the-first": "LCH029", "llamafactory-options-behind-the-file": "LCH025",
    "open-instruct-file-as-a-word": "TRL064", "llamafactory-resumes-from-nothing": "CKP004",
    "verl-rows-as-downloaded": "DAT1825/verl",
     "trl-prompts-over-the-servers-context": "TRL056",
    "trl-trainer-newer-than-transformers": "PYT0301/trl_newer_than_transformers",
    "sppo-transformers-too-old-for-vllm": "PYT014", "llamafactory-key-of-before": "TRL2205/frameworks",
    "peft-adapter-of-a-newer-release": "TRL2205/lora", "lightning-offload-as-a-word": "DSP008",
    "trl-old-beside-transformers-five": "PYT0301/trl_older_than_transformers",
    "openrlhf-batch-on-seven-cards": "DSP005", "var-node-three-of-one": "LCH029",
    "vllm-adapter-above-its-rank": "VLL5449/lora_rank",
    "nanochat-batch-of-no-whole-steps": "LCH6560/script",
    "sglang-flag-of-vllm": "TRL2205/sglang_server",
    "best-metric-never-computed": "TRF013", "grpo-eval-batch": "TRL3814/evaluation",
    "new-tokens-never-trained": "DAT3073/new_tokens_frozen", "warmup-longer-than-run": "TRF054/warm_up_beyond_the_run",
    "accelerate-eight-of-thirty-two": "ACC007", "ds-schedule-ends-at-1000": "DSP004", "neox-llama-targets": "PFT004",
    "no-set-device": "DAT3073/device_without_rank", "qwen-with-llama3-template": "DAT6124",
    "unfreeze-after-optimizer": "DAT3073/unfrozen_after_optimizer", "verl-reward-other-name": "VRL033",
    "yaml-rate-is-a-string": "TRF067",
    "rm-optimizer-before-peft": "DAT3073/optimizer_before_change",
    "accel-linear-per-micro": "DAT3073/schedule_in_every_small_batch",
    "ddp-filter-uneven": "DAT3073/filtered_after_sharding", "ddp-forward-past-wrapper": "DAT3073/forward_past_wrapper",
    "dpo-reference-is-the-base": "DAT3073/reference_from_path", "dpo-worst-first": "DAT3073/best_of_ascending",
    "eval-decodes-minus-100": "TRF032", "grpo-answers-by-index": "DAT3073/index_of_another_order",
    "grpo-pool-exception": "DAT3073/exception_not_unpickled", "pool-exit-in-sample": "DAT3073/sampled_code_may_exit",
    "rloo-integer-division": "DAT3073/share_floored", "save-tied-safetensors": "CKP010",
    "sft-labels-shifted-twice": "DAT3073/shifted_twice", "sft-split-after-augment": "DAT3073/split_after_copies",
    "stale-sampler": "DAT3073/state_rebound",
    "unsloth-engine-beside-full-training": "TRL044", "slurm-torchrun-on-one-node": "LCH029",
    "fsdp-flat-parameters-with-adapter": "FSD008", "ds-schedule-over-cosine": "DSP3770",
    "labels-of-padding": "DAT3073/padding_in_labels", "ppo-rewards-for-returns": "DAT3073/rewards_taken_for_returns",
    "openrlhf-reward-file-without-ray": "DAT062", "llamafactory-pairs-not-ranked": "DAT043",
    "trl-completions-cut-by-max-length": "TRL3133", "swift-port-of-another-server": "TRL012",
    "accelerate-schedule-steps-for-each-card": "DAT3073/schedule_in_every_process",
    "llamafactory-answers-are-objects": "DAT043", "transformers-optimizer-without-schedule": "DSP035",
    "trl-rollout-function-repeats-prompts": "DAT3073/prompts_repeated_twice",
    "soup-gold-dropped-by-the-loader": "DAT002", "verl-one-card-of-eight": "LCH5095/verl",
    "verl-rows-of-no-source": "VRL024", "axolotl-grpo-without-transform": "DAT1825/axolotl_pairs",
    "tsar-two-strategies": "LCH6560/source", "llamafactory-rope-of-a-newer-llama": "LCH6560/source",
    "vllm-enable-reasoning-gone": "TRL2205/vllm_server", "llamafactory-projector-key-of-before": "TRL2205/frameworks",
    "llamafactory-chat-with-training-file": "TRL2205/frameworks",
    "swift-tuner-type-of-the-next-major": "TRL2205/frameworks",
    "swift-sft-type-of-the-major-before": "TRL2205/frameworks",
    "swift-server-host-of-a-newer-release": "TRL2205/frameworks", "verl-tokens-below-one-sequence": "VRL3088/tokens",
    "open-proof-batch-below-its-part": "VRL3088/mini_above_batch", "skyrl-batch-below-the-cards": "VRL3088/skyrl",
    "llm-related-one-row-for-sixteen": "TRL3814/groups", "trl-grpo-before-it-was-released": "PYT5808/name",
}  # fmt: skip


def findings(project: dict[str, Any], folder: Path) -> set[str]:
    """Ids of what is found in a project, on a machine of which nothing else is known."""
    for name, text in project.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    packages = {"complete": False, **project.get("packages", {})}
    interpreter = {"executable": "/p/bin/python", "version": "3.11.7"}
    given = states({"interpreter": interpreter, "packages": packages, **project.get("facts", {})}, {})
    context = Context(tuple(shlex.split(project["command"])), folder, {"HOME": str(folder), "PATH": ""})
    report = as_dict(diagnose(context, [Patient(given, "projects.yaml")])[0])
    assert not report["crashed"]
    return {each["id"] for each in report["findings"]}


@pytest.mark.parametrize("case", sorted(name for name in PROJECTS if "not_built" not in PROJECTS[name]))
def test_project_before_launch(case: str, tmp_path: Path) -> None:
    found = findings(dict(PROJECTS[case]), tmp_path)
    if case in CAUGHT:
        assert CAUGHT[case] in found
    else:
        assert not found & {"PYT1494", "DAT033", "CUD011"}  # what a case does not have is not found in it


def test_most_cases_with_a_static_trace_are_caught() -> None:
    """Of all 48, those included of which no project can be built."""
    assert set(CAUGHT) <= {name for name in PROJECTS if "not_built" not in PROJECTS[name]}
    assert len(CAUGHT) * 2 > len(PROJECTS)


@pytest.mark.parametrize("case", sorted(FRESH))
def test_fresh_project_before_launch(case: str, tmp_path: Path) -> None:
    found = findings(dict(FRESH[case]), tmp_path)
    if case in FRESH_CAUGHT:
        assert FRESH_CAUGHT[case] in found
    else:
        assert not found & {*FRESH_CAUGHT.values()}  # what a case does not have is not found in it
