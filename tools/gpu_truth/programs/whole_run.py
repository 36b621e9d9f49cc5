"""A whole GRPO run over prompts of which one is long: whole_run.py cuda|cpu MODEL PROMPTS.

`whole_run.py cuda|cpu MODEL make` lays the model and its prompts down beside it. Prints the most bytes of the card's
allocator and of the host.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests" / "real" / "programs"))

import tiny
import torch

DEVICE, MODEL, PROMPTS = sys.argv[1:4]
LARGE = {
    "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
    "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip
SMALL = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 32000, "tie_word_embeddings": True,
}  # fmt: skip
#: characters of a prompt, each a token of its own; prompts, of which the last but one is long
SHORT, LONG, COUNT = (32, 512, 16) if DEVICE == "cuda" else (32, 128, 8)


def make():
    from transformers import AutoConfig, AutoModelForCausalLM

    values = LARGE if DEVICE == "cuda" else SMALL
    config = AutoConfig.for_model("qwen2", **values, pad_token_id=0, eos_token_id=1)
    with torch.device(DEVICE):
        AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(MODEL)
    tiny.tokenizer().save_pretrained(MODEL)
    rows = [{"prompt": "x" * (LONG if number == COUNT - 2 else SHORT + number)} for number in range(COUNT)]
    Path(MODEL, "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))


def train():
    from datasets import load_dataset
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir="out", per_device_train_batch_size=8, num_generations=4, num_train_epochs=1, seed=1,
        max_completion_length=256 if DEVICE == "cuda" else 16, learning_rate=1e-6, report_to=[], save_strategy="no",
        bf16=DEVICE == "cuda", use_cpu=DEVICE == "cpu", gradient_checkpointing=DEVICE == "cuda",
        model_init_kwargs={"dtype": "bfloat16" if DEVICE == "cuda" else "float32"},
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=MODEL, args=config, reward_funcs=tiny.variety, processing_class=tiny.tokenizer(),
        train_dataset=load_dataset("json", data_files=PROMPTS, split="train"),
    )  # fmt: skip
    trainer.train()
    told = {"host memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    if DEVICE == "cuda":
        told["GPU 0"] = torch.cuda.max_memory_reserved()
    print("RESULT", json.dumps(told))


make() if PROMPTS == "make" else train()
