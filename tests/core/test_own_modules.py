"""Our modules are found without a search, and are the same modules as Python itself would find."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import py_compile
import shutil
import sys
import types
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest

from doctor.base import own_modules
from doctor.base.own_modules import find_own_modules_directly

NAME = "doctor.planted"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module that was compiled, as Python leaves it after its first import."""
    path = tmp_path / "planted.py"
    path.write_text("ANSWER = 42\n\n\ndef where():\n    return where.__code__.co_filename\n")
    py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    return path


def found(folder: Path, name: str = NAME) -> ModuleSpec | None:
    return own_modules._OwnModules.find_spec(name, [str(folder)])


def loaded(spec: ModuleSpec | None) -> types.ModuleType:
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_is_what_python_makes_of_it(source: Path) -> None:
    own, theirs = found(source.parent), importlib.util.spec_from_file_location(NAME, source)
    assert own is not None
    assert theirs is not None
    attributes = ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations")
    assert [getattr(own, each) for each in attributes] == [getattr(theirs, each) for each in attributes]
    module, python = loaded(own), loaded(theirs)
    assert module.ANSWER == 42
    assert module.where() == python.where() == str(source)
    assert (module.__file__, module.__cached__, module.__package__) == (str(source), own.cached, "doctor")
    assert isinstance(own.loader, importlib.machinery.SourceFileLoader)
    assert own.loader.get_source(NAME) == source.read_text()


def test_a_package_looks_for_its_modules_in_its_folder(source: Path) -> None:
    package = source.parent / "planted_package"
    package.mkdir()
    shutil.copy(source, package / "__init__.py")
    py_compile.compile(str(package / "__init__.py"), doraise=True)
    spec = found(source.parent, "doctor.planted_package")
    assert spec is not None
    assert spec.submodule_search_locations == [str(package)]
    assert loaded(spec).__path__ == [str(package)]


def test_what_was_compiled_of_another_source_is_left_to_python(source: Path) -> None:
    stat = source.stat()
    source.write_text("ANSWER = 43\n")
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert found(source.parent) is None  # of another size
    py_compile.compile(str(source), doraise=True)
    assert loaded(found(source.parent)).ANSWER == 43
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))
    assert found(source.parent) is None  # of another date
    source.unlink()
    assert found(source.parent) is None


def test_what_is_checked_otherwise_or_not_compiled_is_left_to_python(source: Path) -> None:
    py_compile.compile(str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert found(source.parent) is None
    Path(importlib.util.cache_from_source(str(source))).unlink()
    assert found(source.parent) is None
    assert own_modules._OwnModules.find_spec("elsewhere.planted", [str(source.parent)]) is None
    assert own_modules._OwnModules.find_spec("doctor", None) is None


def test_a_tree_that_was_moved_tells_where_it_lies_now(source: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(source.parent / "__pycache__", moved / "__pycache__")
    shutil.copy2(source, moved)
    assert loaded(found(moved)).where() == str(moved / source.name)


def test_a_cut_off_file_is_left_to_python(source: Path) -> None:
    compiled = Path(importlib.util.cache_from_source(str(source)))
    compiled.write_bytes(compiled.read_bytes()[:10])
    assert found(source.parent) is None


def test_large_modules_are_read_whole(source: Path) -> None:
    source.write_text("WORDS = (" + "".join(f"'{number:09d}',\n" for number in range(20_000)) + ")\n")
    py_compile.compile(str(source), doraise=True)
    assert Path(importlib.util.cache_from_source(str(source))).stat().st_size > 2 * own_modules._AT_ONCE
    assert len(loaded(found(source.parent)).WORDS) == 20_000


def test_it_stands_back_where_compiled_files_lie_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = list(sys.meta_path)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "pycache_prefix", "/tmp/compiled")
        find_own_modules_directly()
    assert sys.meta_path == before
    find_own_modules_directly()
    at = before.index(PathFinder)  # what others put in front of Python's own search stays in front of ours
    assert sys.meta_path == [*before[:at], own_modules._OwnModules, *before[at:]]


def test_no_name_is_both_a_module_and_a_package() -> None:
    """Python would take the package; we look for the module first."""
    import doctor.checks
    import doctor.fixes
    import doctor.monitors

    for package in (doctor, doctor.checks, doctor.fixes, doctor.monitors):
        for init in Path(package.__path__[0]).rglob("__init__.py"):
            assert not init.parent.with_suffix(".py").exists()
