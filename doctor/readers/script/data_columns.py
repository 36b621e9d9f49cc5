"""Columns of the data that `load_dataset` is given: a local file's, or those of a well-known dataset of the hub."""

from __future__ import annotations

import ast
import io
import json
import os
from collections.abc import Mapping
from typing import Any

from doctor.base.fact import BrokenFile
from doctor.readers.files.text import read_text
from doctor.readers.script.ast_names import CannotTell, Spot
from doctor.readers.script.ast_values import Values

#: builders that read files; what they are told besides the files may choose a part of them
_BUILDERS = frozenset({"json", "csv"})
_PLAIN = frozenset({"data_files", "split", "cache_dir", "num_proc", "keep_in_memory"})
#: what chooses other files of a dataset of the hub, which may have other columns
_CHOOSING = frozenset({"data_dir", "data_files", "revision"})
_BEFORE_FOLDER = 2  # positional parameters of `load_dataset`: path, name; data_dir follows
_LARGEST = 8 << 20
_MOST_ROWS = 200


def loaded_columns(node: ast.Call, values: Values, spot: Spot) -> tuple[tuple[str, ...] | None, bool]:
    """All columns of the rows that a call of `load_dataset` gives, None where they are not known.

    The second value says whether they stand in the list of published datasets, instead of in a file that was read.
    """
    given = {each.arg: each.value for each in node.keywords}
    if not node.args or None in given:
        return None, False
    try:
        name = values.fold(node.args[0], spot)
        if name in _BUILDERS and len(node.args) == 1 and set(given) <= _PLAIN:
            files = given.get("data_files")
            return _of_file(values.fold(files, spot), values.files.cwd) if files is not None else None, False
    except CannotTell:
        return None, False
    if not isinstance(name, str) or _CHOOSING & set(given) or len(node.args) > _BEFORE_FOLDER:
        return None, False
    return _published(name), True


def _published(name: str) -> tuple[str, ...] | None:
    from doctor import data

    return data.published_columns().get(name)


def _of_file(named: Any, folder: str | None) -> tuple[str, ...] | None:
    """The columns of the one file that `data_files` names for training."""
    if isinstance(named, Mapping):
        named = named.get("train")
    if isinstance(named, (list, tuple)) and len(named) == 1:
        named = named[0]
    if not isinstance(named, str) or folder is None or "://" in named or named.startswith("~"):
        return None
    path = os.path.join(folder, named)  # noqa: PTH118 - the user's own path
    if not path.endswith((".json", ".jsonl", ".csv")) or not os.path.isfile(path):  # noqa: PTH113
        return None
    if os.path.getsize(path) > _LARGEST:  # noqa: PTH202
        return None
    text = read_text(path)
    if isinstance(text, BrokenFile):
        return None
    return _of_csv(text) if path.endswith(".csv") else _of_json(text)


def _of_csv(text: str) -> tuple[str, ...] | None:
    import csv  # few scripts name such a file

    header = next(csv.reader(io.StringIO(text[:65536])), None)
    return tuple(header) if header else None


def _of_json(text: str) -> tuple[str, ...] | None:
    """Keys of the rows, one a line or in one list."""
    try:
        if text.lstrip()[:1] == "[":
            rows = json.loads(text)[:_MOST_ROWS]
        else:
            lines = [each for each in text.split("\n") if each.strip()]
            rows = [json.loads(each) for each in lines[:_MOST_ROWS]]
    except (ValueError, RecursionError):
        return None
    if not rows or not all(isinstance(each, dict) for each in rows):
        return None
    return tuple(dict.fromkeys(key for each in rows for key in each))
