"""What public sources say of well-known models: `models.jsonl`, a line a model, of which one is read.

tools/build_model_table.py makes the file; its first line names the sources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from doctor.base.record import record

_TABLE = Path(__file__).parent / "models.jsonl"


@record
class KnownModel:
    """A model of the hub as published files state it.

    Args:
        name: on the hub, `Qwen/Qwen2.5-7B`.
        config: those keys of its `config.json` that are stated and agreed on; a key that is absent is not known.
        parameters: counted from `config`, None where it does not suffice.
        gated: the hub wants an agreement before it hands the files out; False: nobody says so.
        own_code: the repository holds code of its own (`auto_map`); False: nobody says so.
        sources: addresses of the files, those that their makers published first.

    """

    name: str
    config: Mapping[str, Any]
    parameters: int | None
    gated: bool
    own_code: bool
    sources: tuple[str, ...]


def known_model(name: str) -> KnownModel | None:
    """The model of that name on the hub, whatever its case; None when no source speaks of it."""
    text, lowered = _texts()
    at = lowered.find(f'\n{{"id":{json.dumps(name.lower())},')
    if at < 0:
        return None
    entry = json.loads(text[at + 1 : text.index("\n", at + 1)])
    addresses = json.loads(text[: text.index("\n")])["sources"]
    config = dict(entry["config"])
    return KnownModel(
        name=entry["id"],
        own_code=bool(config.pop("own_code", False)),
        config=config,
        parameters=entry.get("parameters"),
        gated=bool(entry.get("gated")),
        sources=tuple(addresses[number] for number in entry["sources"]),
    )


@cache
def _texts() -> tuple[str, str]:
    text = _TABLE.read_text(encoding="utf-8")
    return text, text.lower()
