"""A loop on two gloo ranks whose policy a library divides: divided_loop.py OUT KIND FAULT FOLDER.

KIND is `tp` (torch's parallelize_module), `tp_plan` (Transformers' plan of a model) or `ulysses` (DeepSpeed's sequence
parallelism for Transformers); torch's context_parallel has no attention for CPUs. The model is a tiny Llama; the engine
is a whole copy of it on the first rank, which gets the weights after each step, or with the FAULT "never-pushed" none.
FOLDER: where the model is laid.
"""

from __future__ import annotations

import copy
import json
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

import doctor
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options
from doctor.monitors.witness.inside import Given

OUT, KIND, FAULT, FOLDER = sys.argv[1:5]
LENGTH, STEPS, RATE = 64, 3, 3e-2
torch.set_num_threads(1)
distributed.init_process_group("gloo", timeout=timedelta(seconds=60))
RANK = distributed.get_rank()


def laid() -> None:
    """The model on the disk, the same for both ranks."""
    if not RANK:
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=256, tie_word_embeddings=False,
        )  # fmt: skip
        LlamaForCausalLM(config).save_pretrained(FOLDER)
    distributed.barrier()


def divided() -> torch.nn.Module:
    """The policy in this rank."""
    if KIND == "tp_plan":
        return AutoModelForCausalLM.from_pretrained(FOLDER, tp_plan="auto")
    if KIND == "ulysses":
        from deepspeed import comm
        from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF

        comm.init_distributed("gloo")
        UlyssesSPAttentionHF.register_with_transformers(FOLDER, "sdpa", 2, 1, seq_length=LENGTH)
        return AutoModelForCausalLM.from_pretrained(FOLDER, attn_implementation="sdpa")
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    model = AutoModelForCausalLM.from_pretrained(FOLDER)
    plan = {"mlp.gate_proj": ColwiseParallel(), "mlp.up_proj": ColwiseParallel(), "mlp.down_proj": RowwiseParallel()}
    for layer in model.model.layers:
        parallelize_module(layer, mesh, plan)
    return model


def step(model: torch.nn.Module, number: int) -> torch.Tensor:
    """The trainer's forward and loss, each rank with what it has of the batch."""
    ids = torch.randint(8, 90, (1, LENGTH), generator=torch.Generator().manual_seed(number))
    targets = ids.roll(-1, 1)
    if KIND == "ulysses":
        half = slice(RANK * LENGTH // 2, (RANK + 1) * LENGTH // 2)
        positions = torch.arange(LENGTH)[None]
        logits = model(input_ids=ids[:, half], position_ids=positions[:, half], use_cache=False).logits
        targets = targets[:, half]
    else:
        logits = model(input_ids=ids, use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits[0], targets[0])


def whole(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All weights; every rank takes part where they are divided."""
    parts = model.state_dict()
    return {name: each.full_tensor() if hasattr(each, "full_tensor") else each for name, each in parts.items()}


def main() -> None:
    """Train three steps; the first rank is watched."""
    laid()
    model = divided()
    served = AutoModelForCausalLM.from_pretrained(FOLDER, attn_implementation="eager") if not RANK else None

    def score(sequences: list[list[int]]) -> list[list[float | None]]:
        told = []
        for each in sequences:
            with torch.no_grad():
                logps = served(torch.tensor([each])).logits[0].log_softmax(-1)
            told.append([None, *(float(logps[at, token]) for at, token in enumerate(each[1:]))])
        return told

    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, foreach=False)
    guard, printed = Guard(Options(), rules=[]), []  # type: ignore[var-annotated]
    guard.alerts.print = printed.append  # type: ignore[method-assign]
    watched = doctor.watch(model, optimizer, guard=guard, engine=Given(score) if not RANK else None)
    watched.pushed()
    losses = []
    for number in range(1, STEPS + 1):
        loss = step(model, number)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        weights = copy.deepcopy(whole(model))
        if served is not None and FAULT != "never-pushed":
            served.load_state_dict(weights)
        watched.pushed()
    watched.close()
    if not RANK:
        witness = watched._witness
        told = {"rounds": witness.rounds, "late": witness.late, "off": witness.off, "parts": witness.policy.parts}
        found = [each.words("en").headline for each in guard.findings]
        Path(OUT).write_text(json.dumps({**told, "found": found, "printed": printed, "losses": losses}))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
