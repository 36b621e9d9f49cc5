"""What `doctor serve` was told, in the server's process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

#: the variable that holds the settings, as JSON
VARIABLE = "DOCTOR_SERVE"


@dataclass(frozen=True)
class ServerBounds:
    """Bounds of the server.

    Args:
        request_bytes: largest body of a request.
        prompts: most prompts in one request.
        drain_s: how long requests in flight are waited for at the end.
        stall_s: an engine that puts out nothing for so long, while somebody waits for it, stands still.
        demo: the server is the demo server, or takes its place: it knows no key of its own.

    """

    request_bytes: int = 128 << 20
    prompts: int = 16384
    drain_s: float = 30.0
    demo: bool = False
    stall_s: float = 30.0

    def dump(self) -> str:
        """For the variable."""
        return json.dumps(vars(self))


def load(text: str) -> ServerBounds:
    """From the variable; the defaults where it holds something else."""
    try:
        return ServerBounds(**json.loads(text))
    except (ValueError, TypeError):
        return ServerBounds()


SETTINGS = load(os.environ.get(VARIABLE, ""))
