"""Options of launchers, as their releases state them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any


class Option:
    """An option as its parser declares it; `words` is 0, 1, "?", "*" or "+"."""

    __slots__ = ("constant", "name", "type", "words")

    def __init__(self, name: str, words: int | str = 1, kind: str | None = None, constant: object = True) -> None:
        self.name = name
        self.words = words
        self.type = kind
        self.constant = constant


#: likeness from which on a name is taken for a slip
_NEAR = 0.85


class OptionTable:
    """All options of a program; `abbreviations`: whether an unambiguous prefix will do."""

    __slots__ = ("abbreviations", "options")

    def __init__(self, options: Mapping[str, Option], *, abbreviations: bool = True) -> None:
        self.options = options
        self.abbreviations = abbreviations


def nearest(name: str, options: Iterable[str]) -> str:
    """The option that a name is nearly, "" where there is none."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(options), n=1, cutoff=_NEAR)), "")


@cache
def _launchers() -> dict[str, Any]:
    text = (Path(__file__).parents[1] / "data" / "launchers.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def trl_accelerate_config(name: str) -> dict[str, Any] | None:
    """What TRL ships under `trl/accelerate_configs/NAME.yaml` (the same in 0.19.1 to 1.16.0), None for another name."""
    content: dict[str, Any] | None = _launchers()["trl_accelerate_configs"].get(name)
    return content


@cache
def table(launcher: str) -> OptionTable:
    """Table of "accelerate", "torchrun", "deepspeed", "trl", "trl-vllm-serve", "vllm" or "vllm-api-server"."""
    entries = _launchers()["launchers"][launcher]["options"]
    return OptionTable(
        {option: Option(*entry) for option, entry in entries.items()}, abbreviations=launcher != "accelerate"
    )


def names_of(launcher: str) -> frozenset[str]:
    """Names of a launcher's options, in snake case."""
    return frozenset(option.name for option in table(launcher).options.values())
