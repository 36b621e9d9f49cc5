"""A question to an engine that is under way, and what the policy said meanwhile.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

from doctor.base.record import replace
from doctor.monitors.witness.draws import draws_kept
from doctor.monitors.witness.seen import Asked
from doctor.oracles.weights import Checksum


class Waiting:
    """One question of several parts, of which each counts that came while the engine had the weights asked about.

    Args:
        step: optimizer steps made when it was asked.
        pushes: how often weights had been pushed.
        question: asks the engine, and fills in what it says as it comes.

    """

    def __init__(self, step: int, pushes: int, question: Callable[[Asked], object]) -> None:
        self.step, self.pushes = step, pushes
        #: what had come when it was last looked at with the same weights in the engine for certain
        self.asked = Asked()
        #: what the policy gave the fixed sequences, with and without its adapter, and the checksums of its weights
        self.trained: Any = None
        self.base: Any = None
        self.checksums: dict[str, Checksum] = {}
        #: whether all parts had come when it was last looked at
        self.complete = False
        self._question, self._arrives = question, Asked()
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
            self._question(self._arrives)
        except Exception as error:  # noqa: BLE001 - told by whoever waits
            self._error = error

    def wait(self, patience_s: float) -> bool:
        """Whether the whole answer is there, after so many seconds at most; what has come of it is kept."""
        if self._thread is not None:
            self._thread.join(patience_s)
        self.complete = self._thread is None or not self._thread.is_alive()
        self.asked = replace(self._arrives, unseen=dict(self._arrives.unseen))
        return self.complete

    def reraise(self) -> None:
        """Raise what the question ended with, if it did."""
        if self._error is not None:
            raise self._error
