"""Which operation of the backward made the first NaN, and which statement had called for it.

Runs inside the patient, and only after an alarm whose forward and loss were finite: Python 3.9, its own torch. The
backward of that micro-batch is run once more under torch's anomaly mode. Its gradients go nowhere: they are asked for
(`torch.autograd.grad`) rather than accumulated, so that those of the step, DDP's buckets and optimizers inside of hooks
stay as they are. Of one process only: a backward over ranks is full of collectives.
https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
"""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any, Callable, NamedTuple, Optional

from doctor.base.own_frames import is_own

_RETURNED = re.compile(r"Function '(\w+)' returned nan values")
_FRAME = re.compile(
    r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>\S+)\n    (?P<text>.+)$', re.MULTILINE
)
_TORCH = re.compile(r"/(?:site|dist)-packages/torch/")


class Operation(NamedTuple):
    """An operation of the backward whose result was NaN.

    Args:
        name: torch's name of it, "SqrtBackward0".
        file, line, text: the statement of the forward that called for it, the innermost outside of torch; None where
            torch does not tell.

    """

    name: str
    file: Optional[str] = None
    line: Optional[int] = None
    text: Optional[str] = None

    @property
    def words(self) -> str:
        """As a line of evidence."""
        if self.file is None:
            return f"first NaN of the backward: {self.name}"
        return f"first NaN of the backward: {self.name}, of `{self.text}` ({self.file}:{self.line})"


def first_nan(model: Any, forward: Callable[[], Any]) -> Optional[Operation]:
    """Run forward and backward once more; None where that shows nothing, or cannot be done (memory, kind of model).

    Args:
        model: whose weights the gradients are taken for.
        forward: runs the forward again and gives the loss.

    """
    import torch

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with torch.enable_grad(), torch.autograd.set_detect_anomaly(True, check_nan=True):
                loss = forward()
                loss = loss[0] if isinstance(loss, tuple) else getattr(loss, "loss", loss)
                weights = [each for each in model.parameters() if each.requires_grad]
                torch.autograd.grad(loss, weights, allow_unused=True)
        except Exception as error:  # noqa: BLE001 - the answer, or that there is none
            named = _RETURNED.search(str(error))
            if named is None:
                sys.stderr.write(f"doctor: guard: the backward was not repeated ({type(error).__name__})\n")
                return None
            return _with_statement(named[1], [str(each.message) for each in caught])
    return None


def _with_statement(name: str, told: list[str]) -> Operation:
    """The operation with the statement out of the stack that torch's warning quotes."""
    stack = next((each for each in told if "Traceback of forward call" in each), "")
    frames = [each for each in _FRAME.finditer(stack) if not is_own(each["file"])]
    if not frames:
        return Operation(name)
    frame = next((each for each in reversed(frames) if not _TORCH.search(each["file"])), frames[-1])
    return Operation(name, frame["file"], int(frame["line"]), frame["text"].strip())
