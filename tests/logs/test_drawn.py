"""Threads drawn for silent failures: those that are answered stay answered, by what answers them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare

THREADS = Path(__file__).parent / "drawn"
FOLDERS = sorted(each.parent for each in THREADS.glob("*/label.json"))
#: which finding comes first, and what its words hold
ANSWERS = {
    "areal-capacity-divided-twice": ("LCH023", "nothing works on the rest .capacity 0."),
    "chatlearn-context-parallel-sft": ("NUM1516", "the same with CP=1"),
    "hami-store-breaks": ("LCH020", "another process ended first"),
    "llamafactory-master-is-no-rank": ("LCH020", "rank 0 runs on 10.0.0.12"),
    "miles-flush-with-requests": ("LCH8772", "stopped waiting for: flushing cache"),
    "miles-sync-through-paused-memory": ("LCH8772", "--offload-train"),
    "mlite-router-coefficient": ("NUM1516", "the loss is the same in both"),
    "nemorl-refit-during-pipelined-forward": ("NUM006", "in_flight_weight_updates"),
    "primerl-only-the-master-waits": ("NCC011", "NCCL_READY"),
    "ray-workers-install-too-long": ("LCH8772", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"),
    "sglang-released-with-requests": ("LCH8772", "running-req = 37"),
    "simpletuner-unet-none": ("PYT4665", "`unet` was handed"),
    "slime-rollout-gpus-unset": ("PYT4665", "rollout_num_gpus"),
    "transformers-data-parallel-loss": ("NUM1516", "DataParallel"),
    "unsloth-engine-too-old-for-compilation": ("PYT4665", "compilation_config"),
    "verl-rollout-failure-as-end": ("LCH8772", "reports success"),
    "verl-same-samples-on-ranks": ("LCH8772", "print the same samples"),
    "verl-sync-cancels-rollout-task": ("LCH8772", "cancel 24 tasks"),
    "verl-val-kwargs-sglang": ("NUM1516", "val_kwargs"),
    "vllm-lora-batch-sharded": ("LCH8772", "enable_batch_sharded_sampling"),
    "vllm-peft-expert-adapter-dropped": ("NUM1516", "target_parameters"),
    "agenticarxiv-ids-are-names": ("PYT4665", "return_dict=False"),
    "aitoolkit-peft-backend": ("LCH8772", "PEFT backend is required"),
    "ric-string-columns": ("PYT4665", "Text is put into a tensor"),
    "qwen-lora-untrained-end": ("DAT3073/untrained_end", "modules_to_save"),
    "sieval-truncated-prediction": ("PYT4665", "`rollout` has no `prediction`"),
    "swift-dapo-accumulation": ("PYT1494", "second time"),
    "trl-ppo-negative-kl": ("RLX7581", "below 0"),
    "trlx-one-row-of-a-pair": ("PYT4665", "divides by `bs`"),
    "unsloth-v100-random-after-first": ("RLX004", "after the first update"),
    "accelerate-no-machine-rank": ("PYT4665", "option `machine_rank` is not set"),
    "modal-converter-takes-tp": ("VRL027", "total_model_size"),
    "peft-adapter-left-in-training": ("DAT3073/generates_in_training_mode", "model.eval"),
    "peft-wrapped-each-step": ("PYT4665", "get_peft_model"),
    "primerl-tail-evals": ("LCH023", "waits for new policy, after `trainer` ended"),
    "sft-text-with-generation-prompt": ("DAT3073/prompt_left_open", "add_generation_prompt"),
    "tinker-dataloader-exhausted": ("LCH023", "after `data`, `worker 0`, `worker 1` ended"),
    "torch-each-node-its-own-port": ("NCC8677/master", "4 machines use the rendezvous `localhost`"),
    "trl-pack-of-too-few": ("LCH8772", "at least yield one packed sequence"),
    "unsloth-create-new-function": ("PYT4665", "calls itself without end"),
    "unsloth-patch-cell-twice": ("PYT4665", "replaced twice"),
    "verifiers-empty-trajectory": ("PYT4665", "trajectory.*is empty"),
    "verl-mcp-tool-unassigned": ("PYT4665", "call_tool_result"),
    "accelerate-scheduler-per-process": ("DAT3073/schedule_in_every_process", "advances 4 steps"),
    "autocontext-length-256": ("RLX011", "max_completion_length=256"),
    "llmcourse-pad-is-eos": ("DAT3073/pad_is_end", "the end token"),
    "miles-async-ppo-denominator": ("RLX8389", "train_async.py"),
    "openrlhf-last-batch-dropped": ("DAT012", "64 rows.*128 prompts"),
    "openrlhf-sft-two-bos": ("DAT3073/rendered_twice", "add_special_tokens=False"),
    "soup-adapter-of-nan": ("NUM016", "train_on_responses_only"),
    "swift-top-k-processed": ("RLX8389", "top_p=0.9"),
    "alpaca-lora-resume-from-scratch": ("DAT3073/state_dict_replaced", "resumed run"),
    "helloagents-rate-of-sft": ("RLX004", "from 0.011"),
    "mbridge-end-never-a-target": ("LCH8772", "targets equal to 11: 0"),
    "nemorl-leave-one-out-normalized": ("RLX010", "use_leave_one_out_baseline"),
    "opendm-resume-weights-only": ("DAT3073/resume_of_weights_alone", "save_only_model=True"),
    "openr1-format-needs-one-line": ("DAT3073/dot_without_line_breaks", "format_reward"),
    "r1v-groups-interleaved": ("DAT3073/groups_interleaved", "repeat_interleave"),
    "searchr1-every-answer-a-group": ("RLX010", "each answer is in its own group"),
    "searchr1-observations-in-kl": ("RLX7581", "tool outputs"),
    "skyrl-step-wise-advantages": ("PYT1494", "skyrl 0.1.0"),
    "slime-no-sync-second-rollout": ("VRL027", "overlap-grad-reduce"),
    "transformers-logged-loss": ("NUM016", "16 accumulation steps"),
    "trl-accuracy-reads-the-thoughts": ("RLX020", "reasoning_accuracy_reward"),
    "trl-end-of-turn-not-trained": ("LCH8772", "does not learn to stop"),
    "trl-lora-rate-too-small": ("RLX001", "adapter"),
    "trl-sft-loss-times-accumulation": ("NUM016", "4 accumulation steps"),
    "unirl-truncated-scores-zero": ("RLX011", "from 0.53 to 0.36"),
    "verl-advantages-as-mask": ("DAT3073/other_quantity", "response_mask=advantages"),
    "verl-rejected-tokens-keep-reward": ("PYT1494", "rollout_rs"),
    "verl-garbled-after-second-update": ("RLX014", "stale weights"),
    "verl-lora-rollout-random": ("NUM016", "guesses among"),
    "vlmr1-lengths-shrink": ("RLX012", "loss_type"),
    "trl-adapter-folder-as-model": ("DAT3073/adapter_as_model", "is_trainable=True"),
    "trl-answers-truncated": ("NUM016", "max_length=64"),
    "trl-async-top-p": ("RLX8389", "top_p=0.9"),
    "trl-groups-all-equal": ("RLX010", "No group"),
    "trl-sft-frozen-adapter": ("NUM016", "every parameter is frozen"),
    "openinstruct-quantstate-item": ("PYT4665", "`quant_state` is a `QuantState`"),
    "swift-dpo-prompt-key": ("PYT4665", "Rows reach `_tokenize` without `prompt`"),
    "trl-cli-reward-model-unbound": ("PYT4665", "which the code path that ran has not set"),
    "trl-reward-weights-len": ("PYT4665", "was about to refuse something: Number of reward weights"),
    "unsloth-bf16-emulation": ("PYT4665", "does not take `including_emulation`"),
    "unsloth-router-indices": ("PYT4665", "unsloth-zoo"),
    "unsloth-tokenizer-call": ("PYT4665", "unsloth_compiled_cache"),
    "unsloth-gemma3-dpo-lists": ("DAT032", "processor in place of a tokenizer"),
    "swift-merge-bnb": ("LCH8772", "does not support merge-lora"),
    "mindbridge-param-groups": ("PYT4665", "The saved state has no `param_groups`"),
    "unsloth-qwen2vl-num-items": ("PYT4665", "does not take `num_items_in_batch`"),
    "unsloth-all-labels-masked": ("DAT055", "train_on_responses_only"),
    "unsloth-format-newlines": ("DAT3073/dot_without_line_breaks", "soft_format_reward_func.*re.DOTALL"),
    "cookbook-gold-unparsable": ("DAT3073/unparsed_is_right", "reference solution cannot be parsed"),
    "lmdeploy-cache-outlives-weights": ("RLX021", "prefix cache"),
    "nemorl-answers-doubled": ("PYT1494", "earlier answers"),
    "nemorl-reference-of-the-resumed": ("PYT1494", "takes the reference from the restored weights"),
    "trl-none-rewards-as-zero": ("PYT1494", "no reward function scored"),
    "trl-orpo-pads-in-labels": ("PYT1494", "padding"),
    "unsloth-gspo-groups-equal": ("RLX010", "group"),
    "verl-rfpp-tool-observation": ("PYT1494", "another estimator"),
    "llamafactory360-sp-loss": ("NUM1516", "sequence parallelism"),
    "loongforge-two-begins": ("LCH8772", "appears twice"),
    "skyrl-lora-kl-explodes": ("RLX014", "diverge"),
    "axolotl-accumulation-times-loss": ("NUM1516", "micro_batch_size"),
    "gemma3-accumulation": ("NUM1516", "gradient_accumulation_steps"),
    "trl-chatml-no-eos": ("DAT3073/pad_is_end", "the end token"),
    "swift-reward-zero-sixteen-tokens": ("RLX011", "max_completion_length=16"),
    "eto-dpo-constant-ln2": ("NUM018", "no token of the answers"),
    "trl-dpo-reference-other": ("NUM018", "9.77 and 5.69"),
    "toolrl-kl-sign": ("DAT3073/kl_subtracted", "subtracted"),
    "swift-sleep-two-lora": ("PYT1494", "sleep_level"),
    "unsloth-llama3-markers-on-chatml": ("DAT3073/markers_of_other_template", "train_on_responses_only"),
    "areal-staleness-after-recover": ("RLX015", "stale: "),
    "fai-beta-not-forwarded": ("RLX016", "rewards/correctness"),
    "finetrainers-norm-after-deepspeed": ("NUM016", "get_global_grad_norm"),
    "liger-reduction-none": ("NUM016", "reduction='none'"),
    "llamafactory-base-model-end": ("DAT3984", "is a base model"),
    "llamafactory-gemma3-pretrain": ("NUM1516", "num_items_in_batch"),
    "llamafactory-llama3-template-on-base": ("DAT3984", "Meta-Llama-3-8B"),
    "llamafactory-llava-accumulation": ("NUM1516", "num_items_in_batch"),
    "llamafactory-template-on-base": ("DAT3984", "is a base model"),
    "llamafactory-vl-instruct-thinks": ("PYT1494", "_nothink"),
    "llmstool-reference-is-the-model": ("NUM018", "deepcopy"),
    "marin-temperature-in-the-ratio": ("DAT3073/temperature_left_out", "temperature"),
    "mbridge-gptoss-down-proj": ("NUM1516", "0.54"),
    "nemogym-model-server-gone": ("RLX009", "tool_calls/empty_fraction"),
    "openr1-base-keeps-its-end": ("DAT3984", "Qwen2.5-1.5B"),
    "openr1-base-never-stops": ("DAT3984", "Qwen2.5-Math-7B"),
    "openr1-loss-begins-at-zero": ("RLX8211", "share of the KL"),
    "peft-append-returns-none": ("DAT3073/result_is_none", "append"),
    "peft-wrapped-before-load": ("DAT3073/wrapped_before_load", "second|again"),
    "psft-loss-is-one": ("RLX8211", "ratio of the policies is 1"),
    "qwen3vl-shuffle-per-rank": ("DAT3073/shuffled_in_every_process", "8 processes"),
    "rllm-opening-think-never-there": ("DAT3073/opening_think_asked", "closing tag"),
    "smolcourse-no-end-token": ("DAT3984", "padding token is the end token"),
    "swift-base-eos": ("DAT3984", "is a base model"),
    "swift-think-encoded": ("RLX015", "history differs"),
    "trl-prompt-completion-without-end": ("DAT3984", "completion"),
    "trl-simpo-empty-completion": ("NUM006", "an answer without a token"),
    "trl-think-format-prefilled": ("DAT3073/opening_think_asked", "closing tag"),
    "unsloth-loss-zero-is-well": ("RLX8211", "share of the KL"),
    "verl-on-policy-is-one-off": ("RLX015", "keeps sampling"),
    "verl-one-step-off-cancels": ("RLX012", "requests are aborted"),
    "veomni-weights-never-loaded": ("NUM016", "11.93"),
    "colossalai-vocab-over-tp": ("CKP7555/shapes", "[Vv]ocabular"),
    "epfllm-padded-vocabulary": ("CKP7555/megatron", "saved with `padded_vocab_size` = 32000"),
    "torch-one-of-two-joined": ("LCH020", "torchrun --nproc_per_node=2"),
    "slinky-name-not-resolved": ("LCH011", "slinky-0"),
    "lmops-two-vocabularies": ("TRF062", "152064"),
    "mbridge-padded-twice": ("TOR052", "151936 is 2 times 75968"),
    "accelerate-eager-adagrad": ("PYT4665", "Adagrad"),
    "accelerate-fsdp2-compiled-names": ("PYT4665", "_orig_mod"),
    "llamafactory-cutoff-drops-end": ("DAT3984", "cutoff_len=100"),
    "mlxlm-mask-past-the-end": ("NUM016", "mask_prompt"),
    "nemorl-forked-writers": ("HST029", "spawn"),
    "openinstruct-zero2-boundary": ("DAT3073/accumulated_twice", "ZeRO stage 2"),
    "primerl-offloaded-broadcast": ("LCH8772", "fsdp_cpu_offload"),
    "primerl-broadcast-cleaned": ("PYT4665", "was removed before it was read"),
    "trl-teacher-of-another-tokenizer": ("DAT3073/teacher_of_another_vocabulary", "another vocabulary"),
    "megatronlm-converts-whole-rows": ("TOR052", "share of one rank"),
    "megatronlm-mask-not-sharded": ("TOR052", "`tensor_model_parallel_size` is 4"),
    "nemo-positions-of-another-length": ("CKP7555/megatron", "resum"),
}


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def _first(prepared: Prepared, folder: Path) -> tuple[str, str]:
    context = [each for each in (folder / "context.txt",) if each.is_file()]
    outcome = examine([str(folder / "log.txt")], context=context, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    first = outcome.findings[0]
    words = first.words()
    return first.problem.id, f"{words.headline}\n{words.explanation}\n{words.remedy}"


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_thread_is_answered(prepared: Prepared, name: str) -> None:
    found, words = _first(prepared, THREADS / name)
    problem, holds = ANSWERS[name]
    assert (found, bool(re.search(holds, words, re.DOTALL))) == (problem, True), words


def test_labels_are_whole() -> None:
    labels: list[dict[str, Any]] = [json.loads((each / "label.json").read_text(encoding="utf-8")) for each in FOLDERS]
    assert [each["id"] for each in labels] == [each.name for each in FOLDERS]
    assert len({each["source"] for each in labels}) == len(labels)
    assert {each["log_origin"] for each in labels} == {"reconstructed", "paraphrased", "quoted"}
    assert all(re.compile(pattern) for each in labels for pattern in each["answer_must_match"])
