from __future__ import annotations

import os
import runpy
from collections import Counter
from pathlib import Path

import pytest

from doctor.catalogue.index import cache_folder, load
from doctor.catalogue.malformed import CatalogueError
from doctor.catalogue.signature import Signature
from doctor.logs.match import signatures
from doctor.logs.match.matcher import Compiled, Matcher
from doctor.logs.match.signatures import compiled, from_json, load_signatures, to_json
from doctor.logs.read.streams import open_stream

CATALOGUE = load_signatures()
PROJECT = Path(__file__).parents[3]
#: in 4 MB: one in a hundred thousand bytes
MOST_MISSED = 40


def test_the_catalogue_is_kept_with_its_literals() -> None:
    catalogue = compiled(load())
    assert load_signatures() == catalogue
    (kept,) = cache_folder().glob("signatures-*.json")
    assert load_signatures() == catalogue
    kept.write_text("torn")
    assert load_signatures() == catalogue
    assert catalogue == CATALOGUE


def test_what_is_kept_finds_what_was_never_kept() -> None:
    """In every form: as it stands, behind the escapes of JSON, and in the words of a Chinese shell."""
    given = (
        Compiled("A", 0, Signature(r'cannot open "\w+" <here>', keywords=('cannot open "',), contributes_to=("B",))),
        Compiled(
            "B", 0, Signature(r"No space left on device", kind="warning", affects={"torch": ">=2"}, own_code=True)
        ),
    )
    kept = from_json(to_json(given).encode())
    assert [each.signature for each in kept] == [each.signature for each in given]
    assert Matcher(kept).owners == Matcher(given).owners
    assert Matcher(kept).literals == Matcher(given).literals
    assert {b'cannot open \\"', b"No space left on device", "设备上没有空间".encode()} <= set(Matcher(kept).literals)


def test_it_is_made_anew_when_a_file_changes(tmp_path) -> None:
    area = tmp_path / "area"
    area.mkdir()
    (area / "_helper.py").write_text("PATTERN = 'some words'\n")
    key = signatures._key({"checks": tmp_path})
    assert signatures._key({"checks": tmp_path}) == key
    os.utime(area / "_helper.py", ns=(1, 1))
    assert signatures._key({"checks": tmp_path}) != key


@pytest.mark.parametrize(("pattern", "reason"), [("broken (", "unterminated"), ("a.b", "no literal")])
def test_a_signature_that_cannot_be_searched_is_named(pattern, reason, tmp_path, monkeypatch) -> None:
    name = f"faulty_{reason.split()[0]}"  # a module is imported once
    package = tmp_path / name
    (package / "area").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "area" / "__init__.py").touch()
    (package / "area" / "problem.py").write_text(
        '"""A problem."""\nfrom doctor.catalogue.problem import ERROR, Problem\nfrom doctor.catalogue.signature import Signature\n'
        'PROBLEM = Problem(id="UNK900", name="a-problem", severity=ERROR, since="0.1")\n'
        f"SIGNATURES = (Signature({pattern!r}),)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(CatalogueError, match=f"{name}.area.problem: signature 0 .*{reason}"):
        load_signatures({name: Path(package)})


def test_no_signature_is_tried_again_and_again_on_what_it_does_not_match(tmp_path: Path, monkeypatch) -> None:
    """Model text, servers and metrics hold the words that errors are made of; a literal of those slows every scan."""
    write_log = runpy.run_path(str(PROJECT / "benchmarks" / "log_writer.py"))["write_log"]
    log = tmp_path / "run.log"
    write_log(log, 4_000_000, 1, ["ValueError: what no signature knows"])
    missed: Counter[str] = Counter()
    search = Matcher.search

    def counting(self: Matcher, number: int, text: str):
        match = search(self, number, text)
        missed[self.signatures[number].problem_id] += match is None
        return match

    monkeypatch.setattr(Matcher, "search", counting)
    with open_stream(log) as stream:
        Matcher(CATALOGUE).scan(stream)
    assert missed.total() > 0  # the tracebacks hold an error's name
    assert [each for each, count in missed.items() if count > MOST_MISSED] == []
