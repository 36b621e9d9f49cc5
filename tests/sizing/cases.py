"""Small GRPO runs whose peak is counted for real, and the setups that the plan makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doctor.sizing.architecture import shape_of
from doctor.sizing.setup import Hardware, Lora, Setup

DENSE: dict[str, Any] = {
    "model_type": "qwen2", "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 6,
    "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 2048, "tie_word_embeddings": False,
}  # fmt: skip
LLAMA = {**DENSE, "model_type": "llama", "num_key_value_heads": 8}
QWEN3 = {**DENSE, "model_type": "qwen3", "head_dim": 32, "tie_word_embeddings": True}
EXPERTS = {
    **DENSE, "model_type": "qwen3_moe", "moe_intermediate_size": 256, "num_experts": 8, "num_experts_per_tok": 2,
    "head_dim": 32,
}  # fmt: skip
#: activations outweigh everything else
DEEP = {**DENSE, "num_hidden_layers": 12, "intermediate_size": 2048}
ARGUMENTS: dict[str, Any] = {
    "per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 24,
    "gradient_checkpointing": False, "bf16": False,
}  # fmt: skip
PROMPT = 104
BF16 = {"bf16": True, "model_init_kwargs": {"dtype": "bfloat16"}}
ADAPTER = {"r": 8, "target_modules": "all-linear"}

#: name -> (model, changed arguments, LoRA, changes of the setup)
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = {
    "plain": (DENSE, {}, None, {}),
    "checkpointing": (DENSE, {"gradient_checkpointing": True}, None, {"checkpointing": True}),
    "autocast": (DENSE, {"bf16": True}, None, {"mixed": "bf16"}),
    "autocast, checkpointing": (
        DENSE, {"bf16": True, "gradient_checkpointing": True}, None, {"mixed": "bf16", "checkpointing": True},
    ),
    "bfloat16": (DENSE, BF16, None, {"mixed": "bf16", "weights": "bfloat16"}),
    "reference model": (DENSE, {"beta": 0.04}, None, {"beta": 0.04}),
    "accumulation": (DENSE, {"gradient_accumulation_steps": 2}, None, {"accumulation": 2}),
    "LoRA": (DENSE, {}, ADAPTER, {"lora": Lora(8)}),
    "LoRA, bfloat16": (DENSE, BF16, ADAPTER, {"lora": Lora(8), "mixed": "bf16", "weights": "bfloat16"}),
    "LoRA, autocast": (DENSE, {"bf16": True}, ADAPTER, {"lora": Lora(8), "mixed": "bf16"}),
    "LoRA, autocast, checkpointing": (
        DENSE, {"bf16": True, "gradient_checkpointing": True}, ADAPTER,
        {"lora": Lora(8), "mixed": "bf16", "checkpointing": True},
    ),
    "Llama, larger batch": (LLAMA, {"per_device_train_batch_size": 8}, None, {"batch": 8}),
    "Qwen3, tied": (QWEN3, {}, None, {}),
    "experts": (EXPERTS, {}, None, {}),
    "deep": (DEEP, {}, None, {}),
}  # fmt: skip


def setup_of(name: str) -> Setup:
    """The setup of a case: one process on a CPU, which scores every position without Triton."""
    model, _, _, changes = CASES[name]
    base = Setup(
        shape_of(model), Hardware(1, 2**34), strategy="single", weights="float32", mixed="no", batch=4,
        generations=4, prompt_length=PROMPT, completion_length=24, checkpointing=False, triton=False,
    )  # fmt: skip
    return replace(base, **changes)


def request_of(name: str) -> dict[str, Any]:
    """What programs/peak_bytes.py is asked."""
    model, arguments, lora, _ = CASES[name]
    return {"model": model, "arguments": {**ARGUMENTS, **arguments}, "lora": lora, "prompt_length": PROMPT}
