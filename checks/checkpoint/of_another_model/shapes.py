"""Judges CKP7555/shapes, a row of of-another-model; its words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.checkpoints import Checkpoints
from doctor.facts.model import Model

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_VOCABULARY = TOML["log_vocabulary"]
LOG_MESSAGE_LORA = TOML["log_lora"]
LOG_MESSAGE = TOML["log"]
RESUMED = TOML["resumed"]

#: sizes of a model that no script changes between loading and training, as the vocabulary may be
_SIZES = ("hidden_size", "layers", "attention_heads", "kv_heads", "intermediate_size")


#: no other table of a language model has as many rows as its vocabulary
_ROWS = 20_000

_TABLES = ("embed_tokens", "lm_head", "wte", "word_embeddings", "embed_out")


def _longer_table(weight: str, saved: str, here: str) -> bool:
    """Whether the vocabulary alone differs: the rows of a table whose width, the hidden size, is the same.

    Accelerate tells only the last part of a weight's name.
    """
    (rows, *width), (own_rows, *own_width) = saved.split(", "), here.split(", ")
    if rows == own_rows or width != own_width or "lora_" in weight:
        return False
    return any(part in weight for part in _TABLES) or (
        weight == "weight" and len(width) == 1 and min(int(rows), int(own_rows)) > _ROWS
    )


@check(PROBLEM)
def resumed_from_another(checkpoints: Checkpoints, model: Model) -> Judgement:
    """The configuration in the checkpoint against that of the model that the run starts from."""
    there = checkpoints.resumed
    if there is None or there.is_adapter or model.is_adapter:
        return
    both = ((name, getattr(there, name), getattr(model, name)) for name in _SIZES)
    differing = [(name, old, new) for name, old, new in both if old is not None and new is not None and old != new]
    if not differing:
        return
    name, old, new = differing[0]
    file = f"{there.folder}/config.json"
    yield found(
        PROBLEM, RESUMED, where=Where(file=file), confidence=LIKELY, folder=there.name, model=model.name,
        size=name, saved=old, here=new,
        evidence=(
            Observed.quoted(file, f"{name}: {old}"), Observed.quoted(model.stated_in, f"{name}: {new}"),
        ),
    )  # fmt: skip


def of_rehearsal(checkpoint: Mapping[str, Any]) -> Finding | None:
    """Judge a checkpoint or an adapter beside the model that it is loaded into, by the headers of both.

    Args:
        checkpoint: `folder`, and `shapes`: weight -> [shape in the checkpoint, shape in the model].

    """
    shapes = checkpoint.get("shapes") or {}
    if not shapes:
        return None
    weight, (saved, here) = next(iter(shapes.items()))
    told = [", ".join(map(str, each or ())) for each in (saved, here)]
    evidence = Observed.quoted(checkpoint["folder"], f"{len(shapes)} weights of another shape, first {weight}: {told}")
    message = LOG_MESSAGE_LORA if "lora_" in weight else LOG_MESSAGE
    return found(PROBLEM, message, evidence=(evidence,), weight=weight, saved=told[0], here=told[1])


def explain(hits: Hits) -> Finding | None:
    """The name of the first weight, and which of its sizes differ, tell which of the causes it is."""
    weight = hits.get("weight") or ""
    saved = hits.get("saved") or ""
    here = hits.get("here") or ""
    vocabulary = _longer_table(weight, saved, here)
    lora = "lora_" in weight
    return found(
        PROBLEM,
        LOG_MESSAGE_LORA if lora else LOG_MESSAGE_VOCABULARY if vocabulary else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        weight=".".join(weight.split(".")[-3:]),
        saved=saved,
        here=here,
        rows=saved.split(",")[0],
    )
