"""What the files of a problem hold, whether a TOML declares it or, as third parties may, Python alone."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from functools import cache
from types import ModuleType
from typing import Any

from doctor.catalogue.finding import Message
from doctor.catalogue.index import Entry
from doctor.catalogue.words import LOG, MAIN, ProblemWords, words_of

#: how the messages of a problem in Python are called that the engine asks for
_NAMES = {"MESSAGE": MAIN, "LOG_MESSAGE": LOG}


def code_of(entry: Entry) -> ModuleType | None:
    """The Python file of a problem, of a row else of its table; None where it takes no judgement.

    Imported when it is needed.
    """
    if entry.has_code:
        return importlib.import_module(entry.module)
    return importlib.import_module(entry.module.rpartition(".")[0]) if entry.shares_code else None


def function_of(entry: Entry, name: str) -> Any:
    """A function of the Python file of a problem, of a row else of its table; None where there is none.

    The index knows without an import which of them there are: most that are asked have none.
    """
    if not entry.may_have(name):
        return None
    function = getattr(code_of(entry), name, None)
    if function is None and entry.has_code and entry.shares_code:
        return getattr(importlib.import_module(entry.module.rpartition(".")[0]), name, None)
    return function


def declared(entry: Entry) -> ProblemWords:
    """Entry, messages and signatures of a problem."""
    return words_of(entry.module) if entry.words is not None else _in_python(entry.module)


@cache
def _in_python(name: str) -> ProblemWords:
    module = importlib.import_module(name)
    members = vars(module)
    told = asdict(members["PROBLEM"])
    told["messages"] = {
        _NAMES.get(each, each.lower()): _texts(message)
        for each, message in members.items()
        if isinstance(message, Message)
    }
    told["signatures"] = [asdict(each) for each in members.get("SIGNATURES", ())]
    for key in ("commands", "links", "confidence"):
        if f"LOG_{key.upper()}" in members:
            told[key] = members[f"LOG_{key.upper()}"]
    return ProblemWords(told)


def _texts(message: Message) -> dict[str, list[str]]:
    both = {"en": message.en, "zh": message.zh}
    return {language: list(vars(words).values()) for language, words in both.items() if words is not None}
