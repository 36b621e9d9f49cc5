"""What is carried into a patient's interpreter, imported and used there."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.catalogue.rules import load_rules
from doctor.readers.patient import carry as carrying
from doctor.readers.patient.carry import CONTENTS, NotCarried, carry, rule_modules
from tests.facts.environments import interpreter

_PATIENTS = ["doctor.run.phases", "doctor.catalogue.rules"]


def _isolated(python: str, folder: Path, code: str) -> str:
    """What a program prints in a bare interpreter with only `folder` on the path."""
    begin = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    run = subprocess.run(
        [python, "-I", "-S", "-B", "-c", begin + code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def _package(root: Path, **files: str) -> Path:
    for name, text in {"__init__": "", **files}.items():
        path = root.joinpath(*name.split("__in__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.process
def test_every_carried_module_is_imported_by_a_bare_python_39(tmp_path: Path) -> None:
    folder = carry([*_PATIENTS, *rule_modules()], tmp_path)
    modules = json.loads((folder / "doctor" / CONTENTS).read_text())["modules"]
    assert len(modules) > 25
    code = f"""
import importlib
for name in {modules!r}:
    importlib.import_module(name)
foreign = [each.__file__ for name, each in sys.modules.items()
           if name.startswith("doctor") and not each.__file__.startswith({str(tmp_path)!r})]
assert not foreign, foreign
"""
    _isolated(interpreter("3.9"), folder, code)


@pytest.mark.process
def test_carried_rules_are_found_without_the_index_and_judge(tmp_path: Path) -> None:
    folder = carry([*_PATIENTS, *rule_modules()], tmp_path)
    code = """
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point
rules = load_rules()
engine = RuleEngine()
for step in range(9):
    engine.feed(Point("grad_norm", float("nan") if step > 3 else 1.0, step))
print(len(rules), *(each.problem.id for each in engine.findings))
"""
    count, *found = _isolated(interpreter("3.9"), folder, code).split()
    assert int(count) == len(load_rules(rule_modules()))
    assert found == ["NUM006"]


@pytest.mark.process
def test_only_what_is_imported_at_once_comes_along(tmp_path: Path) -> None:
    root = _package(
        tmp_path / "doctor",
        a="from doctor.sub import b\ntry:\n    import doctor.c\nexcept ImportError:\n    pass\n"
        "def later():\n    import doctor.d\n"
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import doctor.e\nelse:\n    import doctor.f\n",
        c="", d="", e="", f="", sub__in____init__="", sub__in__b="class X:\n    from doctor.g import y\n", g="y = 1\n",
    )  # fmt: skip
    folder = carry(["doctor.a"], tmp_path / "out", root=root)
    files = {str(each.relative_to(folder)) for each in folder.rglob("*.py")}
    below = {"__init__.py", "a.py", "c.py", "f.py", "g.py", "sub/__init__.py", "sub/b.py"}
    assert files == {f"doctor/{each}" for each in below}
    _isolated(sys.executable, folder, "import doctor.a")


def test_what_files_import_is_read_anew_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = _package(tmp_path / "doctor", a="import doctor.b\n", b="", c="", sub__in____init__="")
    parsed: list[str] = []
    tree = carrying._tree

    def counted(path: Path) -> ast.Module:
        parsed.append(path.name)
        return tree(path)

    monkeypatch.setattr(carrying, "_tree", counted)
    for number, text, files in (
        (1, None, ["__init__.py", "a.py", "b.py"]),
        (2, None, []),
        (3, "import doctor.c\n", ["a.py", "c.py"]),
    ):
        parsed.clear()
        if text is not None:
            (root / "a.py").write_text(text)
            os.utime(root / "a.py", ns=(number, number))
        folder = carry(["doctor.a"], tmp_path / f"out{number}", root=root)
        assert sorted(parsed) == files
    assert (folder / "doctor" / "c.py").exists()
    assert not (folder / "doctor" / "b.py").exists()


@pytest.mark.parametrize("kept", ["{", "[]", '{"FILE": [[1, 2], "doctor.gone", []]}', '{"FILE": 3}'])
def test_a_broken_cache_holds_nothing(kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = _package(tmp_path / "doctor", a="import doctor.b\n", b="")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "cache" / "grpo-doctor" / "imports-1.json"
    file.parent.mkdir(parents=True)
    file.write_text(kept.replace("FILE", str(root / "a.py")))
    assert (carry(["doctor.a"], tmp_path / "out", root=root) / "doctor" / "b.py").exists()


def test_a_package_stands_for_its_modules(tmp_path: Path) -> None:
    root = _package(tmp_path / "doctor", sub__in____init__="", sub__in__b="", sub__in__c="import doctor.sub.b\n")
    folder = carry(["doctor.sub"], tmp_path / "out", root=root)
    assert sorted(each.name for each in (folder / "doctor/sub").iterdir()) == ["__init__.py", "b.py", "c.py"]


@pytest.mark.parametrize("name", ["doctor.nowhere", "json", "doctor.base.nowhere"])
def test_what_is_no_module_of_the_doctor_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(NotCarried, match=f"`{name}`"):
        carry([name], tmp_path)


def test_a_module_that_imports_a_missing_one_is_refused(tmp_path: Path) -> None:
    root = _package(tmp_path / "doctor", a="import doctor.gone\n")
    with pytest.raises(NotCarried, match=r"doctor\.gone"):
        carry(["doctor.a"], tmp_path / "out", root=root)


@pytest.mark.process
def test_a_compiled_module_stays_at_home_and_the_plain_functions_come_along(tmp_path: Path) -> None:
    carry(["doctor.logs.read.colours"], tmp_path)
    assert sorted(each.name for each in (tmp_path / "doctor" / "logs" / "read").iterdir()) == [
        "__init__.py",
        "colours.py",
        "quick.py",
    ]
    code = "import doctor.logs.read.quick as quick; print(quick.__file__, quick.cut_codes is quick.plain_cut_codes)"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path / "doctor" / "logs" / "read" / "quick.py"), "True"]


@pytest.mark.process
def test_carrying_again_renews_what_lies_there(tmp_path: Path) -> None:
    root = _package(tmp_path / "doctor", a="x = 1\n")
    folder = carry(["doctor.a"], tmp_path / "out", root=root)
    (root / "a.py").write_text("x = 2\n")
    carry(["doctor.a"], folder, root=root)
    assert _isolated(sys.executable, folder, "import doctor.a; print(doctor.a.x)").strip() == "2"
