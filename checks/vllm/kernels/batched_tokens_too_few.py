"""Judges batched-tokens-too-few (VLL042), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.vllm.length_beyond_window import PLAIN
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving, human_int

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


@check(PROBLEM)
def batched_tokens_too_few(serving: Serving, packages: Packages, model: Model | None) -> Judgement:
    """Both rules on explicit numbers; before 0.11 the engine of the release decides about chunks on its own."""
    setting = serving.arguments.get("max_num_batched_tokens")
    tokens = _number(setting)
    if setting is None or tokens is None:
        return
    seqs = serving.arguments.get("max_num_seqs")
    most = _number(seqs)
    evidence = proofs(setting, seqs)
    other, what = most, "`max_num_seqs`"
    if most is None or tokens >= most:
        off = _chunks_off(serving)
        length, source = _length(serving, model)
        if off is None or length is None or not packages.matches("vllm", ">=0.11"):
            return
        other, what, evidence = length, "`max_model_len`", (*proofs(setting, off), *source)
    if other is not None and tokens < other:
        yield found(
            PROBLEM, LOG_MESSAGE, where=place_of(setting), evidence=evidence, tokens=tokens, other=other, what=what,
            commands=(f"--max-num-batched-tokens {other}",),
        )  # fmt: skip


def _number(setting: Observed | None) -> int | None:
    return human_int(str(setting.value)) if setting is not None and setting.known else None


def _chunks_off(serving: Serving) -> Observed | None:
    """The setting that switches chunked prefill off, None where none does for certain."""
    negated, plain = (serving.arguments.get(f"{each}enable_chunked_prefill") for each in ("no_", ""))
    if negated is not None:
        return negated
    return plain if plain is not None and plain.known and truth(plain.value) is False else None


def _length(serving: Serving, model: Model | None) -> tuple[int | None, tuple[Observed, ...]]:
    """The longest sequence: as told, else the window of a model of a plain kind."""
    told = serving.arguments.get("max_model_len")
    if told is not None:
        return serving.max_model_len, proofs(told)
    if model is None or model.model_type not in PLAIN or model.rope_type not in {None, "default", "llama3"}:
        return None, ()
    window = model.max_position_embeddings
    return window, (Observed.quoted(model.stated_in, f"max_position_embeddings: {window}"),)


def explain(hits: Hits) -> Finding | None:
    """Which of the two rules it was."""
    what = "`max_model_len`" if hits.of(0) else "`max_num_seqs`"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        tokens=hits.get("tokens"),
        other=hits.get("other"),
        what=what,
        commands=(f"--max-num-batched-tokens {hits.get('other')}",),
    )
