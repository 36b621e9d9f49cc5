"""Scripts with one planted mistake each and scripts that are well, with what `doctor rehearse` is to say of them.

`caught` is where the mistake shows: a finding's id, or the phase that breaks. A script that is well has neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

#: variables of the place where the programs and their data lie
ROOT = Path(__file__).parents[2]
BASE, SMALL, PROGRAMS = "{stage}/base", "{stage}/small", "{programs}"


@dataclass(frozen=True)
class Case:
    """One script.

    Args:
        words: of the command behind the interpreter; `torchrun` in front asks for two processes.
        finding: id that must be told; "" where a broken phase tells it.
        phase: that must break.
        options: of `doctor rehearse`.
        beside: folder of other releases beside the interpreter, "trl-0.17".
        alone: its script holds no other case, so that what is read in it is its own.

    """

    words: tuple[str, ...]
    finding: str = ""
    phase: str = ""
    options: tuple[str, ...] = ()
    beside: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    alone: bool = False

    @property
    def well(self) -> bool:
        """Whether nothing is wrong with it."""
        return not (self.finding or self.phase)


def _train(name: str, model: str = SMALL) -> tuple[str, ...]:
    return (f"{PROGRAMS}/train.py", model, name)


def _mistake(name: str, finding: str = "", phase: str = "") -> Case:
    return Case(_train(name), finding, phase, ("--no-resume",))


def _of_pool(name: str, finding: str = "", phase: str = "") -> Case:
    return Case((f"{PROGRAMS}/pool.py", SMALL, name), finding, phase, ("--no-resume",))


def _of_trl(name: str, data: str, *more: str) -> Case:
    """A script that TRL's wheel brings, as its documentation starts it."""
    given = {
        "model_name_or_path": BASE, "dataset_name": f"{{stage}}/public/{data}", "output_dir": "out", "use_cpu": "True",
        "bf16": "False", "report_to": "none", "per_device_train_batch_size": "4",
    }  # fmt: skip
    return Case(
        ("-m", f"trl.scripts.{name}", *(word for key, each in given.items() for word in (f"--{key}", each)), *more)
    )


def _unusual(name: str, finding: str = "", phase: str = "", *, processes: bool = False, beside: str = "") -> Case:
    words = (f"{PROGRAMS}/unusual.py", SMALL, name)
    variables = {"PYTHONPATH": str(ROOT)}  # its scripts import `doctor`, as an installed one is imported
    return Case(("torchrun", *words) if processes else words, finding, phase, beside=beside, variables=variables)


def _thread(name: str, finding: str = "", phase: str = "", *, processes: bool = False, beside: str = "") -> Case:
    words = (f"{PROGRAMS}/threads.py", SMALL, name)
    options = ("--no-resume",) if finding or phase else ()
    return Case(("torchrun", *words) if processes else words, finding, phase, options, beside)


_REWARD = ("--reward_funcs", "think_format_reward", "--num_generations", "4")


def _drawn(name: str, finding: str = "", phase: str = "", *more: str, processes: bool = False) -> Case:
    words = (f"{PROGRAMS}/drawn.py", SMALL, name)
    return Case(("torchrun", *words) if processes else words, finding, phase, ("--no-resume", *more))


def _later(name: str, finding: str = "", phase: str = "", *more: str, processes: bool = False) -> Case:
    words = (f"{PROGRAMS}/later.py", SMALL, name)
    return Case(("torchrun", *words) if processes else words, finding, phase, ("--no-resume", *more))


def _plain(name: str, finding: str = "", phase: str = "") -> Case:
    options = ("--no-resume",) if finding or phase else ()
    return Case((f"{PROGRAMS}/plain/{name}.py", SMALL), finding, phase, options, alone=True)


def _public(name: str, finding: str = "", phase: str = "", *, processes: bool = False) -> Case:
    options = ("--no-resume",) if finding or phase else ()
    words = (f"{PROGRAMS}/public/{name}.py", SMALL)
    return Case(("torchrun", *words) if processes else words, finding, phase, options, alone=True)


def _colleague(name: str, finding: str = "", phase: str = "", *more: str) -> Case:
    words = (f"{PROGRAMS}/colleague/{name}.py", SMALL)
    several = "deepspeed" in name or name == "accelerate_gathers_on_main"
    return Case(("torchrun", *words) if several else words, finding, phase, more, alone=True)


def _of_loop(name: str, finding: str = "") -> Case:
    return Case((f"{PROGRAMS}/loops.py", SMALL, name), finding)


WELL = {
    "pool-right": _of_pool("right"),
    "grpo-7b": Case(_train("right", BASE)),
    "grpo-evaluation": Case(_train("right-eval")),
    "grpo-lora": Case(_train("right-lora")),
    "grpo-bf16-warmup": Case(_train("right-bf16")),
    "grpo-conversations-7b": Case((f"{PROGRAMS}/chat.py", BASE, "right")),
    "grpo-two-processes": Case(("torchrun", f"{PROGRAMS}/chat.py", SMALL, "right")),
    "grpo-zero1": Case(("torchrun", f"{PROGRAMS}/chat.py", SMALL, "right", f"{PROGRAMS}/zero1.json")),
    "grpo-zero2": Case(("torchrun", f"{PROGRAMS}/chat.py", BASE, "right", f"{PROGRAMS}/zero2.json")),
    "grpo-zero3": Case(("torchrun", f"{PROGRAMS}/chat.py", BASE, "right", f"{PROGRAMS}/zero3.json")),
    "zero3-null": Case(
        ("torchrun", f"{PROGRAMS}/chat.py", SMALL, "right", f"{PROGRAMS}/zero3.json"), options=("--null",)
    ),
    "zero3-scale-real": Case(
        ("torchrun", f"{PROGRAMS}/chat.py", SMALL, "right", f"{PROGRAMS}/zero3.json"), options=("--scale", "real")
    ),
    "sft": Case((f"{PROGRAMS}/sft.py", SMALL, "right")),
    "loop": Case((f"{PROGRAMS}/loop.py", BASE)),
    "loop-adapter": _of_loop("right"),
    "loop-tasks": _of_loop("right-tasks"),
    "loop-own-loss": _of_loop("right-own-loss"),
    "engine-follows": Case((f"{PROGRAMS}/engine.py", SMALL, "right"), options=("--no-resume",)),
    "null": Case(_train("right"), options=("--null",)),
    "resume-same": Case(_train("resume-same"), options=("--no-resume",)),
    "null-optimizer-of-mine": Case(_train("optimizer-of-mine"), options=("--null", "--no-resume")),
    "scale-tiny-memory": Case(_train("long-in-little-memory"), options=("--no-resume",)),  # what it cannot see
    "scale-real": Case(_train("right"), options=("--scale", "real")),
    # of TRL itself
    "trl-script-sft": _of_trl("sft", "sft"),
    "trl-script-sft-lora": _of_trl("sft", "sft", "--use_peft", "--eval_strategy", "steps", "--eval_steps", "100"),
    "trl-script-dpo": _of_trl("dpo", "pairs"),
    "trl-script-kto": _of_trl("kto", "kto"),
    "trl-script-reward": _of_trl("reward", "pairs"),
    "trl-script-grpo": _of_trl("grpo", "prompts", *_REWARD),
    "trl-script-rloo": _of_trl("rloo", "prompts", *_REWARD),
    # of unusual shape
    "unusual-own-loop": _unusual("own-loop"),
    "unusual-accelerate-two": _unusual("accelerate-two", processes=True),
    "unusual-lora-saves": _unusual("lora-saves"),
    "unusual-stream": _unusual("stream"),
    "unusual-reward-object": _unusual("reward-object"),
    "unusual-own-trainer": _unusual("own-trainer"),
    # after public threads
    "threads-trainer-best": _thread("trainer-best"),
    "threads-accelerate-accumulates": _thread("accelerate-accumulates"),
    "threads-reward-cached": _thread("reward-cached"),
    "threads-zero3-gathers": _thread("zero3-gathers", processes=True),
    "threads-lora-goes-on": _thread("lora-goes-on"),
    "threads-dpo-adapter": _thread("dpo-adapter"),
    "threads-reentrant-later": _thread("reentrant"),  # by now the model sees to it
    # drawn last
    "later-steps-both": _later("steps-both"),
    "later-saves-gathered": _later("saves-gathered", processes=True),
    "later-teacher-same": _later("teacher-same"),
    # plain scripts, one a file
    **{
        f"plain-{each}": _plain(each)
        for each in (
            "right_sft_packed",
            "right_dpo_smoothed",
            "right_grpo",
            "right_ppo",
            "right_reward_model",
            "right_contrastive",
        )
    },
    # after public threads, one a file
    **{
        f"public-{each}": _public(each)
        for each in (
            "right_accelerate_accumulates",
            "right_distill_logs",
            "right_gsm8k_rewards",
            "right_ppo_lora_value_head",
            "right_dpo_adapter",
            "right_grouped_decay",
            "right_reinforce_leave_one_out",
        )
    },
    "public-right_zero2_schedule": _public("right_zero2_schedule", processes=True),
    "public-right_zero2_warmup": _public("right_zero2_warmup", processes=True),
    # as a colleague would write them, one a file
    **{
        f"colleague-{each}": _colleague(each)
        for each in ("right_tool_loop", "right_sorted_judge", "right_loop_resumes", "right_deepspeed_loop")
    },
    # of earlier releases
    "trl-0.17": Case(_train("right", BASE), beside="trl-0.17"),
    "trl-0.14": Case(_train("right", BASE), beside="trl-0.14"),
}

MISTAKES = {
    # rewards
    "reward-raises-on-empty": _mistake("reward-raises-on-empty", "DAT9584"),
    "reward-no-match": _mistake("reward-no-match", phase="reward"),
    "reward-text-with-number": _mistake("reward-text-with-number", "RLX5519"),
    "reward-longer-is-better": _mistake("reward-longer-is-better", "RLX5519"),
    "reward-always": _mistake("reward-always", "RLX5519"),
    "reward-other-tag": Case(
        (f"{PROGRAMS}/chat.py", SMALL, "other-tag"), "RLX5519", options=("--offline", "--no-resume")
    ),
    "reward-draws": _mistake("reward-draws", "RLX1239"),
    "reward-backtracks": _mistake("reward-backtracks", "DAT9584"),
    "reward-sleeps": _mistake("reward-sleeps", "PRF5034"),
    "reward-one-too-few": _mistake("reward-one-too-few", phase="reward"),
    "reward-misses-column": _mistake("reward-misses-column", phase="reward"),
    "reward-reads-messages": _mistake("reward-reads-messages", phase="reward"),
    "reward-of-strings": Case((f"{PROGRAMS}/chat.py", SMALL, "strings"), phase="reward"),
    # data
    "data-prompt-renamed": _mistake("data-prompt-renamed", phase="any"),
    "data-empty": _mistake("data-empty", phase="any"),
    "data-prompt-none": _mistake("data-prompt-none", phase="any"),
    # model, tokenizer, adapters
    "model-all-frozen": _mistake("model-all-frozen", "NUM5191"),
    "model-freeze-misspelt": _mistake("model-freeze-misspelt", "NUM5191"),
    "model-attention-unknown": _mistake("model-attention-unknown", phase="any"),
    "model-lora-targets": _mistake("model-lora-targets", phase="any"),
    "tokenizer-no-pad": _mistake("tokenizer-no-pad", phase="any"),
    # save, evaluation, logging, end
    "save-callback": _mistake("save-callback", phase="any"),
    "save-state-not-json": _mistake("save-state-not-json", phase="any"),
    "log-callback": _mistake("log-callback", phase="any"),
    "evaluation-column-missing": _mistake("eval-column-missing", phase="any"),
    "evaluation-best-metric": _mistake("eval-best-metric", phase="any"),
    "after-training": _mistake("after-training", phase="any"),
    # optimizer, groups, resume, trackers
    "optimizer-of-a-copy": _mistake("optimizer-of-a-copy", "RLX4202"),
    "generations-not-divisible": _mistake("generations-not-divisible", phase="any"),
    "resume-from-nothing": _mistake("resume-from-nothing", phase="any"),
    "resume-last-of-none": _mistake("resume-last-of-none", phase="any"),
    "tracker-missing": _mistake("tracker-missing", phase="any"),
    "resume-other": _mistake("resume-other", "CKP7555/shapes"),
    "scale-real-memory": Case(_train("long-in-little-memory"), phase="any", options=("--scale", "real")),
    "null-weights-averaged": Case(_train("weights-averaged"), "RLX4202", options=("--null", "--no-resume")),
    # an engine that does not follow the trained weights, at a rate of 1e-6
    "engine-keeps-a-layer": Case((f"{PROGRAMS}/engine.py", SMALL, "layer"), "WIT9046", options=("--no-resume",)),
    "engine-is-never-pushed-to": Case((f"{PROGRAMS}/engine.py", SMALL, "never"), "WIT9046", options=("--no-resume",)),
    # supervised, and loops of one's own
    "sft-rows-cut-to-nothing": Case(
        (f"{PROGRAMS}/sft.py", SMALL, "too-short"), "DAT1752/empty", options=("--no-resume",)
    ),
    "sft-assistant-mask": Case((f"{PROGRAMS}/sft.py", SMALL, "assistant-only"), phase="any", options=("--no-resume",)),
    "sft-eos-unknown": Case((f"{PROGRAMS}/sft.py", SMALL, "eos-unknown"), phase="any", options=("--no-resume",)),
    # of public threads: cases of tests/pool, of its first half
    "pool-turns-ignored": _of_pool("turns-ignored", "NUM5191"),
    "pool-experts-inert": _of_pool("experts-inert", "RLX4202"),
    "pool-cell-not-run": _of_pool("cell-not-run", phase="any"),
    "loop-masked": _of_loop("masked", "NUM5191"),
    "loop-moved-twice": _of_loop("moved", "NUM5191"),
    "loop-optimizer-first": _of_loop("optimizer-first", "NUM5191"),
    "loop-head-unused": _of_loop("head-unused", "NUM5191"),
    "loop-column": Case((f"{PROGRAMS}/loop.py", SMALL, "labels"), phase="any"),
    # drawn later, before any of them was run
    "drawn-dpo-columns": _drawn("dpo-columns", phase="any"),
    "drawn-dpo-loss": _drawn("dpo-loss", phase="any"),
    "drawn-peft-saved": _drawn("peft-saved", "NUM5191"),
    "drawn-sft-tokens": _drawn("sft-tokens", phase="any"),
    "drawn-sft-masked": _drawn("sft-masked", "NUM5191"),
    "drawn-grpo-barrier": _drawn("grpo-barrier", "LCH7208", "", "--deadline", "70", processes=True),
    "drawn-grpo-weights": _drawn("grpo-weights", phase="any"),
    "drawn-grpo-case": _drawn("grpo-case", "RLX5519"),
    "drawn-grpo-frozen": _drawn("grpo-frozen", "NUM5191"),
    "drawn-accelerate-wrapped": _drawn("accelerate-wrapped", phase="any", processes=True),
    # of unusual shape
    "unusual-loss-alone": _unusual("loss-alone", phase="any"),
    "unusual-object-unnamed": _unusual("object-unnamed", phase="any", beside="trl-0.17"),  # later releases take it
    "unusual-column-dropped": _unusual("column-dropped", "RLX5519"),
    "unusual-rate-zero": _unusual("rate-zero", "RLX4202"),
    "unusual-loss-detached": _unusual("loss-detached", phase="any"),
    "unusual-tokenizer-larger": _unusual("tokenizer-larger", phase="any"),
    "unusual-save-shared": _unusual("save-shared", phase="any"),
    "unusual-unused-head": _unusual("unused-head", phase="any", processes=True),
    "unusual-dpo-cut": _unusual("dpo-cut", phase="any"),
    "unusual-metrics-of-text": _unusual("metrics-of-text", phase="any"),
    # after public threads
    "threads-metrics-arrays": _thread("metrics-arrays", phase="any"),
    "threads-mask-elsewhere": _thread("mask-elsewhere", "NUM5191"),
    "threads-cleared-early": _thread("cleared-early", "RLX4202"),
    "threads-save-signature": _thread("save-signature", phase="save"),
    "threads-reentrant": _thread("reentrant", phase="any", beside="trl-0.17"),
    "threads-pops-answers": _thread("pops-answers", phase="reward"),
    "threads-cached-by-prompt": _thread("cached-by-prompt", "RLX5519"),
    "threads-by-place": _thread("by-place", "RLX5519"),
    "threads-shifted-twice": _thread("shifted-twice", "NUM5191"),
    "threads-zero3-reads": _thread("zero3-reads", phase="any", processes=True),
    "threads-optimizer-before-lora": _thread("optimizer-before-lora", "RLX4202"),
    "threads-adapter-for-inference": _thread("adapter-for-inference", phase="any"),
    # drawn last, before any of them was run
    "later-all-desirable": _later("all-desirable", "NUM5191"),
    "later-pairs-alike": _later("pairs-alike", "NUM5191"),
    "later-masks-words": _later("masks-words", phase="any"),
    "later-steps-schedule": _later("steps-schedule", "LCH7208"),
    "later-batch-fixed": _later("batch-fixed", phase="any", processes=True),
    "later-saves-parts": _later("saves-parts", "DSP022", processes=True),
    "later-saves-on-one": _later("saves-on-one", "NCC9344", "", "--deadline", "240", processes=True),
    "later-first-for-all": _later("first-for-all", "RLX5519"),
    "later-gives-dicts": _later("gives-dicts", phase="reward"),
    "later-no-epoch": _later("no-epoch", "LCH7208"),
    "later-padding-counts": _later("padding-counts", "NUM5191"),
    "later-never-ends": _later("never-ends", "NUM5191"),
    "later-teacher-other": _later("teacher-other", phase="any"),
    # plain scripts, one a file, written before any of them was run
    "plain-accumulates-nothing": _plain("accumulates_nothing", "NUM2455"),
    "plain-distill": _plain("distill_of_probabilities", "NUM2455"),
    "plain-dpo-reference": _plain("dpo_reference_moves", "DAT3073/reference_is_policy"),
    "plain-dpo-wrong-way": _plain("dpo_wrong_way", "DAT3073/rejected_preferred"),
    "plain-grpo-groups": _plain("grpo_groups_across", "NUM2455"),
    "plain-kto-labels": _plain("kto_labels_are_text", phase="any"),
    "plain-lora-new-tokens": _plain("lora_new_tokens", "DAT3073/new_tokens_frozen"),
    "plain-ppo-old": _plain("ppo_old_of_the_sampler", "NUM2455"),
    "plain-reinforce": _plain("reinforce_descends", "DAT3073/reward_descended"),
    "plain-reward-padding": _plain("reward_reads_padding", "NUM2455"),
    "plain-sft-not-shifted": _plain("sft_not_shifted", "NUM2455"),
    "plain-sft-packed": _plain("sft_packed_sees_all", "NUM2455"),
    "plain-sft-padding": _plain("sft_padding_in_the_mean", "NUM2455"),
    "plain-trainer-loss": _plain("trainer_loss_of_rows", "NUM2455"),
    # after public threads, one a file, written before any of them was run
    "public-accelerate_clears_first": _public("accelerate_clears_first", "NUM2455"),
    "public-accelerate_optimizer_left_out": _public("accelerate_optimizer_left_out", "NUM2455"),
    "public-distill_target_of_logs": _public("distill_target_of_logs", "NUM2455"),
    "public-grpo_end_is_padding": _public("grpo_end_is_padding", "NUM2455"),
    "public-grpo_first_token_left_out": _public("grpo_first_token_left_out", "NUM2455"),
    "public-lora_freezes_value_head": _public("lora_freezes_value_head", "NUM5191"),
    "public-ppo_returns_follow_values": _public("ppo_returns_follow_values", "NUM5191"),
    "public-reward_compares_whole_solution": _public("reward_compares_whole_solution", "RLX5519"),
    "public-reward_looks_up_other_prompt": _public("reward_looks_up_other_prompt", "RLX5519"),
    "public-reward_model_two_labels": _public("reward_model_two_labels", phase="any"),
    "public-sft_mask_meets_left_padding": _public("sft_mask_meets_left_padding", "NUM2455"),
    "public-sft_packed_mask_of_ones": _public("sft_packed_mask_of_ones", "NUM2455"),
    "public-trainer_loss_not_shared_out": _public("trainer_loss_not_shared_out", "NUM2455"),
    "public-yaml_rate_is_text": _public("yaml_rate_is_text", phase="any"),
    # ten more, of which one is a reward of veRL (`test_parts`)
    "public-lora_targets_as_pattern": _public("lora_targets_as_pattern", phase="any"),
    "public-dpo_adapter_stays_on": _public("dpo_adapter_stays_on", "NUM018"),
    "public-sft_thinking_removed": _public("sft_thinking_removed", "RLX028"),
    "public-reward_empty_is_best": _public("reward_empty_is_best", "RLX5519"),
    "public-optimizer_lacks_norms": _public("optimizer_lacks_norms", "NUM5191"),
    "public-ppo_divergence_added": _public("ppo_divergence_added", "DAT3073/divergence_rewarded"),
    "public-accelerate_loader_left_out": _public("accelerate_loader_left_out", "NUM2455", processes=True),
    "public-value_loss_of_old_values": _public("value_loss_of_old_values", "NUM5191"),
    # as a colleague would write them, one a file, written before any of them was run
    "colleague-grpo_temperature_on_one_side": _colleague("grpo_temperature_on_one_side", "NUM2455", "", "--no-resume"),
    "colleague-sft_collator_cuts_answers": _colleague("sft_collator_cuts_answers", "NUM2455", "", "--no-resume"),
    "colleague-loop_eval_stays_on": _colleague(
        "loop_eval_stays_on", "DAT3073/evaluation_mode_stays", "", "--no-resume"
    ),
    "colleague-loop_resume_other_model": _colleague("loop_resume_other_model", "RLX4202"),
    "colleague-rloo_reward_sorts": _colleague("rloo_reward_sorts", "RLX1239", "", "--no-resume"),
    "colleague-save_callback_merges_adapter": _colleague("save_callback_merges_adapter", "NUM5191", "", "--no-resume"),
    "colleague-dpo_pairs_shuffled_apart": _colleague("dpo_pairs_shuffled_apart", "NUM2455", "", "--no-resume"),
    "colleague-deepspeed_divides_twice": _colleague("deepspeed_divides_twice", "NUM2455", "", "--no-resume"),
    "colleague-tool_loop_trains_output": _colleague("tool_loop_trains_output", "NUM2455", "", "--no-resume"),
    "colleague-accelerate_clips_behind_step": _colleague(
        "accelerate_clips_behind_step", "DAT3073/clipped_after_step", "", "--no-resume"
    ),
    # eight more
    "colleague-accelerate_gathers_on_main": _colleague("accelerate_gathers_on_main", "LCH7208", "", "--no-resume"),
    "colleague-grpo_generation_name_misspelt": _colleague(
        "grpo_generation_name_misspelt", "NUM5191", "", "--no-resume"
    ),
    "colleague-callback_switches_adapter_off": _colleague(
        "callback_switches_adapter_off", "NUM5191", "", "--no-resume"
    ),
    "colleague-grpo_advantages_transposed": _colleague("grpo_advantages_transposed", "NUM2455", "", "--no-resume"),
    "colleague-loop_resume_repeats_rows": _colleague("loop_resume_repeats_rows", "NUM2455"),
    "public-reinforce_product_of_means": _public("reinforce_product_of_means", "NUM2455"),
}

#: mistakes that nothing catches yet; scored, so that nobody forgets them
MISSED = {
    "colleague-ppo_gae_forward": _colleague("ppo_gae_forward", "NUM2455", "", "--no-resume"),
    "colleague-grpo_penalty_without_gradient": _colleague(
        "grpo_penalty_without_gradient", "NUM2455", "", "--no-resume"
    ),
    "colleague-sft_decay_moves_old_rows": _colleague("sft_decay_moves_old_rows", "RLX4202", "", "--no-resume"),
    "colleague-trainer_teacher_trains": _colleague("trainer_teacher_trains", "NUM5191", "", "--no-resume"),
    "colleague-rloo_baseline_of_batch": _colleague("rloo_baseline_of_batch", "NUM2455", "", "--no-resume"),
}
