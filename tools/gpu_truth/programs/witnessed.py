"""A loop that learns, watched with a rollout engine: witnessed.py cuda|cpu dense|moe well|stale UPDATES.

The engine is vLLM's `LLM` where it can be made on this machine, else a second model of Transformers in this process;
with `stale` it is given no weights after the first push. Prints which engine it was, what was found, and the
milliseconds of an update.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # https://docs.vllm.ai/en/stable/configuration/env_vars/

import torch
from transformers import AutoConfig, AutoModelForCausalLM

import doctor
from doctor.monitors.witness.inside import Given

DEVICE, KIND, CASE, UPDATES = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
TOP, FOLDER = 5, f"model-{KIND}"
#: where vLLM keeps the module whose weights are loaded, when the engine works in this process
MODULE = "llm_engine.model_executor.driver_worker.model_runner.model"
LARGE = {
    "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
    "vocab_size": 32000, "intermediate_size": 4864, "max_position_embeddings": 1024,
}  # fmt: skip
SMALL = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
    "intermediate_size": 128, "max_position_embeddings": 256,
}  # fmt: skip
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "head_dim": 64}


def model():
    """Random weights, in a folder too."""
    values, kind = (LARGE if DEVICE == "cuda" else SMALL), "qwen2"
    if KIND == "moe":
        kind, half = "qwen3_moe", values["num_hidden_layers"] // 2
        inner = values["intermediate_size"] // 8
        values = {**values, **EXPERTS, "num_hidden_layers": half, "moe_intermediate_size": inner}
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **values, pad_token_id=0, eos_token_id=1, tie_word_embeddings=False)
    with torch.device(DEVICE):
        made = AutoModelForCausalLM.from_config(config, dtype=DTYPE)
    made.save_pretrained(FOLDER)
    return made


class Twin:
    """A second model of Transformers that samples."""

    name = "Transformers"

    def __init__(self):
        self.model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=DTYPE).to(DEVICE).eval()
        self.engine = Given(self.score, self.go_on, lambda: dict(self.model.named_parameters()), precision=str(DTYPE))

    def load(self, weights):
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, tensor in weights:
                own[name].copy_(tensor)

    @torch.no_grad()
    def logps(self, ids):
        return self.model(torch.tensor(ids, device=DEVICE)).logits.float().log_softmax(-1)

    def score(self, sequences):
        found = []
        for ids in sequences:
            taken = torch.tensor(ids[1:], device=DEVICE).unsqueeze(1)
            found.append([None, *self.logps([ids])[0, :-1].gather(1, taken).squeeze(1).tolist()])
        return found

    def go_on(self, prompts, tokens, salt):
        ids, places = [list(each) for each in prompts], [[] for _ in prompts]
        for _ in range(tokens):
            best = self.logps(ids)[:, -1].topk(TOP)
            for row, found, indices, values in zip(
                ids, places, best.indices.tolist(), best.values.tolist(), strict=True
            ):
                row.append(indices[0])
                found.append(dict(zip(indices, values, strict=True)))
        return [(row[len(prompt) :], found) for row, prompt, found in zip(ids, prompts, places, strict=True)]


class Vllm:
    """vLLM in this process."""

    name = "vLLM"

    def __init__(self):
        from vllm import LLM

        self.engine = LLM(
            model=FOLDER, dtype="bfloat16", gpu_memory_utilization=0.3, enforce_eager=True, max_model_len=512,
            skip_tokenizer_init=True,
        )  # fmt: skip
        self.module = self.engine
        for each in MODULE.split("."):
            self.module = getattr(self.module, each)

    def load(self, weights):
        self.module.load_weights(weights)
        self.engine.reset_prefix_cache()


def engine():
    """The engine, and why it is not vLLM."""
    if DEVICE != "cuda":
        return Twin(), "no GPU"
    try:
        return Vllm(), ""
    except Exception as error:  # noqa: BLE001 - whatever keeps vLLM from being made is told
        return Twin(), f"{type(error).__name__}: {error}"[:200]


def main():
    if DEVICE == "cpu":
        torch.set_num_threads(1)
    policy = model()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    sampler, why = engine()
    watched = doctor.watch(policy, optimizer, engine=sampler.engine, policy={"WIT": "warn"})
    spent = []
    for update in range(UPDATES + 1):
        if CASE == "well" or not update:
            sampler.load((name, each.detach()) for name, each in policy.named_parameters())
        watched.pushed()
        if update == UPDATES:
            break
        began = time.perf_counter()
        batch = torch.randint(2, policy.config.vocab_size, (8, 128), device=DEVICE)
        optimizer.zero_grad()
        policy(batch, labels=batch).loss.backward()
        optimizer.step()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        spent.append(1000 * (time.perf_counter() - began))
    found = sorted({each.problem.id for each in watched.guard.findings})
    watched.close()
    told = {"engine": sampler.name, "why": why, "found": found, "update_ms": statistics.median(spent)}
    print("RESULT", json.dumps(told))


main()
