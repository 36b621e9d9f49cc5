"""The compiled stand-in, and `ask`: a question to it through the real `pynvml` of a child process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvml import build_standin, scenario_env, shared_directory

PRELUDE = """
import json, time
import pynvml as n

def q(name, *args):
    try:
        value = getattr(n, name)(*args)
    except n.NVMLError as error:
        return type(error).__name__.removeprefix("NVMLError_")
    return getattr(value, "value", value)

def gpus():
    return [n.nvmlDeviceGetHandleByIndex(k) for k in range(n.nvmlDeviceGetCount())]

out = {}
"""

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_standin(shared_directory(tmp_path_factory))


@pytest.fixture(scope="session")
def ask(folder: Path) -> Ask:
    """Runs code against a scenario in a child process; returns what the code put into `out`."""

    def run(scenario: str | Path, code: str, *, init: bool = True, **extra: str) -> Any:
        parts = [PRELUDE, "n.nvmlInit()\n" if init else "", textwrap.dedent(code), "\nprint(json.dumps(out))"]
        environment = scenario_env(folder, scenario, **extra)
        done = subprocess.run(
            [sys.executable, "-c", "".join(parts)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
