"""One value changes; every other byte of a user's file stays."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.core.plan import Refused
from doctor.facts.base import Place
from doctor.facts.located import load_json, load_yaml
from doctor.fixes._edits import Editor

YAML = """\
# my cluster
compute_environment: LOCAL_MACHINE   # stays
deepspeed_config:
  zero_stage: 3  # größe
  "offload": 'none'
num_processes: 8
rest: {a: 1, b: two}
machine_rank: 0
"""
JSON = '{\n\t"fp16": {"enabled": true, "loss_scale": 0},\r\n\t"größe": "auto",\n\t"train_batch_size": 8\n}\n'
PYTHON = """\
from trl import GRPOConfig
größe = "ä"; args = GRPOConfig(  # keep
    output_dir="out",  # here
    evaluation_strategy="steps",
    max_prompt_length=512,
    fp16=True, bf16=False)
one = GRPOConfig(fp16=True)
"""


def made(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def result(editor: Editor, path: Path) -> str:
    return editor.step().content(path.read_bytes()).decode()


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("num_processes", 2, "num_processes: 8", "num_processes: 2"),
        ("deepspeed_config.zero_stage", "auto", "zero_stage: 3", "zero_stage: auto"),
        ("deepspeed_config.offload", "cpu", "'none'", "'cpu'"),
        ("compute_environment", "yes", "LOCAL_MACHINE ", '"yes" '),
        ("rest.a", None, "{a: 1,", "{a: null,"),
    ],
)
def test_a_yaml_value(tmp_path: Path, name: str, value: Any, old: str, new: str) -> None:
    path = made(tmp_path / "a.yaml", YAML)
    place = load_yaml(str(path)).settings[name].place
    assert place is not None
    editor = Editor(str(path))
    editor.set_value(place, value)
    changed = result(editor, path)
    assert changed == YAML.replace(old, new)
    path.write_text(changed)
    assert load_yaml(str(path)).settings[name].value == value


def test_a_yaml_key_and_its_block_go(tmp_path: Path) -> None:
    path = made(tmp_path / "a.yaml", YAML)
    place = load_yaml(str(path)).settings["deepspeed_config.zero_stage"].place
    assert place is not None
    editor = Editor(str(path))
    editor.remove(Place(str(path), 3, 1))
    editor.remove(Place(str(path), 8, 1))
    assert result(editor, path) == "\n".join([*YAML.split("\n")[:2], *YAML.split("\n")[5:7], ""])


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("train_batch_size", "auto", "8\n", '"auto"\n'),
        ("fp16.enabled", False, "true", "false"),
        ("größe", 1.5, '"auto"', "1.5"),
    ],
)
def test_a_json_value(tmp_path: Path, name: str, value: Any, old: str, new: str) -> None:
    path = made(tmp_path / "a.json", JSON)
    place = load_json(str(path)).settings[name].place
    assert place is not None
    editor = Editor(str(path))
    editor.set_value(place, value)
    assert result(editor, path) == JSON.replace(old, new)


def test_json_stays_json_when_a_key_goes(tmp_path: Path) -> None:
    for name in ("train_batch_size", "fp16.enabled", "größe", "fp16.loss_scale"):
        path = made(tmp_path / "a.json", JSON)
        place = load_json(str(path)).settings[name].place
        assert place is not None
        editor = Editor(str(path))
        editor.remove(place)
        path.write_bytes(result(editor, path).encode())
        left = load_json(str(path))
        assert left.broken is None
        assert name not in left.settings
        assert len(left.settings) == 3


def test_a_key_of_the_outermost_object(tmp_path: Path) -> None:
    path = made(tmp_path / "a.json", JSON)
    editor = Editor(str(path))
    editor.rename_top("größe", "size")
    assert result(editor, path) == JSON.replace('"größe"', '"size"')
    for absent in ("enabled", "nothing"):
        with pytest.raises(Refused, match="no key"):
            Editor(str(path)).rename_top(absent, "x")
    with pytest.raises(Refused):
        Editor(str(made(tmp_path / "b.json", '{"a": '))).rename_top("b", "x")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{"b": 1}', '{"n": 1.0, "b": 1}'),
        ('\n{\n\t"b": {}\n}\n', '\n{\n\t"n": 1.0,\n\t"b": {}\n}\n'),
        ("{}", None),
        ("[1]", None),
    ],
)
def test_a_new_key_of_the_outermost_object(tmp_path: Path, text: str, changed: str | None) -> None:
    editor = Editor(str(made(tmp_path / "a.json", text)))
    if changed is None:
        with pytest.raises(Refused, match="holds no JSON object with keys"):
            editor.add_top("n", 1.0)
        return
    editor.add_top("n", 1.0)
    assert editor.step().content(text.encode()).decode() == changed


def test_items_and_assignments_of_python(tmp_path: Path) -> None:
    source = (
        "import os\n"
        'kwargs = {"attn": "flash", "dtype": "ä"}\n'
        'os.environ["A"] = "1"\n'
        'if kwargs:\n    os.environ["B"] = "2"\n'
        'x = "1"\n'
    )
    path = made(tmp_path / "a.py", source)
    editor = Editor(str(path))
    editor.set_value(Place(str(path), 2, 11), "sdpa")  # the key's place
    editor.remove(Place(str(path), 2, 28))
    editor.remove(Place(str(path), 3, 1))
    editor.set_value(Place(str(path), 5, 23), "3")  # the value's place
    changed = result(editor, path)
    assert changed == ('import os\nkwargs = {"attn": \'sdpa\'}\nif kwargs:\n    os.environ["B"] = \'3\'\nx = "1"\n')
    for line, column in ((6, 1), (6, 5)):  # a plain name is nobody's setting
        with pytest.raises(Refused):
            Editor(str(path)).set_value(Place(str(path), line, column), 1)
    alone = Editor(str(path))
    with pytest.raises(Refused, match="all that its block holds"):
        alone.remove(Place(str(path), 5, 5))


def test_python_arguments(tmp_path: Path) -> None:
    path = made(tmp_path / "train.py", PYTHON)
    editor = Editor(str(path))
    editor.rename(Place(str(path), 4, 5), "eval_strategy")
    editor.remove(Place(str(path), 5, 5))
    editor.set_value(Place(str(path), 6, 10), False)  # the value's place
    editor.set_value(Place(str(path), 6, 16), True)  # the keyword's place
    editor.remove(Place(str(path), 7, 18))
    changed = result(editor, path)
    assert changed == PYTHON.replace("evaluation_strategy", "eval_strategy").replace(
        "    max_prompt_length=512,\n", ""
    ).replace("fp16=True, bf16=False", "fp16=False, bf16=True").replace("GRPOConfig(fp16=True)", "GRPOConfig()")
    ast.parse(changed)


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        ("a.py", PYTHON, (2, 1)),
        ("a.py", "x = (", (1, 1)),
        ("a.yaml", YAML, (2, 3)),
        ("a.yaml", "a: [", (1, 1)),
        ("a.json", JSON, (3, 1)),
        ("a.json", JSON, (99, 1)),
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, file: str, text: str, place: tuple[int, int]) -> None:
    path = made(tmp_path / file, text)
    with pytest.raises(Refused):
        Editor(str(path)).set_value(Place(str(path), *place), 1)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = '\xff'")
    for name in ("a.py", "none.py"):
        with pytest.raises(Refused):
            Editor(str(tmp_path / name))


@given(st.text(max_size=30))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_word_written_is_read_back(tmp_path: Path, value: str) -> None:
    for name, read in (("a.yaml", load_yaml), ("a.json", load_json)):
        path = made(tmp_path / name, '{\n"a": 1, "b": 2}\n')
        editor = Editor(str(path))
        editor.set_value(Place(str(path), 2, 1), value)
        path.write_bytes(result(editor, path).encode())
        located = read(str(path))
        assert located.settings["a"].value == value
        assert located.settings["b"].value == 2
