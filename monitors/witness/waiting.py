"""A question to an engine that is under way, and what the policy said meanwhile.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

from doctor.monitors.witness.draws import draws_kept
from doctor.monitors.witness.seen import Asked
from doctor.oracles.weights import Checksum


class Waiting:
    """One question.

    Args:
        step: optimizer steps made when it was asked.
        pushes: how often weights had been pushed.
        question: asks the engine.

    """

    def __init__(self, step: int, pushes: int, question: Callable[[], Asked]) -> None:
        self.step, self.pushes = step, pushes
        self.asked: Optional[Asked] = None
        #: what the policy gave the fixed sequences, with and without its adapter, and the checksums of its weights
        self.trained: Any = None
        self.base: Any = None
        self.checksums: dict[str, Checksum] = {}
        self._question = question
        self._error: Optional[BaseException] = None
        self._thread: Optional[threading.Thread] = None

    def start(self, *, inside: bool) -> None:
        """Ask here, with what the engine draws put back, or by a thread that the program's end does not wait for."""
        if inside:
            with draws_kept():
                self._run()
            return
        self._thread = threading.Thread(target=self._run, name="doctor-witness", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.asked = self._question()
        except Exception as error:  # noqa: BLE001 - told by whoever waits
            self._error = error

    def wait(self, patience_s: float) -> bool:
        """Whether the answer is there, after so many seconds at most."""
        if self._thread is not None:
            self._thread.join(patience_s)
            return not self._thread.is_alive()
        return True

    def reraise(self) -> None:
        """Raise what the question ended with, if it did."""
        if self._error is not None:
            raise self._error
