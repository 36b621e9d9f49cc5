"""The ratio of new to old probabilities in the loss of a first step, before any weight has changed: it must be 1.

It is found in the graph of the loss: an exponential that is clamped to an interval around 1, as PPO and GRPO do.
https://arxiv.org/abs/1707.06347
The graph keeps the result for the backward pass (`_saved_result`), so that nothing is computed for this.
https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, ClassVar

from doctor.monitors.rehearse import journal

#: nodes of a graph that are looked at: those of the loss stand before those of the model
_MOST_NODES = 4000
#: between which bounds an interval of a ratio begins and ends
_BELOW, _ABOVE = (0.3, 1.0), (1.0, 3.5)
#: a ratio that is another one than 1, whatever the precision of the logits
_OFF = 0.03


class Looked:
    """What this process has done so far."""

    over: ClassVar[bool] = False
    generated: ClassVar[bool] = False
    #: a parameter of each model that generated, by identity
    answered: ClassVar[set[int]] = set()


@journal.shielded
def generated(model: Any) -> None:
    """A model of this process generates: what is trained on may be its own answers."""
    Looked.generated = True
    Looked.answered.add(id(next(model.parameters(), None)))


@journal.shielded
def trains(model: Any) -> None:
    """A model trains: of answers that another one gave, the old probabilities are that one's."""
    if id(next(model.parameters(), None)) not in Looked.answered:
        over()


def over() -> None:
    """A step is made, or the model draws (dropout): what is trained is another policy than the one that answered."""
    Looked.over = True


@journal.shielded
def look(loss: Any) -> None:
    """Look at the graph of a loss that is about to be differentiated; once."""
    node = getattr(loss, "grad_fn", None)
    if Looked.over or not Looked.generated or node is None:
        return
    for exponential in _exponentials(node):
        Looked.over = True
        result = exponential._saved_result.detach()  # noqa: SLF001 - what the graph keeps has no other name
        exponential.register_prehook(functools.partial(_arrived, result))
        return


@journal.shielded
def _arrived(ratio: Any, gradients: Any) -> None:
    """Tell the ratios that the loss depends on: what is masked may be anything."""
    values = ratio[gradients[0] != 0].float()
    if values.numel():
        off = (values - 1).abs() > _OFF
        journal.write(
            "ratio", values=int(values.numel()), off=int(off.sum()), least=float(values.min()),
            most=float(values.max()),
        )  # fmt: skip


def _exponentials(root: Any) -> Iterator[Any]:
    """Nodes of exponentials that are clamped around 1."""
    seen, todo = {root}, [root]
    while todo and len(seen) < _MOST_NODES:
        node = todo.pop(0)
        following = [each for each, _ in getattr(node, "next_functions", ()) if each is not None]
        if type(node).__name__.startswith("ClampBackward") and following and _around_one(node):
            inner = following[0]
            if type(inner).__name__ == "ExpBackward0":
                yield inner
        new = [each for each in following if each not in seen]
        seen.update(new)
        todo += new


def _around_one(node: Any) -> bool:
    low, high = getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return False
    return _BELOW[0] <= low < _BELOW[1] and _ABOVE[0] < high <= _ABOVE[1]
