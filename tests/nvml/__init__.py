"""A stand-in for NVML: a C library with NVML's own interface, driven by a scenario file.

The real `pynvml` (nvidia-ml-py) of a child process loads it through LD_LIBRARY_PATH:

    folder = build_standin(tmp_path)
    environment = scenario_env(folder, "a100")
    subprocess.run([sys.executable, "-c", "import pynvml; ..."], env=environment)

README.md beside this file describes the scenario files.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE / "scenarios"
LIBRARY = "libnvidia-ml.so.1"

_FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-fvisibility=hidden", "-shared")
_LIBS = ("-lm", "-lpthread")


def scenario_names() -> list[str]:
    """Names of the scenarios that come with the tests."""
    return sorted(path.stem for path in SCENARIOS.glob("[!_]*.ini"))


def build_standin(directory: Path) -> Path:
    """The folder below `directory` that holds the library: what LD_LIBRARY_PATH must begin with.

    Compiled once per content of the sources; test workers that share `directory` wait for the one that compiles.
    Skips the calling test where no C compiler is.
    """
    sources = sorted((HERE / "standin").glob("*.[ch]"))
    digest = hashlib.sha256(" ".join(_FLAGS).encode())
    for source in sources:
        digest.update(source.name.encode() + source.read_bytes())
    folder = directory / f"nvml-standin-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / LIBRARY).exists():
            _compile([str(source) for source in sources if source.suffix == ".c"], folder / LIBRARY)
    return folder


def _compile(sources: list[str], library: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("the NVML stand-in needs a C compiler (gcc or cc), and none is on PATH")
    made = library.with_suffix(".making")
    command = [compiler, *_FLAGS, f"-Wl,-soname,{LIBRARY}", "-o", str(made), *sources, *_LIBS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"the NVML stand-in does not compile:\n{done.stderr}", pytrace=False)
    made.replace(library)


def shared_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all pytest-xdist workers of one run share, for `build_standin`."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def scenario_env(library_folder: Path, scenario: str | Path, **extra: str) -> dict[str, str]:
    """The whole environment of a child process whose NVML is the stand-in.

    Args:
        library_folder: what `build_standin` gave.
        scenario: a name in `scenarios/` ("a100"), the path of a file, or the text of one (it has a line break;
            "include = a100.ini" begins one from a scenario that exists).
        extra: further variables, such as DOCTOR_NVML_TIME_SCALE="20" or DOCTOR_NVML_COUNTS=path.

    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DOCTOR_NVML_")}
    before = environment.get("LD_LIBRARY_PATH")
    environment["LD_LIBRARY_PATH"] = f"{library_folder}:{before}" if before else str(library_folder)
    environment["DOCTOR_NVML_SCENARIO"] = str(_scenario_file(library_folder, scenario))
    environment["DOCTOR_NVML_SCENARIO_DIR"] = str(SCENARIOS)
    return {**environment, **extra}


def _scenario_file(library_folder: Path, scenario: str | Path) -> Path:
    if isinstance(scenario, Path):
        path = scenario.resolve()
    elif "\n" in scenario:
        name = hashlib.sha256(scenario.encode()).hexdigest()[:16]
        path = library_folder / f"scenario-{name}.ini"
        made = path.with_suffix(f".{os.getpid()}")
        made.write_text(scenario)
        made.replace(path)
    else:
        path = SCENARIOS / f"{scenario}.ini"
    if not path.is_file():
        raise FileNotFoundError(f"no scenario {scenario}: those here are {', '.join(scenario_names())}")
    return path


def read_counts(path: Path) -> Counter[str]:
    """Calls per function, of all processes that wrote to the file of DOCTOR_NVML_COUNTS.

    A process writes when it ends in the ordinary way: nothing comes from one that is killed or calls os._exit.
    """
    counts: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        _, function, calls = line.split()
        counts[function] += int(calls)
    return counts
