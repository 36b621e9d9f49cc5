"""Starts the doctor: the console scripts, ``python -m grpo_doctor``, and its own processes.

The package `doctor` is taken from beside this file. By its name alone Python would take the first one on its path, and
a package, a module or a folder of the user's may be called `doctor`, too, with PYTHONPATH leading there.
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

#: in front of the name of a module that is run in the place of the command line
AS_MODULE = "--as-module"
_NAME = "doctor"


def main() -> None:
    """Run the command line."""
    _take_own()
    from doctor.__main__ import main as run

    run()


def _take_own() -> None:
    """Have every import of `doctor` in this process mean the one beside this file."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAME)  # noqa: PTH100, PTH118, PTH120 - no pathlib
    spec = spec_from_file_location(_NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])  # noqa: PTH118
    if _NAME in sys.modules or spec is None or spec.loader is None:
        return
    module = sys.modules[_NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _run_module(name: str, words: list[str]) -> None:
    import runpy

    sys.argv = [name, *words]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    if sys.path and os.path.abspath(sys.path[0]) in (_here, os.getcwd()):  # noqa: PTH100, PTH109
        del sys.path[0]  # nothing that lies beside us, or in the working folder, is meant by its name
    _take_own()
    if sys.argv[1:2] == [AS_MODULE]:
        _run_module(sys.argv[2], sys.argv[3:])
    else:
        main()
