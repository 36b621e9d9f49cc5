"""Scripts that only start a program: what pip writes for a command, and `python -m`. They are never the user's code.

Their names are many (torchrun, accelerate, deepspeed, trl, swift, llamafactory-cli), their forms are few. Runs inside
the patient too, so it keeps to Python 3.9 and the standard library.

https://packaging.python.org/en/latest/specifications/entry-points/#use-for-scripts
https://github.com/pypa/distlib/blob/0.3.9/distlib/scripts.py (`NAME-script.py`, `NAME.exe` with a `__main__.py` in it)
"""

from __future__ import annotations

from doctor.base.patterns import later

_ENTRY = later(
    r"[\\/]bin[\\/][^\\/.]+$|[\\/][^\\/]+\.exe[\\/]__main__\.py$|[\\/]Scripts[\\/][^\\/]+-script\.pyw?$"
    r"|[\\/](?:bin|Scripts)[\\/](?:torchrun|accelerate|deepspeed)(?:\.\w{2,3})?$|^(?:torchrun|accelerate|deepspeed)$"
    r"|(?:^|[\\/])runpy\.py$|^<frozen runpy>$"
)


def is_entry(path: str) -> bool:
    """Whether the file of a frame only starts a program."""
    return _ENTRY.search(path) is not None
