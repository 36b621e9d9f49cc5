"""Adds up what lies on a GPU in each phase of a step, with the uncertainty of every part.

Phases of a GRPO step: `generation`, `update` (forward and backward of a micro batch) and `step` (the optimizer). What
a phase holds is a list of parts; the most demanding phase decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from doctor.base.record import record
from doctor.sizing import activations, engine, output_layer
from doctor.sizing.host import host_of
from doctor.sizing.setup import GIB, Setup
from doctor.sizing.states import States, casts, states_of

#: relative uncertainty: counted tensors, estimates of the models' own code, and mere experience
COUNTED, ESTIMATED, ASSUMED = 0.02, 0.15, 0.5
#: CUDA's context with cuBLAS' workspaces, and NCCL's buffers where there are several ranks: assumed, not derived
CONTEXT_BYTES, NCCL_BYTES = 0.75 * GIB, 0.75 * GIB
#: what the allocator holds beyond the tensors, as a share of what comes and goes: assumed
FRAGMENTATION = 0.05
PHASES = ("generation", "update", "step")


@record
class MemoryPart:
    """Bytes of one kind, at least, as estimated and at most."""

    key: str
    low: float
    likely: float
    high: float


@record
class MemoryPhase:
    """What is on a GPU in a phase."""

    name: str
    parts: tuple[MemoryPart, ...]

    @property
    def low(self) -> float:
        """Least bytes."""
        return sum(each.low for each in self.parts)

    @property
    def likely(self) -> float:
        """Estimated bytes."""
        return sum(each.likely for each in self.parts)

    @property
    def high(self) -> float:
        """Most bytes."""
        return sum(each.high for each in self.parts)


@record
class Budget:
    """Phases of a GPU that trains, what a host holds, and the engine's own account (None without vLLM)."""

    phases: tuple[MemoryPhase, ...]
    host: MemoryPart
    states: States
    engine: engine.EngineMemory | None = None

    @property
    def peak(self) -> MemoryPhase:
        """The most demanding phase."""
        return max(self.phases, key=lambda each: each.likely)


def part(key: str, likely: float, margin: float) -> MemoryPart:
    """A part with the same uncertainty both ways."""
    return MemoryPart(key, likely * (1 - margin), likely, likely * (1 + margin))


def budget_of(setup: Setup) -> Budget:
    """The whole account of a setup."""
    states = states_of(setup)
    resident = [
        part("weights", states.weights, COUNTED),
        part("optimizer", states.optimizer, COUNTED),
        part("reference", states.reference, COUNTED),
        part("buckets", states.buckets, COUNTED),
        part("context", CONTEXT_BYTES + (NCCL_BYTES if setup.trainers > 1 else 0), ASSUMED),
    ]
    served = engine.engine_of(setup)
    generation = [*resident, *_kept_gradients(setup, states), *_generation(setup, served)]
    update = [*resident, *_update(setup, states), *_share(setup, served)]
    step = [*resident, *_step(states), *_share(setup, served)]
    phases = tuple(
        MemoryPhase(name, tuple(each for each in (*parts, _slack(parts)) if each.high > 0))
        for name, parts in (("generation", generation), ("update", update), ("step", step))
    )
    return Budget(phases, MemoryPart("host", *host_of(setup, states)), states, served)


def _slack(parts: Iterable[MemoryPart]) -> MemoryPart:
    """What the allocator holds and nobody uses: between nothing and twice the assumed share of what comes and goes."""
    lasting = {"weights", "optimizer", "reference", "buckets", "context", "engine", "asleep"}
    moving = sum(each.likely for each in parts if each.key not in lasting)
    return MemoryPart("slack", 0, moving * FRAGMENTATION, moving * 2 * FRAGMENTATION)


def _kept_gradients(setup: Setup, states: States) -> list[MemoryPart]:
    """ZeRO-3 keeps the buffer of its part of the gradients between steps; others give them back."""
    return [part("gradients", states.gradients, COUNTED)] if setup.stage == 3 else []


def _generation(setup: Setup, served: engine.EngineMemory | None) -> list[MemoryPart]:
    """While completions are made: the engine's share, or the trainer's own cache; and the weights' way there."""
    if served is not None and setup.rollout.engine == "colocate":
        return [MemoryPart("engine", served.share, served.share, served.share), _transfer(setup)]
    if setup.rollout.engine == "server":
        return [_transfer(setup)]
    sequences = setup.batch * setup.generation_steps
    cache = sequences * setup.sequence * setup.shape.cache_elements * setup.compute_width
    logits = sequences * setup.shape.vocabulary * 4 * 2  # next-token scores in 32 bit, and their sorted copy
    whole = setup.shape.parameters * setup.compute_width if setup.shards_weights else 0
    return [
        MemoryPart("cache", cache, cache, cache * 1.5),  # a growing cache is copied when it grows
        part("logits", logits, ASSUMED),
        part("gathered", whole, COUNTED),
    ]


def _transfer(setup: Setup) -> MemoryPart:
    """Weights on their way to the engine: one gathered parameter at a time; with LoRA the whole model under ZeRO-3.

    https://github.com/huggingface/trl/blob/main/trl/generation/vllm_generation.py, `_iter_named_params`
    """
    width = setup.compute_width
    if not setup.shards_weights:
        return part("transfer", 0, 0)
    if setup.lora is not None and setup.deepspeed:
        return part("transfer", setup.shape.parameters * width, COUNTED)
    return part("transfer", max(setup.shape.embedding, setup.shape.largest_layer // 2) * width, ESTIMATED)


def _share(setup: Setup, served: engine.EngineMemory | None) -> list[MemoryPart]:
    """What a colocated engine holds while the trainer works."""
    if served is None or setup.rollout.engine != "colocate":
        return []
    if setup.rollout.sleep:
        return [MemoryPart("asleep", 0.25 * GIB, 1.0 * GIB, 2.0 * GIB)]
    return [MemoryPart("engine", served.share, served.share, served.share)]


def _update(setup: Setup, states: States) -> list[MemoryPart]:
    """The larger of two moments: backward's begin with all activations, or its end with all gradients."""
    found = activations.activations_of(setup)
    begun = states.gradients if keeps_gradients(setup) else 0
    backward, forward = output_layer.backward_bytes(setup), output_layer.forward_bytes(setup)
    copies = casts(setup)  # without checkpointing they wait for backward, with it they go when forward ends
    frozen = setup.lora is not None and setup.checkpointing  # whose copies are those of the layer at hand
    if frozen:
        head = max(backward, forward)
    elif not setup.checkpointing or copies + forward > max(backward, found.layer + found.working):
        head = max(backward, forward) if not setup.checkpointing else forward
    else:
        head, copies = backward, 0
    early = begun + found.kept + max(head, found.layer + found.working) + copies
    late = states.gradients + found.layer + found.working + 4 * setup.shape.embedding * (setup.lora is None)
    gathered = MemoryPart("gathered", states.gathered_low, (states.gathered_low + states.gathered_high) / 2,
                    states.gathered_high)  # fmt: skip
    if early >= late:
        output = max(0, head - found.layer - found.working)
        return [
            part("gradients", begun, COUNTED),
            part("activations", found.kept + found.layer + found.working, _margin(setup)),
            part("logits", output, ESTIMATED),
            part("casts", copies, COUNTED),
            gathered,
        ]
    return [
        part("gradients", states.gradients, COUNTED),
        part("activations", late - states.gradients, _margin(setup)),
        gathered,
    ]


def keeps_gradients(setup: Setup) -> bool:
    """Whether gradients of earlier micro batches are there when another one begins; ZeRO-3's buffer always is."""
    return setup.accumulation > 1 or setup.stage == 3


def _margin(setup: Setup) -> float:
    """Experts, image towers and unknown families are less certain."""
    shape = setup.shape
    plain = shape.exact and not shape.most_experts and not any(each.vision for each in shape.matrices)
    return ESTIMATED if plain else 2 * ESTIMATED


def _step(states: States) -> list[MemoryPart]:
    """The optimizer's step: gradients of a whole step, and DeepSpeed's 32-bit copy of its part."""
    return [part("gradients", states.gradients, COUNTED), part("step_copy", states.step_copy, ESTIMATED)]
