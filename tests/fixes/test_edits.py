"""One value changes; every other byte of a user's file stays."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from doctor.base.evidence import Observed, Place
from doctor.catalogue.plan import EditFile, Refused
from doctor.mend.edits import Editor
from doctor.readers.files.settings import load_json, load_yaml

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


def at(path: Path, line: int, column: int, name: str, value: Any) -> Observed:
    return Observed.written(name, value, place=Place(str(path), line, column))


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
    setting = load_yaml(str(path)).settings[name]
    editor = Editor(str(path))
    editor.set_value(setting, value)
    changed = result(editor, path)
    assert changed == YAML.replace(old, new)
    path.write_text(changed)
    assert load_yaml(str(path)).settings[name].value == value


def test_yaml_keys_go_with_their_lines(tmp_path: Path) -> None:
    path = made(tmp_path / "a.yaml", YAML)
    editor = Editor(str(path))
    editor.remove(load_yaml(str(path)).settings["deepspeed_config.zero_stage"])
    editor.remove(load_yaml(str(path)).settings["machine_rank"])
    assert result(editor, path) == "\n".join([*YAML.split("\n")[:3], *YAML.split("\n")[4:7], ""])


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
    setting = load_json(str(path)).settings[name]
    editor = Editor(str(path))
    editor.set_value(setting, value)
    assert result(editor, path) == JSON.replace(old, new)


def test_json_stays_json_when_a_key_goes(tmp_path: Path) -> None:
    for name in ("train_batch_size", "fp16.enabled", "größe", "fp16.loss_scale"):
        path = made(tmp_path / "a.json", JSON)
        setting = load_json(str(path)).settings[name]
        editor = Editor(str(path))
        editor.remove(setting)
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
        with pytest.raises(Refused, match="has no JSON object with keys"):
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
    editor.set_value(at(path, 2, 11, "kwargs.attn", "flash"), "sdpa")  # the key's place
    editor.remove(at(path, 2, 28, "kwargs.dtype", "ä"))
    editor.remove(at(path, 3, 1, "A", "1"))
    editor.set_value(at(path, 5, 23, "B", "2"), "3")  # the value's place
    changed = result(editor, path)
    assert changed == ('import os\nkwargs = {"attn": "sdpa"}\nif kwargs:\n    os.environ["B"] = "3"\nx = "1"\n')
    for line, column in ((6, 1), (6, 5)):  # a plain name is nobody's setting
        with pytest.raises(Refused):
            Editor(str(path)).set_value(at(path, line, column, "x", "1"), 1)
    alone = Editor(str(path))
    with pytest.raises(Refused, match="the only statement of its block"):
        alone.remove(at(path, 5, 5, "B", "2"))


def test_python_arguments(tmp_path: Path) -> None:
    path = made(tmp_path / "train.py", PYTHON)
    editor = Editor(str(path))
    editor.rename(at(path, 4, 5, "evaluation_strategy", "steps"), "eval_strategy")
    editor.remove(at(path, 5, 5, "max_prompt_length", 512))
    editor.set_value(at(path, 6, 10, "fp16", True), False)  # the value's place
    editor.set_value(at(path, 6, 16, "bf16", False), True)  # the keyword's place
    editor.remove(at(path, 7, 18, "fp16", True))
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
        Editor(str(path)).set_value(at(path, *place, "zero_stage", 3), 1)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = '\xff'")
    for name in ("a.py", "none.py"):
        with pytest.raises(Refused):
            Editor(str(tmp_path / name))


@given(st.text(max_size=30))
@example(".0")
@example("._1")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_word_written_is_read_back(tmp_path: Path, value: str) -> None:
    for name, read in (("a.yaml", load_yaml), ("a.json", load_json)):
        path = made(tmp_path / name, '{\n"a": 1, "b": 2}\n')
        editor = Editor(str(path))
        editor.set_value(read(str(path)).settings["a"], value)
        path.write_bytes(result(editor, path).encode())
        located = read(str(path))
        written = located.settings["a"]
        assert (written.value if written.known else written.text) == value, "a shell's signs are not known, but kept"
        assert located.settings["b"].value == 2


NAMES = ("alpha", "beta", "größe", "num_generations")
VALUES = st.one_of(st.integers(-9, 9), st.booleans(), st.sampled_from(["a", "auto", "no"]))
Items = dict[str, Any]


def python(items: Items) -> str:
    return "f(\n" + "".join(f"    {name}={value!r},\n" for name, value in items.items()) + ")\n"


WRITERS: dict[str, Callable[[Items], str]] = {
    "a.py": python,
    "a.json": lambda items: json.dumps(items, indent=2, ensure_ascii=False),
    "a.yaml": lambda items: "".join(f"{name}: {json.dumps(value)}\n" for name, value in items.items()),
}


@given(
    st.sampled_from(sorted(WRITERS)),
    st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1),
    st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1),
    st.sampled_from(NAMES),
    st.integers(1, 6),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_what_was_found_is_changed(
    tmp_path: Path, file: str, seen: Items, now: Items, name: str, line: int
) -> None:
    # `name` was seen at a line with a value; the file holds something else by now
    path, value = made(tmp_path / file, WRITERS[file](now)), seen.get(name, 0)
    column = {"a.py": 5, "a.json": 3, "a.yaml": 1}[file]
    editor = Editor(str(path))
    try:
        editor.remove(at(path, line, column, name, value))
    except Refused:
        assert result(editor, path) == WRITERS[file](now)
        return
    assert now[name] == value
    assert isinstance(now[name], bool) == isinstance(value, bool)
    if len(now) > 1:
        wanted = WRITERS[file]({each: now[each] for each in now if each != name})
        assert "".join(result(editor, path).split()) == "".join(wanted.split())


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(
    ("file", "text", "old", "new"),
    [
        ("a.py", "f(fp16=True, x='1')\nf(\n\tlr=2,\n)", "True", "False"),
        ("a.yaml", "fp16: true  # größe\nx: '1'\nlr: 2", "true", "false"),
    ],
)
def test_marks_and_line_ends_stay(
    tmp_path: Path, file: str, text: str, old: str, new: str, prefix: bytes, end: str, last: bool
) -> None:
    text = text.replace("\n", end) + end * last
    path = tmp_path / file
    path.write_bytes(prefix + text.encode())
    editor = Editor(str(path))
    editor.set_value(at(path, 1, 3 if file == "a.py" else 1, "fp16", True), False)
    assert editor.step().content(path.read_bytes()) == prefix + text.replace(old, new).encode()


def test_a_declared_encoding_stays(tmp_path: Path) -> None:
    source = "# -*- coding: gbk -*-\nf(名='值', report_to='wandb')\n".encode("gbk")
    path = tmp_path / "a.py"
    path.write_bytes(source)
    setting = at(path, 2, 10, "report_to", "wandb")
    editor = Editor(str(path))
    editor.set_value(setting, "none")
    assert editor.step().content(source) == source.replace(b"wandb", b"none")
    with pytest.raises(Refused, match="cannot be written"):
        Editor(str(path)).set_value(setting, "无")


@pytest.mark.parametrize(
    ("name", "content"), [("a.ipynb", b"{}"), ("a.py", b"f(x=1)\rf(x=2)\n"), ("a.yaml", b"a: \xff")]
)
def test_what_cannot_be_edited_safely_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Refused):
        Editor(str(tmp_path / name))


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ("f(a=1, b=2, c=3)", "f(a=1)"),
        ("f(b=2, a=1, c=3)", "f(a=1)"),
        ("f(b=2, c=3)", "f()"),
        ("f(\n    a=1,\n    b=2,\n    c=3\n)", "f(\n    a=1\n)"),
        ("f(\n    b=2,\n    c=3,\n    a=1,\n)", "f(\n    a=1,\n)"),
    ],
)
def test_neighbours_go_together(tmp_path: Path, call: str, left: str) -> None:
    path = made(tmp_path / "train.py", f"{call}\n")
    editor = Editor(str(path))
    for name, value in (("c", 3), ("b", 2)):
        line = next(number for number, text in enumerate(call.split("\n"), 1) if f"{name}=" in text)
        editor.remove(at(path, line, call.split("\n")[line - 1].index(f"{name}=") + 1, name, value))
    changed = result(editor, path)
    ast.parse(changed)
    assert changed == f"{left}\n"


def test_neighbours_of_json_leave_no_comma(tmp_path: Path) -> None:
    path = made(tmp_path / "a.json", '{"a": 1, "b": 2, "c": 3}')
    editor = Editor(str(path))
    settings = load_json(str(path)).settings
    for name in ("c", "b"):
        editor.remove(settings[name])
    assert json.loads(result(editor, path)) == {"a": 1}


YAML_OPERATIONS: dict[str, Callable[[Editor, Observed], None]] = {
    "set": lambda editor, found: editor.set_value(found, 7),
    "remove": lambda editor, found: editor.remove(found),
    "rename": lambda editor, found: editor.rename(found, "other"),
    "beside": lambda editor, found: editor.set_with(found, 7, "other", 8),
}


@pytest.mark.parametrize(
    ("text", "name", "operations"),
    [
        ("a: &x 4\nb: *x\n", "a", "set remove beside"),
        ("a: &x 4\nb: *x\n", "b", "set remove beside"),
        ("base: &base\n  lr: 1\nrun:\n  <<: *base\n", "base.lr", "set remove rename beside"),
        ("base: &base\n  lr: 1\nrun:\n  <<: *base\n", "run.lr", "set remove rename beside"),
        ("base: &base {lr: 1}\nrun: {<<: *base, lr: 2}\n", "run.lr", "remove rename"),
        ("a: &x\n  q: 1\nb: *x\n", "b.q", "set remove rename beside"),
        ("a: 1\na: 2\n", "a", "remove rename"),
        ("a:\nb: 2\n", "a", "set beside"),
        ("a:\n  q: 1\nb: 2\n", "a.q", "remove"),
        ("? a\n: 3\nb: 4\n", "a", "remove"),
    ],
)
def test_a_yaml_place_that_is_not_one_setting_is_refused(tmp_path: Path, text: str, name: str, operations: str) -> None:
    """Anchors, merged keys, keys that stand twice, values that are not there: nothing else may change."""
    path = made(tmp_path / "a.yaml", text)
    for operation in operations.split():
        editor = Editor(str(path))
        YAML_OPERATIONS[operation](editor, load_yaml(str(path)).settings[name])
        with pytest.raises(Refused, match="without changing something else"):
            editor.step()


@pytest.mark.parametrize(
    ("text", "name", "operation", "new"),
    [
        ("a: &x 4\nb: *x\n", "b", "rename", "a: &x 4\nother: *x\n"),
        ("x: &x {q: 1}\nrun: {<<: *x, q: 2}\n", "run.q", "set", "x: &x {q: 1}\nrun: {<<: *x, q: 7}\n"),
        ("a: |\n  text\n  more\nb: 2\n", "a", "set", "a: 7\nb: 2\n"),
        ("a: >-\n  text\n\n# c\nb: 2\n", "a", "beside", "other: 8\na: 7\n\n# c\nb: 2\n"),
        ("list:\n- a: 1\n  b: 2\n- a: 1\n  b: 2\n", "list.1.b", "set", "list:\n- a: 1\n  b: 2\n- a: 1\n  b: 7\n"),
        ("a: {q: 1}\nb: 2\n", "a.q", "remove", "a: {}\nb: 2\n"),
    ],
)  # fmt: skip
def test_one_setting_of_a_strange_yaml_is_changed(
    tmp_path: Path, text: str, name: str, operation: str, new: str
) -> None:
    path = made(tmp_path / "a.yaml", text)
    editor = Editor(str(path))
    YAML_OPERATIONS[operation](editor, load_yaml(str(path)).settings[name])
    assert result(editor, path) == new


def test_a_float_is_one_for_every_reader_of_yaml(tmp_path: Path) -> None:
    path = made(tmp_path / "a.yaml", "lr: 1\n")
    editor = Editor(str(path))
    editor.set_value(load_yaml(str(path)).settings["lr"], 1e-05)  # PyYAML reads `1e-05` as text
    assert result(editor, path) == "lr: 1.0e-05\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("f(a=(1), b=2)", "f(b=2)"),
        ("f(b=2, a=((1)\n))", "f(b=2)"),
        ("f(b=2,\n  # c=3,\n  a=1)", "f(b=2,\n  # c=3,\n  )"),
        ("f(b=2,  # c,\n  a=1,\n)", "f(b=2,  # c,\n)"),
        ("f(\n  a=1  # d\n  , b=2)", None),
        ("x['a'] = x['b'] = 1", None),
    ],
)
def test_brackets_and_comments_around_what_goes(tmp_path: Path, text: str, left: str | None) -> None:
    path = made(tmp_path / "train.py", f"{text}\n")
    line = next(number for number, each in enumerate(text.split("\n"), 1) if "a=" in each or "'a'" in each)
    column = max(text.split("\n")[line - 1].find("a="), 0) + 1
    editor = Editor(str(path))
    if left is None:
        with pytest.raises(Refused):
            _removed(editor, at(path, line, column, "a", 1))
        return
    assert _removed(editor, at(path, line, column, "a", 1)).content(path.read_bytes()).decode() == f"{left}\n"


def _removed(editor: Editor, setting: Observed) -> EditFile:
    editor.remove(setting)
    return editor.step()
