"""A watched loop whose policy lies in parts, in two ranks: parts_loop.py OUT WRAPPER FAULT PROTOCOL WITNESS.

WRAPPER is `fsdp2` (torch's fully_shard) or `fsdp1` (FullyShardedDataParallel). FAULT is one of the scripted engine's,
"none", or "dropout": the policy's forwards drop activations. The first rank has the engine, and writes what it found.
"""

import hashlib
import json
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
from torch import distributed
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

import doctor
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options
from tests.witness.scripted import ScriptedEngine
from tests.witness.tiny_lm import VOCABULARY, TinyLM

OUT, WRAPPER, FAULT, PROTOCOL, WITNESS = sys.argv[1:6]
STEPS, ROWS, PROMPT, ANSWER = 4, 4, 24, 16
torch.set_num_threads(1)
distributed.init_process_group("gloo")
RANK = distributed.get_rank()


class Telling(TinyLM):
    """Its output as a dictionary: FullyShardedDataParallel looks into no other object for tensors."""

    def forward(self, input_ids):
        return {"logits": super().forward(input_ids).logits}


def in_parts(model):
    if WRAPPER == "fsdp2":
        for layer in model.model.layers:
            fully_shard(layer)
        return fully_shard(model)
    return FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)


def whole(model):
    """Weights under the names of a checkpoint; all ranks gather, as a trainer does for its push."""
    if WRAPPER == "fsdp2":
        return {name: each.full_tensor() for name, each in model.state_dict().items()}
    with FullyShardedDataParallel.summon_full_params(model, writeback=False):
        return {name.replace("_fsdp_wrapped_module.", ""): each.clone() for name, each in model.named_parameters()}


class Loop:
    def __init__(self, stack):
        torch.manual_seed(0)
        plain = Telling()
        self.engine = ScriptedEngine(plain.state_dict(), fault=FAULT if FAULT not in ("none", "dropout") else "")
        plain.dropout.p = 0.1 if FAULT == "dropout" else 0.0
        self.model = in_parts(plain)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.source = torch.Generator().manual_seed(1)
        self.guard = Guard(Options(witness=WITNESS == "yes", witness_every=1), rules=[])
        self.printed = []
        self.guard.alerts.print = self.printed.append
        address = stack.enter_context(self.engine.served(PROTOCOL)) if RANK == 0 else "http://127.0.0.1:9"
        self.watched = doctor.watch(self.model, self.optimizer, guard=self.guard, engine=address)
        self.losses = []

    def push(self, step):
        weights = whole(self.model)
        if RANK == 0:
            self.engine.push(weights, step)
        self.watched.pushed()

    def sampled(self):
        """Rows of all ranks, drawn by the first one."""
        rows = [None]
        if RANK == 0:
            prompts = [torch.randint(8, VOCABULARY, (PROMPT,), generator=self.source).tolist() for _ in range(2 * ROWS)]
            rows = [
                [ids + self.engine.generate(ids, ANSWER, temperature=1.0, source=self.source)[0] for ids in prompts]
            ]
        distributed.broadcast_object_list(rows)
        return rows[0][RANK::2]

    def step(self):
        rows = self.sampled()
        rewards = torch.tensor([float(sum(each % 2 for each in ids[PROMPT:])) / 8 for ids in rows])
        self.optimizer.zero_grad()
        losses = []
        for ids, advantage in zip(rows, rewards - rewards.mean(), strict=True):
            tokens = torch.tensor(ids)
            logps = self.model(tokens.unsqueeze(0))["logits"][0, :-1].log_softmax(-1)
            loss = -advantage * logps.gather(1, tokens[1:].unsqueeze(1))[PROMPT:].sum() / ANSWER
            loss.backward()
            losses.append(float(loss.detach()))
        self.optimizer.step()
        self.losses.append(sum(losses))


def main():
    with ExitStack() as stack:
        loop = Loop(stack)
        loop.push(0)
        for step in range(1, STEPS + 1):
            loop.step()
            loop.push(step)
        witness = loop.watched._witness
        loop.watched.close()
        weights = whole(loop.model)
    if RANK == 0:
        digest = hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in weights.values())).hexdigest()
        found = [[each.problem.id, each.where.step, each.words("en").headline] for each in loop.guard.findings]
        told = {
            "found": found, "printed": loop.printed, "losses": loop.losses, "digest": digest,
            "past": [] if witness is None else [each.step for each in witness._parts._past],
            "off": None if witness is None else witness.off, "late": 0 if witness is None else witness.late,
            "requests": loop.engine.requests,
        }  # fmt: skip
        Path(OUT).write_text(json.dumps(told))
    distributed.barrier()
    distributed.destroy_process_group()


main()
