"""A loop of one's own on two gloo ranks whose model takes each sequence in parts: a forward on one rank alone hangs."""

from __future__ import annotations

import json
import sys
import types
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
from torch import distributed

import doctor
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options
from tests.witness.scripted import ScriptedEngine
from tests.witness.tiny_lm import TinyLM


class Divided(TinyLM):
    """The tiny model with a collective in its forward, as Ulysses has two in every attention."""

    def forward(self, input_ids: torch.Tensor, position_ids: object = None) -> object:
        """Positions are those of the first rank's part, which begins where the sequence does."""
        distributed.all_reduce(torch.ones(1))
        return super().forward(input_ids)


def main() -> None:
    """Train three steps; rank 0 is watched."""
    distributed.init_process_group("gloo", timeout=timedelta(seconds=20))
    rank = distributed.get_rank()
    own = types.ModuleType("own.ulysses")
    own._ULYSSES_SEQUENCE_PARALLEL_GROUP = distributed.group.WORLD  # type: ignore[attr-defined]
    sys.modules["own.ulysses"] = own
    torch.manual_seed(0)
    model = Divided()
    model.dropout.p = 0.0  # what is drawn would be left out
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine, guard, printed = ScriptedEngine(model.state_dict()), Guard(Options(), rules=[]), []  # type: ignore[var-annotated]
    guard.alerts.print = printed.append  # type: ignore[method-assign]
    with engine.served() as address:
        watched = doctor.watch(model, optimizer, guard=guard, engine=address if not rank else None)
        watched.pushed()
        for step in range(1, 4):
            ids = torch.randint(8, 60, (1, 40), generator=torch.Generator().manual_seed(step))
            positions = torch.arange(40)[None] + (0 if not rank else 40)
            logits = model(input_ids=ids, position_ids=positions).logits
            loss = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            engine.push(model.state_dict(), step)
            watched.pushed()
        watched.close()
    if not rank:
        witness = watched._witness
        told = {"rounds": witness.rounds, "late": witness.late, "off": witness.off, "parts": witness.policy.parts}
        Path(sys.argv[1]).write_text(json.dumps({**told, "found": len(guard.findings), "printed": printed}))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
