"""How a measuring process tells what it finds: JSON lines, each written at once, so that its end loses nothing."""

from __future__ import annotations

import json
from typing import Any


class Said:
    """The file of one process. One writer."""

    def __init__(self, path: str) -> None:
        self._path = path

    def say(self, **facts: Any) -> None:
        """Write one line."""
        with open(self._path, "a", encoding="utf-8") as out:
            out.write(json.dumps(facts) + "\n")
