"""The pool is well-formed: labels are complete, halves equal, no thread twice. It is not scored here."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

POOL = Path(__file__).parent
FIELDS = {
    "id", "source", "title", "kind", "half", "topic", "stack", "versions", "static", "static_trace", "root_cause",
    "accepted_fix", "evidence", "expected", "answer_must_match", "wrong_and_confident", "log_origin", "rebuilt",
}  # fmt: skip
FOLDERS = sorted(each.parent for each in POOL.glob("*/label.json"))


def _label(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "label.json").read_text(encoding="utf-8"))


LABELS = [_label(each) for each in FOLDERS]
#: drawn later, silent ones alone
SECOND = sorted(each.parent for each in (POOL / "silent").glob("*/label.json"))


@pytest.mark.parametrize("folder", [*FOLDERS, *SECOND], ids=lambda each: each.name)
def test_a_label_is_complete(folder: Path) -> None:
    label = _label(folder)
    assert set(label) == FIELDS
    assert label["id"] == folder.name
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull|discussions)/\d+", label["source"])
    assert all(label[each].strip() for each in ("title", "topic", "root_cause", "accepted_fix", "evidence"))
    assert label["wrong_and_confident"].strip()
    assert label["stack"]
    assert label["answer_must_match"]
    assert all(re.compile(each) for each in label["answer_must_match"])
    assert all(re.fullmatch(r"[A-Z]{3}\d{3,4}(?:/\w+)?", each) for each in label["expected"])
    assert label["static"] == bool(label["static_trace"])
    assert label["rebuilt"] is True
    assert (folder / "log.txt").read_text(encoding="utf-8").strip()


def test_half_of_each_kind_lies_in_each_half() -> None:
    counts = Counter((each["kind"], each["half"]) for each in LABELS)
    assert len(LABELS) == 120
    assert {kind for kind, _ in counts} == {"crash", "hang", "silent"}
    assert counts["silent", 1] == counts["silent", 2] == 20
    assert counts["crash", 1] == counts["crash", 2]
    assert counts["hang", 1] == counts["hang", 2]


def test_a_case_lies_in_the_half_that_the_hash_of_its_name_gives() -> None:
    for kind in ("crash", "hang", "silent"):
        names = [each["id"] for each in LABELS if each["kind"] == kind]
        names.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        first = set(names[: len(names) // 2])
        assert first == {each["id"] for each in LABELS if each["kind"] == kind and each["half"] == 1}


def test_halves_of_the_second_draw_are_those_of_the_hash() -> None:
    names = sorted((each.name for each in SECOND), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    assert len(names) == 30
    assert set(names[:15]) == {each.name for each in SECOND if _label(each)["half"] == 1}
    assert {_label(each)["kind"] for each in SECOND} == {"silent"}


def test_no_thread_and_no_log_is_there_twice() -> None:
    folders = [*FOLDERS, *SECOND]
    assert len({_label(each)["source"].lower() for each in folders}) == len(folders)
    texts = [b"\0".join(file.read_bytes() for file in sorted(each.glob("*.txt"))) for each in folders]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("folder", [POOL, POOL / "silent"], ids=["first", "second"])
def test_the_queries_are_written_down_once(folder: Path) -> None:
    rows = [line.split("\t") for line in (folder / "queries.tsv").read_text(encoding="utf-8").splitlines()]
    assert len({row[0] for row in rows if row[0] != "id"}) == sum(row[0] != "id" for row in rows)
    assert {len(row) for row in rows} == {5}
