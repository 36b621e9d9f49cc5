"""The source where an exception was raised: read only where it is the one that ran, and never run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.catalogue.index import load
from doctor.logs.postmortem import examine, prepare
from doctor.logs.source.conditions import condition_of

pytestmark = pytest.mark.process

#: nothing is known but that: every failure is an unknown one
PREPARED = prepare([each for each in load() if each.area == "unknown"])
LIBRARY = """
import os
open(os.environ["MARK"], "a").write("x")

class Config:
    size: int = 2
    groups: int = 3

    def __init__(self, **given):
        self.__dict__.update({"size": 2, "groups": 3, "label": None, **given})
        self.half = self.size // 2
        self.check()

    def check(self):
        if self.size % self.groups != 0:
            raise ValueError("odd")

def fits(batch, limit, *, strict=True):
    rows = len(batch)
    if not strict:
        return rows
    if rows > limit:
        raise ValueError("too many")

def named(kind):
    if kind == "a":
        return 1
    elif kind == "b":
        return 2
    else:
        raise KeyError(kind)

def asserted(count):
    assert count, "none"

def early(count):
    if count > 3:
        return
    raise RuntimeError("few")

def bare():
    raise RuntimeError("always")
"""
RUNS = {
    "config": ("Config(size=4, groups=6)", ("`self.size % self.groups != 0` holds", "size=4", "groups=6")),
    "constant": ("Config(size=GROUPS + 1, groups=GROUPS)", ("groups=6", "size=GROUPS + 1")),
    "keyword": ("fits([1, 2, 3], limit=2)", ("`rows > limit` holds", "`limit` is `2` (train.py:")),
    "position": ("fits([1, 2, 3], 2)", ("`limit` is `2` (train.py:", "`rows` is `len(batch)`")),
    "through": ("outer(7)", ("`rows > limit` holds", "`limit` is `2`")),
    "else": ('named("c")', ('`kind == "a"` does not hold and `kind == "b"` does not hold', "`kind` is `'c'`")),
    "assert": ("asserted(0)", ("`count` does not hold", "`count` is `0`")),
    "early": ("early(1)", ("`count > 3` does not hold", "`count` is `1`")),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "groupwise").mkdir(parents=True)
    (site / "groupwise" / "__init__.py").write_text(LIBRARY)
    (site / "groupwise-1.2.0.dist-info").mkdir()
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    return site


def ran(site: Path, statement: str) -> Path:
    """The log of a script with one statement."""
    folder = site.parents[2]
    script = folder / "train.py"
    script.write_text(
        "from groupwise import *\nGROUPS = 6\ndef outer(count):\n    return fits(list(range(count)), 2)\n"
        f"def main():\n    {statement}\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(site), "MARK": str(folder / "mark"), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    (folder / "mark").unlink()
    log = folder / "train.log"
    log.write_text(done.stderr)
    return log


def first(log: Path) -> Finding:
    return examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings[0]


@pytest.mark.parametrize("name", RUNS)
def test_the_condition_and_whose_values_are_in_it(name: str, site: Path) -> None:
    statement, expected = RUNS[name]
    words = first(ran(site, statement)).words("en")
    assert [each for each in expected if each not in words.explanation] == [], words.explanation
    assert "groupwise/__init__.py:" in words.headline
    chinese = first(site.parents[2] / "train.log").words("zh")
    assert "时抛出" in chinese.explanation
    assert not (site.parents[2] / "mark").exists(), "the library was run to read it"


def test_a_raise_without_a_condition_says_nothing(site: Path) -> None:
    assert "It is raised when" not in first(ran(site, "bare()")).words().explanation


def _moved(site: Path) -> None:
    (site / "groupwise" / "__init__.py").write_text("\n" + LIBRARY)


def _gone(site: Path) -> None:
    (site / "groupwise" / "__init__.py").unlink()


def _broken(site: Path) -> None:
    (site / "groupwise" / "__init__.py").write_text(LIBRARY + "\ndef broken(:\n")


def _binary(site: Path) -> None:
    (site / "groupwise" / "__init__.py").write_bytes(LIBRARY.encode() + b"\xff\xfe\x00")


def _deep(site: Path) -> None:
    (site / "groupwise" / "__init__.py").write_text(LIBRARY + "\nx = " + "(" * 5000 + ")" * 5000)


def _pipe(site: Path) -> None:
    import os

    _gone(site)
    os.mkfifo(site / "groupwise" / "__init__.py")


@pytest.mark.parametrize("change", [_moved, _gone, _broken, _binary, _deep, _pipe])
def test_another_file_than_the_one_that_ran_is_not_read(change: object, site: Path) -> None:
    log = ran(site, "Config(size=4, groups=6)")
    change(site)  # type: ignore[operator]
    assert "It is raised when" not in first(log).words().explanation


def test_another_release_is_not_read(site: Path) -> None:
    log = ran(site, "Config(size=4, groups=6)")
    context = log.with_name("pip.txt")
    for version, told in (("1.2.0", True), ("1.3.0", False)):
        context.write_text(f"Package Version\n------- -------\ngroupwise {version}\n")
        found = examine([str(log)], context=[context], prepared=PREPARED).diagnosis.outcome.findings[0]
        assert ("It is raised when" in found.words().explanation) is told


def test_a_log_from_elsewhere_is_looked_up_in_the_active_environment(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ran(site, "Config(size=4, groups=6)")
    prefix = site.parents[2]
    log.write_text(log.read_text().replace(str(site), "/opt/conda/lib/python3.10/site-packages"))
    assert "It is raised when" not in first(log).words().explanation
    monkeypatch.setenv("VIRTUAL_ENV", str(prefix))
    assert "It is raised when" not in first(log).words().explanation, "nobody tells that it is the same release"
    context = log.with_name("pip.txt")
    context.write_text("Package Version\n------- -------\ngroupwise 1.2.0\n")
    found = examine([str(log)], context=[context], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert "`self.size % self.groups != 0` holds" in found.words().explanation


def test_secrets_in_the_source_stay_there(site: Path) -> None:
    words = first(ran(site, 'named("hf_abcdefghijklmnopqrstuvwxyz0123456789")')).words()
    assert "hf_abcdef" not in words.explanation + words.headline


@pytest.mark.parametrize("line", range(0, 50, 1))
def test_any_line_is_asked_for_without_a_crash(line: int) -> None:
    import ast

    condition_of(LIBRARY, ast.parse(LIBRARY), line)
