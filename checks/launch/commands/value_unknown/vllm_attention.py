"""Judges LCH0284/vllm_attention, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from difflib import get_close_matches

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
NAME = TOML["name"]
EMPTY = TOML["empty"]
VISION = TOML["vision"]
ENGINE = TOML["engine"]
INVARIANT = TOML["invariant"]
EXPERTS = TOML["experts"]
ARGUMENT = TOML["argument"]


SHOWN = 6  # names of the list that are told


@check(PROBLEM)
def attention_backend_name_refused(serving: Serving, choices: Choices | None) -> Judgement:
    """Judge an explicit name as vLLM reads it: in capitals, `auto` for none."""
    setting = serving.arguments.get("attention_backend")
    if setting is None or not setting.known or not isinstance(setting.value, str) or "$" in setting.value:
        return
    known = choices.of("vllm.AttentionBackendEnum") if choices is not None else ()
    name = setting.value.upper()
    if not known:
        yield Skip("the attention backends of the installed vLLM are not known")
    elif name not in {*known, "AUTO", "NONE", ""}:
        near = get_close_matches(name, known, 3, 0.5) or known[:SHOWN]
        yield found(
            PROBLEM, ARGUMENT, where=place_of(setting), evidence=(proof(setting),), confidence=CONFIRMED,
            name=setting.value, known=", ".join(f"`{each}`" for each in near),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Nothing, a name that is not there, or one that the model cannot use."""
    if hits.get("invariant") or hits.get("invariant_list"):
        return found(
            PROBLEM, INVARIANT, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
            backend=hits.get("invariant") or "the one that was chosen", commands=("unset VLLM_BATCH_INVARIANT",),
        )  # fmt: skip
    if hits.get("chosen") or hits.get("moe") or hits.get("backend_moe"):
        return _of_engine(hits)
    name = hits.get("name")
    message = VISION if hits.get("backend") else NAME if name else EMPTY
    known = [each.strip(" '") for each in (hits.get("known") or "").split(",")]
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        name=name or "", model=hits.get("model"), backend=hits.get("backend"),
        known=", ".join(f"`{each}`" for each in known[:SHOWN] if each), commands=("unset VLLM_ATTENTION_BACKEND",),
    )  # fmt: skip


def _of_engine(hits: Hits) -> Finding:
    """A model that has its attention, or its experts, for other backends."""
    fitting = [each.removeprefix("or ").strip() for each in (hits.get("fitting") or "").split(",")]
    known = [each.strip(" '") for each in (hits.get("list") or "").split(",")]
    chosen = hits.get("chosen")
    return found(
        PROBLEM, ENGINE if chosen else EXPERTS, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        only=hits.get("only"), chosen=chosen, fitting=", ".join(f"`{each}`" for each in fitting),
        first="triton" if "triton" in fitting else fitting[0].lower(), moe=hits.get("moe") or hits.get("backend_moe"),
        reason=f"no kernels for {hits.get('kind') or hits.get('lack')}",
        known=f": {', '.join(f'`{each}`' for each in known)}" if hits.get("list") else "",
    )  # fmt: skip
