"""Judges VLL5449/lora_rank, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.adapters import Adapter, Adapters
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: `max_lora_rank` of all releases (https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/config.py, `LoRAConfig`)
_DEFAULT = 16


@check(PROBLEM)
def adapter_above_the_limit(adapters: Adapters, serving: Serving, launch: Launch) -> Judgement:
    """Adapters that `--lora-modules` names are loaded when the server starts."""
    if not serving.kind.startswith("vllm") or serving.arguments.get("lora_modules") is None:
        return
    limit = serving.arguments.get("max_lora_rank")
    most = whole(limit.value) if limit is not None else _DEFAULT
    for adapter in adapters.listed:
        rank, setting = _rank(adapter)
        if most is None or rank is None or rank <= most or not any(adapter.name in word for word in launch.argv):
            continue
        yield found(
            PROBLEM, TOML["log"], where=place_of(setting), evidence=quoted(setting, limit), rank=rank, most=most,
            commands=(f"--max-lora-rank {rank}",),
        )  # fmt: skip


def _rank(adapter: Adapter) -> tuple[int | None, Observed | None]:
    """The largest rank of an adapter, with the key that says it."""
    keys = [name for name in adapter.settings if name == "r" or name.startswith("rank_pattern.")]
    ranks = [(whole(adapter.settings[name].value), adapter.settings[name]) for name in keys]
    told = [(rank, setting) for rank, setting in ranks if rank is not None]
    return max(told, key=lambda each: each[0]) if told else (None, None)
