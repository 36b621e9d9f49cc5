"""Reward functions of a TRL trainer: which of them returned NaN or an infinity, and for which completions."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, Message, Where, Words, found
from doctor.catalogue.problem import WARNING
from doctor.checks.numerics.loss_or_gradient_not_finite import PROBLEM as NOT_FINITE
from doctor.checks.rl.rewards.reward_missing import PROBLEM as MISSING
from doctor.monitors.guard.shield import shielded

#: rows named in a finding, and results looked at: a reward function gives one number a completion
MOST_ROWS, MOST_RESULTS = 20, 100_000

_FLOATS = {float}

_VALUES = {"nan": "NaN", "inf": "inf", None: "NaN/inf"}

_RETURNED = Message(
    en=Words(
        "Reward function `{function}` returned {kind} for {count} of {total} completions",
        "Newer TRL treats a NaN like None, and with an infinite reward gives the whole group no "
        "advantage. Code that does not check for them gets NaN advantages, and then NaN weights.",
        "Return a finite float for every completion: guard divisions, logarithms and parsing, and return 0.0 (or None "
        "if the function does not apply to the completion) instead.",
    ),
    zh=Words(
        "奖励函数 `{function}` 对 {total} 个生成中的 {count} 个返回了 {kind}",
        "较新的 TRL 把 NaN 当作 None 忽略,而无穷大的奖励会使整组没有优势值;"
        "不检查它们的代码会得到 NaN 优势值,进而得到 NaN 权重。",
        "对每个生成都返回有限的浮点数:保护除法、对数和解析,改为返回 0.0(函数不适用于该生成时返回 None)。",
    ),
)
_INFINITE = Message(
    en=Words(
        "`{name}` is {value} at step {step}: reward function `{function}` returned {kind}",
        "An infinite or NaN reward makes the advantages of its whole group NaN, and with them the loss and every "
        "gradient. The model itself is finite.",
        "Return a finite float for every completion: guard divisions, logarithms and exponentials in `{function}`.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}:奖励函数 `{function}` 返回了 {kind}",
        "无穷大或 NaN 的奖励会使整组的优势值变为 NaN,loss 和所有梯度随之变为 NaN。模型本身是有限的。",
        "对每个生成都返回有限的浮点数:保护 `{function}` 中的除法、对数和指数运算。",
    ),
)


class Bad(NamedTuple):
    """What one reward function returned that is no number: `kind` "nan" or "inf", and the rows of this rank."""

    function: str
    kind: str
    rows: tuple[int, ...]
    total: int


class Rewards:
    """Looks at what the reward functions of a trainer return; `bad` holds the last generation's trouble."""

    def __init__(self, told: Callable[[Bad], None]) -> None:
        self._told = told
        self._trainer: Any = None
        self._originals: list[Any] = []
        self.bad: dict[str, Bad] = {}
        #: what lies on a device, by function: to read it there would make the trainer wait
        self._unread: dict[str, Any] = {}

    def attach(self, trainer: Any) -> None:
        """Wrap each reward function in the trainer's list; models and asynchronous objects are left as they are."""
        functions = getattr(trainer, "reward_funcs", None)
        if not isinstance(functions, list):
            return
        names = getattr(trainer, "reward_func_names", None) or [_name(each) for each in functions]
        self._trainer, self._originals = trainer, functions
        trainer.reward_funcs = [
            self._watched(each, str(name)) if _watchable(each) else each
            for each, name in zip(functions, names)  # noqa: B905 - Python 3.9 has no strict=
        ]

    def detach(self) -> None:
        """Put the user's own list back."""
        if self._trainer is not None:
            self._trainer.reward_funcs = self._originals
            self._trainer = None
        self._unread = {}

    def _watched(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._look(name, result)
            return result

        @functools.wraps(original)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            result = await original(*args, **kwargs)
            self._look(name, result)
            return result

        return awaited if inspect.iscoroutinefunction(original) else watched

    @shielded
    def _look(self, name: str, result: Any) -> None:
        """Note a NaN or an infinity; what lies on a device is kept, to be read if there is an alarm."""
        if self.bad or self._unread:
            self.bad.pop(name, None)
            self._unread.pop(name, None)
        if _plainly_finite(result):
            return
        if _all_here(result):
            self._note(name, _values(result))
        else:
            self._unread[name] = result

    def first_bad(self) -> Optional[Bad]:
        """What a function has returned that is no number, if any has; waits for the device where it lies on one."""
        while self._unread:
            name, result = self._unread.popitem()
            self._read(name, result)
        return next(iter(self.bad.values()), None)

    @shielded
    def _read(self, name: str, result: Any) -> None:
        self._note(name, _values(result))

    def _note(self, name: str, values: Sequence[float]) -> None:
        bad = {row: each for row, each in enumerate(values) if not math.isfinite(each)}
        if bad:
            kind = "inf" if any(map(math.isinf, bad.values())) else "nan"
            self.bad[name] = Bad(name, kind, tuple(bad), len(values))
            self._told(self.bad[name])


def returned_no_number(bad: Bad, step: Optional[int]) -> Finding:
    """The finding that a function returned NaN or an infinity, whatever the trainer makes of it."""
    return found(
        MISSING, _RETURNED, severity=WARNING, where=Where(step=step), evidence=(_evidence(bad),),
        function=bad.function, kind=_VALUES[bad.kind], count=len(bad.rows), total=bad.total,
    )  # fmt: skip


def born_in_reward(bad: Bad, name: str, kind: Optional[str], step: int, rank: Optional[int]) -> Finding:
    """The finding that loss or gradient is not finite because a reward was not."""
    return found(
        NOT_FINITE, _INFINITE, where=Where(step=step, rank=rank), evidence=(_evidence(bad),), name=name,
        value=_VALUES[kind], step=step, function=bad.function, kind=_VALUES[bad.kind],
    )  # fmt: skip


def _evidence(bad: Bad) -> Observed:
    rows = ", ".join(map(str, bad.rows[:MOST_ROWS]))
    return Observed.quoted(
        "guard", f"{bad.function}: {bad.kind} for rows {rows} of this rank's {bad.total} completions"
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _plainly_finite(result: Any) -> bool:
    """Whether it is a list of Python's own floats, all finite; False tells nothing: their sum may overflow."""
    return type(result) is list and set(map(type, result)) == _FLOATS and math.isfinite(sum(result))


def _values(result: Any) -> Sequence[float]:
    """What a function returned for each completion, where it is a list, or an array or tensor; else empty.

    0.0 stands for what is no number (None: the function is not meant for that completion).
    """
    if not isinstance(result, (list, tuple)):
        if getattr(result, "ndim", None) != 1 or getattr(result, "is_meta", False):
            return ()
        result = result.tolist()
    return [_number(each) for each in result] if len(result) <= MOST_RESULTS else ()


def _number(value: Any) -> float:
    if not isinstance(value, float) and getattr(value, "ndim", None) == 0 and not getattr(value, "is_meta", False):
        value = value.item()  # a number of numpy, or a tensor
    return value if isinstance(value, float) else 0.0


def _all_here(result: Any) -> bool:
    """Whether nothing of it lies on a device."""
    if isinstance(result, (list, tuple)):
        return len(result) > MOST_RESULTS or all(map(_on_cpu, result))
    return _on_cpu(result)


def _on_cpu(array: Any) -> bool:
    device = getattr(array, "device", "cpu")  # numpy's are text, torch's have a type
    return getattr(device, "type", device) == "cpu"


def _watchable(function: Any) -> bool:
    """Whether a function around it is taken for the same kind of thing by every TRL: no model, and no object whose
    call is asynchronous, which some versions tell from its class.
    """
    is_model = hasattr(function, "forward") and hasattr(function, "parameters")
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    hidden = inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004 - the bound method itself
    return callable(function) and not is_model and not hidden
