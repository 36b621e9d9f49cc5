"""Rows that a script makes for its trainer: only what its own text shows is known of them."""

from __future__ import annotations

import re

import pytest

from doctor import data as tables
from doctor.facts.rows import Rows
from doctor.readers.script.script_reader import read

HEAD = """\
from datasets import Dataset, load_dataset
from trl import GRPOConfig, GRPOTrainer
"""


def rows(body: str, given: str = "data") -> Rows | None:
    trainer = f"GRPOTrainer(model='m', reward_funcs=f, args=GRPOConfig(output_dir='o'), train_dataset={given})"
    script = read("train.py", f"{HEAD}{body}\n{trainer}\n".encode())
    (call,) = script.calls_of("GRPOTrainer")
    return call.rows


LOADED = "data = load_dataset('x', split='train')\n"
SET_ON_THE_ROW = f"""{LOADED}
def to(row):
    row['prompt'] = [{{'role': 'user', 'content': row['q']}}]
    return row
data = data.map(to)
"""
ALL_REPLACED = f"""{LOADED}
def to(row):
    return {{**row, 'prompt': SYSTEM + row['q']}}
SYSTEM = 'Answer.'
data = data.map(to, remove_columns=data.column_names)
"""
TWO_RETURNS = f"""{LOADED}
def to(row):
    if row['q']:
        return {{'prompt': row['q'], 'a': 1}}
    return {{'prompt': ''}}
data = data.map(to, remove_columns=data.column_names)
"""
IN_A_FUNCTION = """
def made():
    data = load_dataset('x')
    return data['train'].map(lambda x: {'prompt': x['q'].strip()})
data = made()
"""
TEMPLATED = f"{LOADED}data = data.map(lambda x: {{'prompt': tok.apply_chat_template(x['m'], tokenize=False)}})"


@pytest.mark.parametrize(
    ("body", "columns", "complete", "kind"),
    [
        ("data = Dataset.from_dict({'question': ['a'] * 8, 'answer': ['b'] * 8})", "question answer", True, None),
        ("data = Dataset.from_dict({'prompt': ['a', 'b']})", "prompt", True, "text"),
        ("data = Dataset.from_dict(dict(prompt=[f'{n}?' for n in range(8)]))", "prompt", True, "text"),
        ("data = Dataset.from_list([{'prompt': [{'role': 'user', 'content': 'a'}]}])", "prompt", True, "conversation"),
        ("texts = [f'{n}?' for n in range(8)]\ndata = Dataset.from_dict({'prompt': texts})", "prompt", True, "text"),
        (LOADED, "", False, None),
        (f"{LOADED}data = data.map(lambda row: {{'prompt': f\"Q: {{row['q']}}\"}})", "prompt", False, "text"),
        (f"{LOADED}data = data.filter(len).shuffle(seed=1)['train']", "", False, None),
        (f"{LOADED}data = data.rename_column('question', 'prompt')", "prompt", False, None),
        (SET_ON_THE_ROW, "prompt", False, "conversation"),
        (ALL_REPLACED, "prompt", True, "text"),
        (TWO_RETURNS, "prompt", False, None),
        (f"{LOADED}data = data.select_columns(['prompt', 'answer'])", "prompt answer", True, None),
        (IN_A_FUNCTION, "prompt", False, "text"),
        (TEMPLATED, "prompt", False, "text"),
        (f"{LOADED}data = data.map(lambda x: {{'prompt': tok.apply_chat_template(x['m'])}})", "prompt", False, None),
    ],
)
def test_columns(body: str, columns: str, complete: bool, kind: str | None) -> None:
    found = rows(body)
    assert found is not None
    assert (found.columns, found.complete, found.prompt_kind) == (tuple(columns.split()), complete, kind)


@pytest.mark.parametrize(
    "body",
    [
        "data = anything()",
        f"{LOADED}data = prepare(data)",
        f"{LOADED}data = data.map(imported_function)",
        f"{LOADED}data = data.map(lambda row: made(row))",
        f"{LOADED}data = data.map(to, **options)",
        f"{LOADED}if FLAG:\n    data = data.map(lambda row: {{'prompt': 'a'}})",
        f"{LOADED}data = data.with_transform(to)",
        "data = Dataset.from_dict({NAME: ['a']})",
        "data = Dataset.from_generator(rows)",
        "splits = load_dataset('x')\nsplits['train'] = other()\ndata = splits['train']",
        f"{LOADED}data = data.map(lambda row: {{'prompt': 'a'}}, remove_columns=other.column_names)",
    ],
)
def test_what_is_not_followed_is_not_known(body: str) -> None:
    assert rows(body) is None


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        ("data = load_dataset('x')", True),
        ("data = load_dataset('x', 'main', streaming=True).map(lambda row: {'prompt': 'a'})", True),
        ("data = load_dataset('x', split='train').train_test_split(0.1)", True),
        ("data = load_dataset('x')['train']", False),
        ("data = load_dataset('x', split='train')", False),
        ("data = load_dataset('x', 'main', None, None, 'train')", False),
        ("data = load_dataset('x', **options)", False),
        ("data = load_dataset('x', split='train').train_test_split(0.1)['test']", False),
    ],
)
def test_all_splits_are_no_dataset(body: str, whole: bool) -> None:
    found = rows(body)
    assert found is not None
    assert found.of_splits is whole


def test_a_removed_column_is_lacking_and_one_that_nobody_named_is_not() -> None:
    removed = rows(f"{LOADED}data = data.remove_columns(['prompt'])")
    renamed = rows(f"{LOADED}data = data.rename_column('prompt', 'question')")
    back = rows(f"{LOADED}data = data.remove_columns('prompt').map(lambda row: {{'prompt': row['q']}})")
    assert removed is not None
    assert renamed is not None
    assert back is not None
    assert removed.lacks("prompt")
    assert renamed.lacks("prompt")
    assert not removed.lacks("answer")
    assert not back.lacks("prompt")


@pytest.mark.parametrize(
    ("body", "published", "alone"),
    [
        ("data = load_dataset('gsm8k', 'main', split='train')", True, True),
        ("data = load_dataset('gsm8k', split='train').map(lambda row: {'text': 'a'})", True, True),
        ("data = load_dataset('trl-lib/tldr', split='train')", True, False),
        ("data = load_dataset('trl-lib/tldr', split='train').remove_columns('prompt')", True, False),
        ("data = load_dataset('gsm8k', split='train').select_columns(['answer'])", False, False),
        ("data = load_dataset('gsm8k', 'main', 'folder', split='train')", False, False),
        ("data = load_dataset('gsm8k', data_files='a.jsonl', split='train')", False, False),
        ("data = load_dataset('x', split='train')", False, False),
        ("data = Dataset.from_dict({'question': ['a']})", False, False),
    ],
)
def test_what_only_the_list_of_published_datasets_says(body: str, published: bool, alone: bool) -> None:
    found = rows(body)
    assert found is not None
    assert (found.published, found.lacks_as_published("prompt")) == (published, alone)


def test_each_published_dataset_names_the_source_of_its_columns() -> None:
    for row in tables.load("datasets")["datasets"]:
        assert set(row) == {"id", "columns", "link"}
        assert row["columns"], row
        assert re.match(r"https://\S+/(?:commit|blob|raw)/[0-9a-f]{40}", row["link"]), f"{row['id']}: of no one state"
