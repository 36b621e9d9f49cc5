"""``python -m doctor`` and the console scripts ``doctor`` and ``grpo-doctor``."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line and leave at once.

    A fact that ran out of time may still hang in a system call in its thread; leaving through `os._exit` keeps it
    from holding the doctor back.
    """
    from doctor.cli.app import run

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file name may hold bytes that are no text
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
