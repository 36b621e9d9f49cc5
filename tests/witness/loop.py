"""A policy-gradient loop of the tiny model with a scripted engine, watched: it learns for real."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch

import doctor
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options

from .scripted import ScriptedEngine
from .tiny_lm import VOCABULARY, Adapted, TinyLM

#: more threads wait for each other longer than they compute, for a model of this size
torch.set_num_threads(1)

SEPARATOR, TOOL, END = 2, (5, 6, 7), 3
NAME = "policy"

#: faults between the turns of a conversation; `turns` alone is none
TURNS = ("separator", "turns", "observation", "call-cleared", "separator-both", "turns-ended")

#: of them those whose prompts and turns end as those of a template do; the last is no fault
ENDED = ("separator-both", "turns-ended")


@dataclass
class Ran:
    """What a run left."""

    findings: list[Any]
    losses: list[float]
    rewards: list[float]
    weights: list[Any]
    watched: Any
    engine: ScriptedEngine
    printed: list[str] = field(default_factory=list)

    @property
    def named(self) -> list[str]:
        return [each.problem.name for each in self.findings]

    @property
    def headlines(self) -> list[str]:
        return [each.words("en").headline for each in self.findings]


@dataclass
class Case:
    """One run."""

    fault: str = ""
    seed: int = 0
    steps: int = 3
    precision: Any = torch.float32
    protocol: str = "vllm"
    experts: bool = False
    adapter: bool = False
    answer: int = 16
    rate: float = 3e-3
    witness: bool = True
    resumed: bool = False
    stalls_s: float = 0.0
    dropout: bool = True
    every: float = 50
    policy: dict[str, str] = field(default_factory=dict)


class Loop:
    """The loop of one case."""

    def __init__(self, case: Case, stack: ExitStack) -> None:
        self.case = case
        torch.manual_seed(case.seed)
        inner = TinyLM(experts=case.experts)
        self.model: Any = Adapted(inner) if case.adapter else inner
        self.engine = ScriptedEngine(inner.state_dict(), case.precision, case.fault, experts=case.experts)
        self.engine.stalls_s = case.stalls_s
        if case.resumed:  # the checkpoint is of a later step than what the engine has from disk
            with torch.no_grad():
                for each in self.model.parameters():
                    if each.requires_grad:
                        each.add_(
                            torch.randn_like(each) * (0.05 if case.adapter else 0.03 * each.std().nan_to_num(0.0))
                        )
        trained = [each for each in self.model.parameters() if each.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=case.rate * (5 if case.adapter else 1))
        self.source = torch.Generator().manual_seed(case.seed + 1)
        self.prompts = [torch.randint(8, VOCABULARY, (24,), generator=self.source).tolist() for _ in range(4)]
        if case.fault in ENDED:  # turns of a prompt, as a template closes them
            for prompt in self.prompts:
                prompt[10:12] = prompt[18:20] = [END, SEPARATOR]
        self.losses: list[float] = []
        self.rewards: list[float] = []
        self.rolled = 0
        self.guard = Guard(Options(policy=case.policy, witness=case.witness, witness_every=case.every), rules=[])
        self.printed: list[str] = []
        self.guard.alerts.print = self.printed.append  # type: ignore[method-assign]
        if case.adapter:
            self.engine.load_adapter(NAME, self.model.delta())
        address = stack.enter_context(self.engine.served(case.protocol))
        told: Any = address
        if case.adapter:
            from doctor.monitors.witness.served import engine_at

            told = engine_at(address, "base", NAME)
        self.saved: list[int] = []
        self.watched = doctor.watch(self.model, self.optimizer, guard=self.guard, save=self.saved.append, engine=told)
        if not case.witness:
            self.engine.requests = 0  # finding out what serves there was of the loop, not of the witness

    def push(self, step: int) -> None:
        if self.case.adapter:
            self.engine.load_adapter(NAME, self.model.delta())
        else:
            self.engine.push(self.model.state_dict(), step)
        self.watched.pushed()

    def rollout(self, prompt: list[int]) -> tuple[list[int], list[int], list[int], list[float]]:
        """Ids as the engine had them, as the loss has them, its mask, and the engine's log probabilities."""
        top_p = 0.8 if self.case.fault == "top-p" else 1.0
        temperature = 0.6 if self.case.fault == "temperature" else 1.0
        ids, mask, logps = list(prompt), [0] * len(prompt), [0.0] * len(prompt)
        turns = 2 if self.case.fault in TURNS else 1
        trained = list(ids)
        for turn in range(turns):
            taken, places = self.engine.generate(
                ids, self.case.answer // turns, temperature=temperature, top_p=top_p, source=self.source,
                adapter=NAME if self.case.adapter else None,
            )  # fmt: skip
            if self.case.fault in ENDED:
                taken = [*taken[:-1], END]  # where the engine stops
            said = [float(place[each]) for each, place in zip(taken, places, strict=True)]
            if self.case.fault == "scaled-logps":
                said = [each / 0.7 for each in said]
            if self.case.fault == "long-context":
                size = [at / len(said) for at in range(len(said))]
                said = [each + 0.4 * far * (-1) ** at for at, (each, far) in enumerate(zip(said, size, strict=True))]
            if self.case.fault == "outliers" and not self.rolled % 6:
                said = [each - 1.5 * (at % 3 == 0) for at, each in enumerate(said)]
            ids, kept = ids + taken, self.encoded_again(taken)
            if self.case.fault == "call-cleared" and turn + 1 < turns:
                kept, said = kept[:3] + kept[6:], said[:3] + said[6:]
            trained, mask, logps = trained + kept, mask + [1] * len(kept), logps + said
            if turn + 1 < turns:
                between = [SEPARATOR, *TOOL][self.case.fault == "separator-both" :]
                ids = ids + between
                if self.case.fault == "separator":
                    between = between[1:]
                if self.case.fault == "observation":
                    between = between[:1] + between[2:]
                trained, mask, logps = trained + between, mask + [0] * len(between), logps + [0.0] * len(between)
        self.rolled += 1
        return ids, trained, mask, logps

    def encoded_again(self, taken: list[int]) -> list[int]:
        """Ids that went through text: one of them comes back as another way to write the same word."""
        if self.case.fault != "retokenised":
            return taken
        return [*taken[:5], (taken[5] + 1) % VOCABULARY, *taken[6:]]

    def episode(self, number: int) -> object:
        """The episode as messages; of a fault every other one has lost its sandbox."""
        lost = self.case.fault == "time-outs" and not number % 2
        said = "Error: execution timed out after 30 s" if lost else "12"
        if self.case.fault == "grader" and not number % 3:
            said = "verifier request timed out"
        return [{"role": "assistant", "content": "print(3 * 4)"}, {"role": "tool", "content": said}]

    def step(self) -> None:
        """Sample, learn, push."""
        rows = [self.rollout(prompt) for prompt in self.prompts for _ in range(2)]
        rewards = torch.tensor([float(sum(each % 2 for each in ids[24:])) / 8 for ids, *_ in rows])
        if self.case.fault == "time-outs":
            rewards[::2] = 0.0
        self.rewards.append(float(rewards.mean()))
        advantages = rewards - rewards.mean()
        self.model.train(self.case.dropout)
        if self.watched.wants_rollouts:
            self.model.eval()
            with torch.no_grad():
                trained = [[0.0, *self.logps(ids).tolist()] for _, ids, *_ in rows]
            self.model.train(self.case.dropout)
            self.watched.rollouts(
                engine_ids=[row[0] for row in rows], trained_ids=[row[1] for row in rows],
                trained_mask=[row[2] for row in rows], sampled_mask=[row[2] for row in rows],
                sampled_logps=[row[3] for row in rows], trained_logps=trained, mask=[row[2] for row in rows],
                classes=[["text"] * len(row[1]) for row in rows],
                answers=[self.episode(number) for number in range(len(rows))], rewards=rewards.tolist(),
                ends=[END],
            )  # fmt: skip
        loss = sum(
            -advantage * (self.logps(ids) * torch.tensor(mask[1:])).sum() / 16
            for (_, ids, mask, _), advantage in zip(rows, advantages, strict=True)
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(float(loss.detach()))

    def logps(self, ids: list[int]) -> Any:
        logits = self.model(torch.tensor([ids])).logits[0, :-1]
        return logits.log_softmax(-1).gather(1, torch.tensor(ids[1:]).unsqueeze(1)).squeeze(1)


def run(case: Case) -> Ran:
    """Run a case to its end."""
    with ExitStack() as stack:
        loop = Loop(case, stack)
        stack.callback(loop.watched.close)
        loop.push(0)
        for step in range(1, case.steps + 1):
            loop.step()
            loop.push(step)
        loop.watched.close()
    weights = [each.detach().clone() for each in loop.model.parameters()]
    ran = Ran(loop.guard.findings, loop.losses, loop.rewards, weights, loop.watched, loop.engine)
    ran.printed = loop.printed
    return ran
