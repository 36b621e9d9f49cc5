"""JSON as text that can always be written: half of a surrogate pair, as damaged files hold, becomes its escape."""

from __future__ import annotations

import json
from typing import Any, Optional


def json_text(data: Any, indent: Optional[int] = None) -> str:
    """JSON with letters of all scripts as they are, and none that UTF-8 has not.

    Raises:
        TypeError: something in it is no JSON.

    """
    return json.dumps(data, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
