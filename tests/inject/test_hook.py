"""The start-up hook by itself: real interpreters of many ages, existing start-up files, awaited modules."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.facts.environments import interpreter, venv

pytestmark = pytest.mark.process

HOOK = Path(__file__).parents[2] / "monitors" / "inject" / "sitecustomize.py"
TRAINER = "loaded_as = __spec__.name\nDEFAULT_CALLBACKS = []\n"
ATTACH = """
def attach(name, module):
    assert module.loaded_as == name
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(module.__spec__.loader)
    print("attached to", name)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What the launcher lays down: the hook, and a library whose `attach` says when it is called."""
    folder = tmp_path / "run" / "patient"
    (folder / "hook").mkdir(parents=True)
    shutil.copy(HOOK, folder / "hook")
    package = folder / "lib" / "doctor" / "monitors" / "inject"
    package.mkdir(parents=True)
    for each in (package, package.parent, package.parent.parent):
        (each / "__init__.py").touch()
    (package / "attach.py").write_text(ATTACH)
    return folder


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """A package `transformers` with a module `trainer`, and a package `deepspeed`."""
    folder = tmp_path / "libraries"
    for name, text in {
        "transformers/__init__": "",
        "transformers/trainer": TRAINER,
        "deepspeed/__init__": TRAINER,
    }.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _run(root: Path, *words: str, python: str = "", path: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run Python in an empty folder, with the hook first on its path and other folders behind it."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, (root / "hook", *path)))}
    return subprocess.run(
        [python or interpreter("3.12"), "-B", *words], env=environment, cwd=root, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.9", "3.12", "3.13"])
def test_every_python_starts_and_runs_the_sitecustomize_behind_it(version: str, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys\nsys.stdout.write('other start-up file\\n')\n")
    ran = _run(root, "-c", "import sitecustomize as s; print(s.__file__)", python=interpreter(version), path=(other,))
    assert ran.returncode == 0
    assert ran.stdout.splitlines() == ["other start-up file", str(other / "sitecustomize.py")]
    assert ran.stderr == ""
    assert (root / "loaded").exists() == (version not in ("2.7", "3.6", "3.8"))
    assert not list(root.glob("failed-*"))


def test_a_sitecustomize_of_site_packages_runs_too(root: Path, tmp_path: Path) -> None:
    site = venv(tmp_path / "venv")
    (site / "sitecustomize.py").write_text("import builtins; builtins.started = True\n")
    ran = _run(root, "-c", "print(started)", python=str(tmp_path / "venv" / "bin" / "python"))
    assert ran.stdout == "True\n", ran.stderr


def test_what_a_shadowed_sitecustomize_raises_is_told_as_without_the_hook(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("raise RuntimeError('broken start-up file')\n")
    ran = _run(root, "-c", "print('goes on')", path=(other,))
    (root / "hook" / "sitecustomize.py").unlink()
    without = _run(root, "-c", "print('goes on')", path=(other,))
    assert (ran.stdout, ran.returncode) == (without.stdout, without.returncode) == ("goes on\n", 0)
    assert ran.stderr == without.stderr
    assert "broken start-up file" in ran.stderr


def test_it_waits_for_the_awaited_modules_and_tells_once(root: Path, libraries: Path) -> None:
    code = "print('begin'); import json, transformers; print('package')\n"
    code += "import transformers.trainer, deepspeed, transformers.trainer"
    ran = _run(root, "-c", code, path=(libraries,))
    assert ran.stdout.splitlines() == ["begin", "package", "attached to transformers.trainer", "attached to deepspeed"]
    assert not list(root.glob("failed-*"))


def test_an_import_that_fails_and_is_tried_again_is_told(root: Path, libraries: Path) -> None:
    trainer = libraries / "transformers" / "trainer.py"
    trainer.write_text("import os\nif not os.environ.get('X'):\n    raise ImportError('not yet')\n" + TRAINER)
    code = """
import os
try:
    import transformers.trainer
except ImportError as error:
    print(error)
os.environ["X"] = "1"
import transformers.trainer
"""
    ran = _run(root, "-c", code, path=(libraries,))
    assert ran.stdout.splitlines() == ["not yet", "attached to transformers.trainer"], ran.stderr


def test_a_failing_guard_is_noted_and_changes_nothing(root: Path, libraries: Path) -> None:
    (root / "lib/doctor/monitors/inject/attach.py").write_text("raise OSError('disk full')\n")
    ran = _run(root, "-c", "import transformers.trainer as t; print(t.loaded_as)", path=(libraries,))
    assert (ran.stdout, ran.stderr, ran.returncode) == ("transformers.trainer\n", "", 0)
    assert "disk full" in next(root.glob("failed-*")).read_text()


def test_without_the_awaited_modules_nothing_is_imported(root: Path) -> None:
    code = "import sys; print(sorted({'doctor', 'json', 'traceback', 'typing'} & set(sys.modules)))"
    assert _run(root, "-c", code).stdout == "[]\n"


def test_the_run_folder_is_named_to_a_process_that_lost_the_variable(root: Path) -> None:
    ran = _run(root, "-c", "import os; print(os.environ['DOCTOR_RUN_DIR'])")
    assert ran.stdout.strip() == str(root.parent)


def test_a_package_of_the_program_with_the_same_name_is_the_programs(root: Path, tmp_path: Path) -> None:
    (tmp_path / "libraries" / "doctor").mkdir(parents=True)
    (tmp_path / "libraries" / "doctor" / "__init__.py").write_text("mine = 1\n")
    assert _run(root, "-c", "import doctor; print(doctor.mine)", path=(tmp_path / "libraries",)).stdout == "1\n"


#: what of the program's own is called as we are -> (its files, how the program takes it)
OWN = {
    "a package": ({"doctor/__init__.py": "print('theirs')\n"}, "import doctor"),
    "a module": ({"doctor.py": "print('theirs')\n"}, "import doctor"),
    "a folder without __init__": ({"doctor/tools.py": "print('theirs')\n"}, "import doctor.tools"),
    "a folder of folders": ({"doctor/inner/tools.py": "print('theirs')\n"}, "import doctor.inner.tools"),
}


@pytest.mark.parametrize("case", OWN)
@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_what_is_called_as_we_are_is_not_run_before_the_program_runs_it(
    case: str, version: str, root: Path, libraries: Path, tmp_path: Path
) -> None:
    files, taken = OWN[case]
    for name, text in files.items():
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    code = f"import transformers.trainer, deepspeed; print('now'); {taken}"
    ran = _run(root, "-c", code, python=interpreter(version), path=(libraries, tmp_path / "own"))
    assert (ran.stdout.splitlines(), ran.stderr) == (["now", "theirs"], "")
    (marker,) = root.glob("taken-*")
    assert marker.read_text().startswith(str(tmp_path / "own" / "doctor"))
    assert not list(root.glob("failed-*"))


def test_a_folder_of_data_that_is_called_as_we_are_keeps_nobody_out(
    root: Path, libraries: Path, tmp_path: Path
) -> None:
    (tmp_path / "own" / "doctor" / "train").mkdir(parents=True)
    (tmp_path / "own" / "doctor" / "train" / "0.jsonl").write_text("{}\n")
    ran = _run(root, "-c", "import transformers.trainer", path=(libraries, tmp_path / "own"))
    assert ran.stdout == "attached to transformers.trainer\n"
    assert not list(root.glob("taken-*"))


@pytest.mark.parametrize("switch", ["-I", "-E", "-S"])
def test_isolated_interpreters_run_without_it(switch: str, root: Path) -> None:
    ran = _run(root, switch, "-c", "print('runs')")
    assert (ran.stdout, ran.returncode) == ("runs\n", 0)
    assert not (root / "loaded").exists()
