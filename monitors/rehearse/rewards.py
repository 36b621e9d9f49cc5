"""The user's reward functions: timed, tried as an optimiser would try them, and given noise to learn from.

They are called with what they return nothing else for: the same prompts and columns, with other completions. What they
say of the tiny model's own completions goes to the trainer, with noise added, so that gradients exist although no
completion of random weights earns anything.
"""

from __future__ import annotations

import copy
import functools
import inspect
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any, Optional

from doctor.monitors.rehearse import answers, journal, lookups
from doctor.monitors.rehearse.asked import answers_of, asked, holds, names_of
from doctor.monitors.rehearse.settings import settings
from doctor.monitors.rehearse.tries import ALL_S, Try, number_of

_NOISE = 0.01
_MOST_TEXTS = 200
_SILENT = ("log_extra", "log_metric")


def watch(trainer: Any) -> None:
    """Stand around each reward function of a trainer; models are left as they are."""
    functions = getattr(trainer, "reward_funcs", None)
    if not isinstance(functions, list):
        return
    if not all(map(_watchable, functions)):
        journal.left_out("reward", "models_as_rewards")
    texts = [each for function in functions for each in texts_of(function)]
    trainer.reward_funcs = [_watched(each, trainer, texts) if _watchable(each) else each for each in functions]


def _watchable(function: Any) -> bool:
    return callable(function) and not (hasattr(function, "forward") and hasattr(function, "parameters"))


def _watched(original: Any, trainer: Any, texts: Sequence[str]) -> Any:
    tried = Tried(original, trainer, texts)

    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with tried.timed():
            result = original(*args, **kwargs)
        tried.once(args, kwargs, result)
        told = noisy(result)
        return result if told is None else told

    @functools.wraps(original)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with tried.timed():
            result = await original(*args, **kwargs)
        await tried.once_awaited(args, kwargs, result)
        told = noisy(result)
        return result if told is None else told

    hidden = inspect.iscoroutinefunction(getattr(original, "__call__", None))  # noqa: B004 - the bound method itself
    return awaited if inspect.iscoroutinefunction(original) or hidden else watched


@journal.shielded
def noisy(result: Any) -> Any:
    """The same rewards with a little noise; what is no list of numbers goes on as it is."""
    if not settings().tiny or not isinstance(result, (list, tuple)):
        return result
    chosen = random.Random(len(result))  # noqa: S311 - nobody's secret
    return [each + chosen.uniform(0, _NOISE) if _is_number(each) else each for each in result]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Tried:
    """The tries of one function: at its first call, in the process that speaks for all.

    Args:
        function: the user's.
        trainer: whose it is.
        texts: what all functions of the trainer say of a format.

    """

    def __init__(self, function: Any, trainer: Any, texts: Sequence[str]) -> None:
        self._function, self._trainer, self._texts = function, trainer, texts
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self._lookup: Optional[dict[str, Any]] = None
        self._done = journal.rank() != 0 or settings().resume  # a second pass has its noise, and no second try

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time one call of the run's own."""
        began = time.monotonic()
        try:
            yield
        finally:
            journal.write("reward_call", function=self.name, seconds=time.monotonic() - began)

    @journal.shielded
    def once(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Try it, at the first call."""
        batch = self._batch(args, kwargs, result)
        if batch is None:
            return
        if threading.current_thread() is not threading.main_thread():
            journal.left_out("reward", "not_main_thread", function=self.name)
            return
        with journal.phase("reward"):
            for each in self._tries(batch, result):
                each.run(self._function)
            for each in self._near(batch):
                each.run(self._function)
            mixed = self._mixed(batch)
            if mixed is not None:
                mixed.run(self._function)
            if self._column is None:
                self._lookup = lookups.tried(self._function, batch, self._tags)
            self._tell(batch, mixed)

    async def once_awaited(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """The same of a function that is awaited."""
        try:
            await self._once_awaited(args, kwargs, result)
        except Exception:  # noqa: BLE001 - a bug of ours
            journal.crashed("Tried.once_awaited")

    async def _once_awaited(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        batch = self._batch(args, kwargs, result)
        if batch is None:
            return
        for each in self._tries(batch, result):
            await each.run_awaited(self._function)
        for each in self._near(batch):
            await each.run_awaited(self._function)
        mixed = self._mixed(batch)
        if mixed is not None:
            await mixed.run_awaited(self._function)
        self._tell(batch, mixed)

    def _batch(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Optional[dict[str, Any]]:
        """The named arguments of the first call; None where it was made already or cannot be repeated."""
        if self._done:
            return None
        self._done = True
        values = dict(kwargs)
        for name, each in zip(_places(self._function), args):  # noqa: B905 - Python 3.9 has no strict=
            values.setdefault(name, each)
        if not isinstance(values.get("completions"), list) or not values["completions"]:
            journal.left_out("reward", "unusual_call", function=self.name)
            return None
        return values if isinstance(result, (list, tuple)) else None

    def _tries(self, batch: dict[str, Any], result: Any) -> list[Try]:
        completions = batch["completions"]
        prompts = [answers.text_of(each) for each in batch.get("prompts") or [""] * len(completions)]
        found = answers.right_of(batch, len(completions), self._read())
        self._column = found[0] if found else None
        self._until_s = time.monotonic() + ALL_S
        texts = [*self._texts, *prompts[:2]]
        kinds = answers.of_rows(prompts, found[1] if found else None, texts)
        self._finals = [answers.final_of(each) for each in found[1]] if found else []
        whole = found[1] if found else []
        self._worked = bool(whole) and all(a != b.strip() for a, b in zip(self._finals, whole))  # noqa: B905
        self._tags = answers.tags_in(texts)
        self._lines = all(answers.on_lines(each, self._tags) for each in prompts)
        tries = [Try("again", self._with(batch, completions), self._until_s)]
        tries.append(Try("turned", self._with(_turned(batch), completions[::-1]), self._until_s))
        for kind in kinds:
            told = [answers.like(example, text) for example, text in zip(completions, kind.texts)]  # noqa: B905
            tries.append(Try(kind.kind, self._with(batch, told), self._until_s, told))
        self._results = tries
        self._own = [number_of(each) for each in result]
        return tries

    def _near(self, batch: dict[str, Any]) -> list[Try]:
        """Wrong numbers in the form whose right ones earned most; none where the answers are no numbers."""
        known = {each.kind: fmean(each.known) for each in self._results if each.known}
        near = [answers.near_of(each) for each in self._finals]
        forms = [(name, form) for name, form in answers.forms(self._tags) if f"right:{name}" in known]
        if not forms or not all(near):
            return []
        name, form = max(forms, key=lambda each: known[f"right:{each[0]}"])
        if known[f"right:{name}"] <= max(known.get("empty", 0.0), known.get("refusal", 0.0)):
            return []
        tries = []
        for at, kind in enumerate(("ends", "begins")):
            told = [
                answers.like(example, form(each[at]))
                for example, each in zip(batch["completions"], near)  # noqa: B905 - Python 3.9 has no strict=
                if each is not None
            ]
            tries.append(Try(f"{kind}:{name}", self._with(batch, told), self._until_s, told))
        self._results += tries
        return tries

    def _mixed(self, batch: dict[str, Any]) -> Optional[Try]:
        """Right and wrong answers in turns, where each row of one earned more than of the other; None elsewhere."""
        right = [each for each in self._results if each.kind.startswith("right:") and each.known]
        wrong = [each for each in self._results if each.kind.startswith("wrong:") and each.known]
        for good in right:
            for bad in wrong:
                if len(good.known) > 1 and all(a > b for a, b in zip(good.known, bad.known)):  # noqa: B905
                    told = [(bad if at % 2 else good).told[at] for at in range(len(good.told))]
                    return Try("mixed", self._with(batch, told), self._until_s, told)
        return None

    def _read(self) -> list[str]:
        """Columns of right answers that any function of the trainer reads: all are tried with the same answers."""
        functions = self._trainer.reward_funcs
        return [name for name in answers.ANSWER_COLUMNS if any(reads(each, name) for each in functions)]

    def _with(self, batch: dict[str, Any], completions: list[Any]) -> dict[str, Any]:
        """The arguments with other completions; what writes into the trainer's log writes nowhere."""
        values: dict[str, Any] = {}
        for name, each in batch.items():
            if name in _SILENT:
                values[name] = _nowhere
            elif isinstance(each, list):
                values[name] = _copied(completions if name == "completions" else each)
            else:
                values[name] = each
        ids = None if completions is batch["completions"] else _ids(self._trainer, completions)
        for name in ("completion_ids", "completions_ids"):
            if ids is not None and name in batch:
                values[name] = ids
        return values

    @journal.shielded
    def _tell(self, batch: dict[str, Any], mixed: Optional[Try]) -> None:
        again, turned = (next(each for each in self._results if each.kind == kind) for kind in ("again", "turned"))
        journal.write(
            "reward", function=self.name, rows=len(batch["completions"]), own=self._own[:64],
            again=again.values and again.values[:64], turned=turned.values and turned.values[::-1][:64],
            column=self._column,
            reads=self._judges(), lines=self._lines, absent=absent(self._function, batch),
            weight=self._weight(), place=_place(self._function), mixed=mixed and mixed.known[:64],
            worked=self._worked, lookup=self._lookup,
            near=[self._finals[0], *(answers.near_of(self._finals[0]) or ())] if self._finals else [],
            tries={each.kind: each.as_data() for each in self._results[2:]},
        )  # fmt: skip

    def _judges(self) -> bool:
        """Whether the function has the right answers: it takes their column, or holds them itself."""
        if self._column is None or reads(self._function, self._column):
            return self._column is not None
        return holds(self._function, answers_of(getattr(self._trainer, "train_dataset", None), self._column))

    def _weight(self) -> float:
        names = [getattr(each, "__name__", "") for each in self._trainer.reward_funcs]
        weights = getattr(self._trainer, "reward_weights", None)
        try:
            return float(weights[names.index(self.name)]) if weights is not None else 1.0
        except (ValueError, IndexError, TypeError):
            return 1.0


def _turned(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The same rows from the last to the first."""
    rows = len(batch["completions"])
    return {name: each[::-1] if isinstance(each, list) and len(each) == rows else each for name, each in batch.items()}


def _places(function: Any) -> tuple[str, ...]:
    """Names of what a function is handed by place: TRL's early releases hand over prompts first, ms-swift completions.

    https://github.com/modelscope/ms-swift/blob/v3.9.3/swift/plugin/orm.py
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ("prompts", "completions")
    return tuple(each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))


def _nowhere(*_: Any, **__: Any) -> None:
    """Where tries log."""


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - images and the like
        return list(value)


def _ids(trainer: Any, completions: list[Any]) -> Optional[list[list[int]]]:
    """Token ids of the completions, where the tokenizer gives some."""
    made = getattr(trainer, "processing_class", None)
    tokenizer: Any = getattr(made, "tokenizer", made)
    try:
        texts = [answers.text_of(each) for each in completions]
        return [list(each) for each in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    except Exception:  # noqa: BLE001 - a trainer without one
        return None


def texts_of(function: Any) -> list[str]:
    """Strings that a function and the functions of its module that it calls hold: formats and patterns."""
    found: list[str] = []
    seen: set[int] = set()
    left = [inspect.unwrap(function) if callable(function) else function]
    while left and len(found) < _MOST_TEXTS:
        each = left.pop()
        inner = getattr(each, "func", None) or getattr(each, "__func__", None) or each
        code = getattr(inner, "__code__", None) or _code_of_class(inner)
        if code is None or id(code) in seen or len(seen) > 20:
            continue
        seen.add(id(code))
        found += _constants(code)
        around = getattr(inner, "__globals__", {})
        for name in names_of(code):
            value = around.get(name)
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found.append(value.pattern)
            elif inspect.isfunction(value) and value.__module__ == getattr(inner, "__module__", None):
                left.append(value)
    return found


def _code_of_class(value: Any) -> Any:
    """Code that calling an object runs; None where its class says nothing of it in Python."""
    return getattr(getattr(type(value), "__call__", None), "__code__", None)  # noqa: B004 - the function itself


def _constants(code: Any) -> list[str]:
    found = []
    for each in code.co_consts:
        if isinstance(each, str):
            found.append(each)
        elif hasattr(each, "co_consts"):
            found += _constants(each)
    return found


def reads(function: Any, column: Optional[str]) -> bool:
    """Whether a function takes the column: as a parameter, or by its name among the rest."""
    if column is None:
        return False
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return column in parameters or column in texts_of(function)


def absent(function: Any, batch: Mapping[str, Any]) -> list[str]:
    """Columns of right answers that a function asks for and is not given; empty where it is given one of them."""
    wanted = asked(function) & set(answers.ANSWER_COLUMNS)
    return [] if wanted & set(batch) else sorted(wanted)


def _place(function: Any) -> str:
    inner = inspect.unwrap(function) if callable(function) else function
    code = getattr(getattr(inner, "func", inner), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
