"""Makes the metric series in tests/rules/runs: short trainings with the real TRL on a CPU, healthy and spoilt.

    python tools/real_series.py OUT [NAME ...]      # python: one with torch, trl, peft; without a name: every run

A model of a few thousand weights first learns some sums from text. Then each run trains it further with SFT, DPO, GRPO
or RLOO, and what the trainer prints is kept as it stands, compressed: `NAME.log.gz`. What a spoilt run has wrong is one
entry of `SPOILT`: a reward that pays for length or form, prompts that are too hard or too easy, a rate that is too
high, a `beta` of the wrong size or sign, and so on. Each run takes less than a minute of one core.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
LETTERS = "0123456789+=.#<> abc"
SPECIAL = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<pad>"}
_STEPS_OF_SCHOOL = {"some": 230, "well": 900}

Spec = dict[str, Any]

#: healthy runs by name: trainer and what differs from its usual settings
HEALTHY: dict[str, Spec] = {
    "sft-full-0": {"kind": "sft", "steps": 100, "school": None},
    "sft-full-1": {"kind": "sft", "steps": 100, "school": None, "seed": 1, "gradient_accumulation_steps": 4},
    "sft-lora-2": {"kind": "sft", "steps": 120, "lora": True, "seed": 2, "learning_rate": 2e-3},
    "dpo-full-0": {"kind": "dpo", "steps": 100},
    "dpo-lora-1": {"kind": "dpo", "steps": 120, "lora": True, "seed": 1, "learning_rate": 2e-3},
    "grpo-full-0": {"kind": "grpo", "steps": 100},
    "grpo-full-1": {"kind": "grpo", "steps": 100, "seed": 1, "beta": 0.04},
    "grpo-full-2": {"kind": "grpo", "steps": 100, "seed": 2, "num_iterations": 2},
    "grpo-lora-3": {"kind": "grpo", "steps": 80, "seed": 3, "lora": True, "learning_rate": 1e-3},
    "grpo-lora-kl-4": {"kind": "grpo", "steps": 90, "seed": 4, "lora": True, "learning_rate": 1e-3, "beta": 0.02},
    "grpo-two-rewards-5": {"kind": "grpo", "steps": 90, "seed": 5, "rewards": ["right", "form"]},
    "grpo-held-out-6": {"kind": "grpo", "steps": 90, "seed": 6, "eval": True},
    "rloo-full-0": {"kind": "rloo", "steps": 80},
    "rloo-kl-1": {"kind": "rloo", "steps": 90, "seed": 1, "beta": 0.05},
    "rloo-lora-2": {"kind": "rloo", "steps": 80, "seed": 2, "lora": True, "learning_rate": 1e-3},
}

_FORM = {"kind": "grpo", "steps": 90, "rewards": ["right", "form"], "form": True, "sums": 1000}
#: spoilt runs: (finding that must be there, what differs); each twice, with another seed
SPOILT: dict[str, tuple[str, Spec]] = {
    "length": ("length", {"kind": "grpo", "steps": 80, "rewards": ["longer"], "max_completion_length": 12}),
    "length-and-right": (
        "length", {"kind": "grpo", "steps": 80, "rewards": ["right_or_longer"], "max_completion_length": 12},
    ),
    "form": ("form", _FORM),
    "gap": ("gap", {"kind": "grpo", "steps": 80, "rewards": ["nines", "right"], "reward_weights": [1.0, 0.0],
                    "eval": True}),
    "too-hard": ("hard", {"kind": "grpo", "steps": 70, "sums": 1000}),
    "too-easy": ("easy", {"kind": "grpo", "steps": 80, "school": "well", "sums": 10, "temperature": 0.6}),
    "rate": ("rate", {"kind": "grpo", "steps": 80, "learning_rate": 3e-2, "beta": 0.001}),
    "rate-no-kl": ("rate", {"kind": "grpo", "steps": 80, "learning_rate": 5e-2}),
    "beta-size": ("beta", {"kind": "grpo", "steps": 80, "beta": 50.0}),
    "beta-sign": ("kl", {"kind": "grpo", "steps": 80, "beta": -0.5}),
    "entropy": ("entropy", {"kind": "grpo", "steps": 80, "rewards": ["nines"], "learning_rate": 8e-3}),
    "endless": ("cut", {"kind": "grpo", "steps": 80, "rewards": ["unended"], "max_completion_length": 5}),
    "clipped": ("clip", {"kind": "grpo", "steps": 80, "num_iterations": 8, "learning_rate": 2e-2, "epsilon": 0.05}),
    "spikes": ("spikes", {"kind": "grpo", "steps": 80, "rewards": ["wild"], "scale_rewards": "none",
                          "max_grad_norm": 1e9, "learning_rate": 1e-4}),
    "plateau": ("plateau", {"kind": "grpo", "steps": 130, "sums": "half", "learning_rate": 1e-3}),
    "own-reference": ("reference", {"kind": "grpo", "steps": 80, "beta": 0.04, "own_reference": True}),
    "masked": ("masked", {"kind": "sft", "steps": 60, "mask": True}),
    "shuffled": ("chance", {"kind": "sft", "steps": 80, "school": None, "learning_rate": 1e-9}),
    "times-accumulation": ("times", {"kind": "sft", "steps": 80, "gradient_accumulation_steps": 4, "summed": True,
                                     "learning_rate": 2e-4,
                                     "eval": True}),
    "warm-up": ("warm", {"kind": "grpo", "steps": 80, "warmup_steps": 4000,
                         "lr_scheduler_type": "constant_with_warmup"}),
    "constant-component": ("constant", {"kind": "grpo", "steps": 80, "rewards": ["right", "broken"]}),
}  # fmt: skip

REWARD_OF = {
    "right": lambda text, answer: float(text == answer),
    "form": lambda text, _: float(text.endswith(".")),
    "longer": lambda text, _: len(text) / 12,
    "right_or_longer": lambda text, answer: 0.5 * float(text[: len(answer)] == answer) + len(text) / 6,
    "nines": lambda text, _: text.count("9") / 8,
    "unended": lambda text, _: float(len(text) >= 5),
    "broken": lambda *_: 0.5,
}


def wild(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    """A grader that sometimes answers in another unit."""
    wild.calls = getattr(wild, "calls", 0) + 1  # type: ignore[attr-defined]
    times = 200.0 if wild.calls % 17 == 0 else 1.0  # type: ignore[attr-defined]
    return [times * float(text == right) for text, right in zip(completions, answer, strict=True)]


def reward_named(name: str) -> Any:
    """A reward function for TRL, under its own name."""
    if name == "wild":
        return wild

    def reward(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [REWARD_OF[name](text, right) for text, right in zip(completions, answer, strict=True)]

    reward.__name__ = name
    return reward


def tokenizer() -> Any:
    """One token a letter."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {"<pad>": 0, "<eos>": 1, **{letter: place + 2 for place, letter in enumerate(LETTERS)}}
    made = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<pad>"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, padding_side="left", **SPECIAL,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def sums(seed: int, count: int, below: int | str) -> list[tuple[str, str]]:
    """Prompts and answers; "half": of one half of them nobody can know the answer."""
    rng = random.Random(seed)  # noqa: S311 - sums, not a secret
    found = []
    for number in range(count):
        if below == "half" and number % 2:
            found.append((f"{rng.randrange(10**6)}=", str(rng.randrange(10**6))))
            continue
        one, two = (rng.randrange(below if isinstance(below, int) else 20) for _ in "ab")
        found.append((f"{one}+{two}=", str(one + two)))
    return found


def schooled(school: str | None, folder: Path, *, form: bool, seed: int) -> Path:
    """The folder of a model that has seen sums below 20 for so many steps."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    place = folder / f"model-{school}-{form}-{seed}"
    if place.is_dir():
        return place
    torch.manual_seed(seed)
    words = tokenizer()
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=None,
        tie_word_embeddings=False,
    ))  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(_STEPS_OF_SCHOOL[school] if school else 0):
        texts = [q + a + ("." if form and n % 2 else "") for n, (q, a) in enumerate(sums(step, 128, 20))]
        batch = words([each + "<eos>" for each in texts], return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(place)
    words.save_pretrained(place)
    return place


_COMMON = {"report_to": [], "use_cpu": True, "bf16": False, "save_strategy": "no", "logging_steps": 1}
_OURS = {
    "kind",
    "steps",
    "school",
    "lora",
    "seed",
    "rewards",
    "form",
    "sums",
    "eval",
    "own_reference",
    "mask",
    "summed",
    "model",
}
_RL = {
    "per_device_train_batch_size": 32, "num_generations": 8, "max_completion_length": 8, "learning_rate": 3e-4,
    "lr_scheduler_type": "constant", "temperature": 1.0, "beta": 0.0,
}  # fmt: skip
_SFT = {"per_device_train_batch_size": 16, "learning_rate": 2e-3, "max_length": 32, "packing": False}
_DPO = {"per_device_train_batch_size": 16, "learning_rate": 2e-4, "max_length": 32, "beta": 0.1}


def trainer_of(spec: Spec, folder: Path) -> Any:
    """The trainer of one run."""
    from datasets import Dataset
    from peft import LoraConfig
    from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer, SFTConfig, SFTTrainer

    seed, kind = spec.get("seed", 0), spec["kind"]
    model = str(schooled(spec.get("school", "some"), folder, form=spec.get("form", False), seed=spec.get("model", 0)))
    config, trainer, usual = {
        "sft": (SFTConfig, SFTTrainer, _SFT), "dpo": (DPOConfig, DPOTrainer, _DPO),
        "grpo": (GRPOConfig, GRPOTrainer, _RL), "rloo": (RLOOConfig, RLOOTrainer, _RL),
    }[kind]  # fmt: skip
    own = {name: value for name, value in spec.items() if name not in _OURS}
    more = {"max_steps": spec["steps"], "seed": seed, "output_dir": str(folder / "out"), **_COMMON, **usual, **own}
    if spec.get("eval"):
        more |= {"eval_strategy": "steps", "eval_steps": 10, "per_device_eval_batch_size": 64}
    asked = sums(100 + seed, 4096, spec.get("sums", 20))
    held_out = Dataset.from_list(_entries(kind, sums(7, 64, 20))) if spec.get("eval") else None
    given = {"reward_funcs": [reward_named(each) for each in spec.get("rewards", ["right"])]} if "o" in kind[2:] else {}
    if kind == "dpo":
        given = {}
    if spec.get("lora"):
        given["peft_config"] = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    if spec.get("summed") or spec.get("mask"):
        trainer = _summed(trainer) if spec.get("summed") else _masked(trainer)
    made = trainer(model=model, args=config(**more), train_dataset=Dataset.from_list(_entries(kind, asked)),
                   eval_dataset=held_out, **given)  # fmt: skip
    if spec.get("own_reference"):
        made.ref_model = made.model
    return made


def _entries(kind: str, asked: list[tuple[str, str]]) -> list[dict[str, str]]:
    if kind == "sft":
        return [{"prompt": q, "completion": a} for q, a in asked]
    if kind == "dpo":
        return [{"prompt": q, "chosen": a, "rejected": str(int(a) + 1 + n % 3)} for n, (q, a) in enumerate(asked)]
    return [{"prompt": q, "answer": a} for q, a in asked]


def _masked(base: type) -> type:
    """A trainer whose labels are all -100, as with a template that is never found."""

    class Masked(base):  # type: ignore[misc, valid-type]
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            inputs["labels"] = inputs["labels"].clone().fill_(-100)
            return super().compute_loss(model, inputs, *args, **kwargs)

    return Masked


def _summed(base: type) -> type:
    """A trainer whose loss forgets to divide by the number of micro batches, as Transformers' did up to 4.46."""

    class Summed(base):  # type: ignore[misc, valid-type]
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            loss = super().compute_loss(model, inputs, *args, **kwargs)
            return loss * self.args.gradient_accumulation_steps if model.training else loss

    return Summed


def all_runs() -> dict[str, Spec]:
    """Every run by name; of each spoilt one two, with different seeds."""
    spoilt = {f"spoilt-{name}-{seed}": {**spec, "seed": seed} for name, (_, spec) in SPOILT.items() for seed in (0, 1)}
    return {**{f"healthy-{name}": spec for name, spec in HEALTHY.items()}, **spoilt}


def main(out: Path, names: list[str]) -> None:
    """Make the runs named, one after another."""
    import torch

    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    for name in names or list(all_runs()):
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                trainer_of(all_runs()[name], out / "models").train()
        except Exception as error:  # noqa: BLE001 - one run that fails must not cost the others
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        lines = [line.strip() for line in printed.getvalue().splitlines() if line.strip().startswith("{'")]
        with gzip.GzipFile(out / f"{name}.log.gz", "wb", 9, mtime=0) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
        print(name, len(lines), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
