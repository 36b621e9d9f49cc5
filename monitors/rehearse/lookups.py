"""A function that holds its right answers in a table, and looks them up by a prompt that the table does not have.

The proof is a second call: the same answers, with the prompts cut down to what the table's keys are, earn more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Optional

from doctor.monitors.rehearse import answers
from doctor.monitors.rehearse.asked import held_of
from doctor.monitors.rehearse.tries import Try

#: entries that a table has at least, and characters of a key that is found in a prompt by no chance
_LEAST_ENTRIES, _LEAST_KEY = 8, 6
#: forms of a right answer that are tried
_FORMS = 4
#: seconds for all of it
_WITHIN_S = 15.0


def table_of(function: Any, prompts: Sequence[str]) -> Optional[tuple[str, list[str], list[str]]]:
    """(name, keys, answers) of a table of the function's that has a key within each prompt; None without one."""
    for name, table in held_of(function):
        if not isinstance(table, Mapping) or len(table) < _LEAST_ENTRIES:
            continue
        usual = {key: value for key, value in table.items() if isinstance(key, str) and len(key) >= _LEAST_KEY}
        keys = [max((key for key in usual if key in prompt), key=len, default=None) for prompt in prompts]
        if keys and all(key is not None and isinstance(usual[key], (str, int, float)) for key in keys):
            known = [key for key in keys if key is not None]
            return name, known, [str(usual[key]) for key in known]
    return None


def tried(function: Any, batch: Mapping[str, Any], tags: Sequence[str]) -> Optional[dict[str, Any]]:
    """What right answers of a table earn with the run's own prompts, and with the table's; None without a table."""
    completions, given = batch["completions"], batch.get("prompts")
    if not isinstance(given, list) or len(given) != len(completions):
        return None
    prompts = [answers.text_of(each) for each in given]
    found = table_of(function, prompts)
    if found is None or all(key == prompt for key, prompt in zip(found[1], prompts)):  # noqa: B905 - Python 3.9
        return None
    name, keys, right = found
    until = time.monotonic() + _WITHIN_S
    cut = [_cut(each, key) for each, key in zip(given, keys)]  # noqa: B905
    best = {"own": 0.0, "cut": 0.0}
    for _, form in answers.forms(tags)[:_FORMS]:
        told = [answers.like(one, form(answers.final_of(each))) for one, each in zip(completions, right)]  # noqa: B905
        for kind, asked in (("own", given), ("cut", cut)):
            best[kind] = max(
                best[kind], _earned(function, {**batch, "completions": told, "prompts": asked}, until, told)
            )
    nothing = [answers.like(one, "") for one in completions]
    least = _earned(function, {**batch, "completions": nothing, "prompts": cut}, until, nothing)
    return {"name": name, "key": keys[0], "prompt": prompts[0][:200], "nothing": least, **best}


def _cut(prompt: Any, key: str) -> Any:
    """A prompt of the same shape that is the key alone."""
    if isinstance(prompt, list) and prompt and isinstance(prompt[-1], Mapping):
        return [*prompt[:-1], {**prompt[-1], "content": key}]
    return key


def _earned(function: Any, arguments: dict[str, Any], until_s: float, told: Sequence[Any]) -> float:
    one = Try("lookup", arguments, until_s, told)
    one.run(function)
    return fmean(one.known) if one.known else 0.0
