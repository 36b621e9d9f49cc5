"""A plan as plain data, sizes in bytes: what `doctor plan --format json` prints."""

from __future__ import annotations

from typing import Any

from doctor.sizing.budget import MemoryPhase
from doctor.sizing.engine import EngineMemory
from doctor.sizing.planning import SizingPlan
from doctor.sizing.setup import Rollout, Setup
from doctor.sizing.verdict import Advice
from doctor.sizing.words import WORDS


def as_dict(plan: SizingPlan, language: str) -> dict[str, Any]:
    """The plan as JSON takes it; the notes in the language asked for."""
    words, verdict, advice, batches = WORDS[language], plan.verdict, plan.advice, plan.batches
    return {
        "schema": "doctor-plan/1",
        **_request(plan.setup),
        "phases": [_phase(each) for each in plan.budget.phases],
        "host_bytes": round(plan.budget.host.likely),
        "host_high_bytes": round(plan.budget.host.high),
        "engine": None if plan.budget.engine is None else _engine(plan.budget.engine, plan.setup.rollout),
        "verdict": {
            "word": verdict.word, "gpu": verdict.gpu, "host": verdict.host, "cache": verdict.cache,
            "room": round(verdict.room, 4),
        },
        "advice": None if advice is None else {
            **_advice(advice), "others": [_advice(each) for each in advice.others],
        },
        "batches": {
            "completions": batches.completions, "prompts": batches.prompts,
            "completions_a_step": batches.completions_a_step, "prompts_a_step": batches.prompts_a_step,
            "tokens": batches.tokens, "suggested_generations": list(batches.suggested),
            "steps_an_epoch": batches.steps_an_epoch, "hours": batches.hours,
        },
        "files": dict(plan.launch.files),
        "commands": [list(each) for each in plan.launch.commands],
        "notes": [{"key": key, "text": words[f"note_{key}"].format(**values)} for key, values in plan.notes],
    }  # fmt: skip


def _advice(advice: Advice) -> dict[str, Any]:
    changes = [{"what": each.key, "before": each.before, "after": each.after} for each in advice.changes]
    return {"changes": changes, "verdict": advice.verdict.word}


def _request(setup: Setup) -> dict[str, Any]:
    """The request as it was understood."""
    shape, cards = setup.shape, setup.hardware
    return {
        "model": {
            "name": shape.name, "family": shape.family, "parameters": shape.parameters, "active": shape.active,
            "exact": shape.exact, "layers": shape.layers, "hidden": shape.hidden, "vocabulary": shape.vocabulary,
        },
        "hardware": {
            "gpus": cards.gpus, "nodes": cards.nodes, "gpu_bytes": cards.gpu_bytes, "name": cards.name,
            "trainers": setup.trainers, "server": setup.rollout.gpus,
        },
        "strategy": setup.strategy,
        "offload": "all" if setup.offload_parameters else "optimizer" if setup.offload_optimizer else "none",
        "trained_parameters": setup.trained,
    }  # fmt: skip


def _phase(phase: MemoryPhase) -> dict[str, Any]:
    parts = [
        {"name": each.key, "low_bytes": round(each.low), "bytes": round(each.likely), "high_bytes": round(each.high)}
        for each in phase.parts
    ]
    return {
        "name": phase.name, "low_bytes": round(phase.low), "bytes": round(phase.likely),
        "high_bytes": round(phase.high), "parts": parts,
    }  # fmt: skip


def _engine(served: EngineMemory, rollout: Rollout) -> dict[str, Any]:
    return {
        "mode": rollout.engine, "share": rollout.share, "share_bytes": round(served.share),
        "weights_bytes": round(served.weights), "working_bytes": round(served.working),
        "cache_bytes": round(served.cache), "cache_bytes_a_token": served.token, "sequences": served.sequences,
        "wanted": served.wanted, "tensor_parallel": served.tensor_parallel, "replicas": served.replicas,
        "sleep": rollout.sleep,
    }  # fmt: skip
