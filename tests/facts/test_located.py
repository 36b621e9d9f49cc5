"""Files as settings with places: the values that PyYAML, OmegaConf and json give, and words for what is broken."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doctor.readers.files.json_positions import parse_json
from doctor.readers.files.located import Located
from doctor.readers.files.settings import load_json, load_yaml, settings_of
from doctor.readers.files.text import LIMIT_BYTES
from doctor.readers.files.yaml11 import plain_value
from doctor.readers.files.yaml_plain import plain_nodes
from doctor.readers.files.yaml_positions import parse_yaml

DEEPSPEED = """\
compute_environment: LOCAL_MACHINE
deepspeed_config:
  zero_stage: 3
  offload_optimizer_device: none
  gradient_clipping: 1.0
distributed_type: DEEPSPEED
downcast_bf16: 'no'
num_processes: 8
use_cpu: no
learning_rate: 1e-5
tpu_env: []
"""


def test_yaml_places_and_values() -> None:
    found = parse_yaml(DEEPSPEED, "z.yaml")
    values = {name: each.value for name, each in found.settings.items()}
    assert values == {
        "compute_environment": "LOCAL_MACHINE",
        "deepspeed_config.zero_stage": 3,
        "deepspeed_config.offload_optimizer_device": "none",
        "deepspeed_config.gradient_clipping": 1.0,
        "distributed_type": "DEEPSPEED",
        "downcast_bf16": "no",
        "num_processes": 8,
        "use_cpu": False,
        "learning_rate": "1e-5",
        "tpu_env": [],
    }
    place = found.settings["deepspeed_config.zero_stage"].place
    assert place is not None
    assert (place.file, place.line, place.column) == ("z.yaml", 3, 3)
    assert found.settings["use_cpu"].text == "no"
    assert found.broken is None


def test_omegaconf_reads_numbers_its_own_way() -> None:
    text = "lr: 1e-5\nday: 2024-01-01\nmodel: ${oc.env:HOME}/m\n"
    found = parse_yaml(text, "t.yaml", omegaconf=True)
    assert found.settings["lr"].value == 1e-5
    assert found.settings["day"].value == "2024-01-01"
    assert not found.settings["model"].known


def test_lists_of_mappings_are_there_twice() -> None:
    found = parse_yaml("stages:\n- mode: train\n- mode: both\n  lr: 1.0e-5\n", "t.yaml")
    assert found.settings["stages"].value == [{"mode": "train"}, {"mode": "both", "lr": 1e-5}]
    mode = found.settings["stages.1.mode"]
    assert (mode.value, mode.place and mode.place.line) == ("both", 3)


def _repeated(found: Located) -> dict[str, tuple[object, int | None, object, int | None]]:
    pairs = ((each.first, each.last) for each in found.repeated_keys)
    return {first.name: (first.value, first.line, last.value, last.line) for first, last in pairs}


def test_keys_given_twice_that_say_the_same() -> None:
    for text in ("a: 1\na: 1\n", "a: {b: 1}\na: {b: 1}\n", "a: [1]\na: [1]\n", "- a: 1\n- a: 2\n"):
        assert not parse_yaml(text, "t.yaml").repeated_keys
    assert not parse_json('{"a": 1, "a": 1, "b": {"a": 2}}', "t.json").repeated_keys
    assert _repeated(parse_json('{"a": 1,\n"a": 2,\n"a": 3}', "t.json")) == {"a": (1, 1, 3, 3)}


def test_key_given_twice_below_an_alias_is_one() -> None:
    found = parse_yaml("one: &o\n  a: 1\n  a: 2\ntwo: *o\nthree:\n  <<: *o\n", "t.yaml")
    assert _repeated(found) == {"one.a": (1, 2, 2, 3)}


def test_key_given_twice_keeps_no_secret() -> None:
    text = "api_key: hunter2hunter2\napi_key: swordfish99\nb: {password: aaa}\nb: {password: bbb}\n"
    found = parse_yaml(text, "t.yaml")
    assert [each.last.name for each in found.repeated_keys] == ["b"]
    assert not any(word in repr(found.repeated_keys) for word in ("hunter2", "swordfish", "aaa", "bbb"))


def test_keys_given_twice() -> None:
    text = "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n"
    found = parse_yaml(text, "t.yaml")
    assert _repeated(found) == {"a": (1, 1, 3, 5), "b.c": (1, 3, 2, 4)}
    assert (found.settings["a"].value, found.settings["b.c"].value) == (3, 2)
    broken = parse_yaml(text, "t.yaml", omegaconf=True).broken
    assert broken is not None
    assert "twice" in broken.message


def test_merge_keys_as_pyyaml() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {x: 5, z: 6}\none:\n  <<: *b\n  y: 3\ntwo:\n  <<: [*b, *o]\n"
    found = parse_yaml(text, "t.yaml")
    assert found.document == yaml.safe_load(text)
    assert not found.repeated_keys


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb:\n\tc: 2\n", 3, "tab"),
        ("a: 1\n b: 2\n", 2, ""),
        ("a: [1, 2\nb: 3\n", 2, ""),
        ("a: 'x\n", None, ""),
        ("", None, "empty"),
        ("# only a comment\n", None, "empty"),
        ("- a\n- b\n", 1, "list"),
        ("just words\n", 1, "single value"),
        ("a: 1\n---\nb: 2\n", 2, "document"),
        ("a: !!python/object/apply:os.system ['x']\n", 1, "refused by safe loaders"),
        ("a: !env HOME\n", 1, "`!env`"),
        ("a: {{ model }}\n", 1, "key"),
        ("a: &x\n  b: *x\n", None, "part of"),
        ("a: *nowhere\n", 1, ""),
        ("a: \x07\n", 1, "control character U+0007"),
        ("a: 0x_\n", 1, "number"),
        ("<<: 3\n", 1, "not a mapping"),
        ("a: " + "[" * 5000 + "]" * 5000, None, "deeply"),
    ],
)
def test_broken_yaml(text: str, line: int | None, words: str) -> None:
    broken = parse_yaml(text, "t.yaml").broken
    assert broken is not None
    assert words in broken.message
    assert "\n" not in broken.message
    if line is not None:
        assert broken.place.line == line


def test_alias_bomb_is_capped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    broken = parse_yaml("\n".join(lines), "bomb.yaml").broken
    assert broken is not None
    assert "aliases" in broken.message


WORDS = ["yes", "No", "ON", "off", "~", "null", "NULL", "", "1e-5", "1.0e-5", "1.5e3", "0123", "0o17", "0x1F", "0b11"]
WORDS += ["1_000", "12:30:45", "1:2.5", ".5", "5.", ".inf", "-.INF", "-1", "+1.5", "0", "-0", "08", "true", "y", "n"]


@given(st.sampled_from(WORDS) | st.text(alphabet="0123456789+-._eExXbo:aAnNyYtTrRuUfFlLsS~", max_size=8))
@settings(max_examples=400, deadline=None)
@example("=")
def test_plain_values_are_pyyamls(word: str) -> None:
    try:
        theirs = yaml.safe_load(f"a: {word}")
    except (yaml.YAMLError, ValueError, IndexError):
        return
    if not isinstance(theirs, dict) or not isinstance(theirs.get("a", 0), (str, int, float, bool, type(None))):
        return
    ours = plain_value(word)
    theirs = theirs["a"]
    assert type(ours) is type(theirs)
    assert ours == theirs or (isinstance(ours, float) and math.isnan(ours) and math.isnan(theirs))


SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=12)
KEYS = st.text(alphabet="abdnoxyzNOY0123456789", min_size=1, max_size=6)
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
DOCUMENTS = st.dictionaries(KEYS, TREES, min_size=1, max_size=4)


@given(DOCUMENTS, st.sampled_from([True, False, None]))
@settings(max_examples=150, deadline=None)
def test_documents_are_pyyamls(document: dict[str, object], flow: bool | None) -> None:
    text = yaml.safe_dump(document, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    theirs = yaml.safe_load(text)
    found = parse_yaml(text, "t.yaml")
    assert found.broken is None
    if all(isinstance(key, str) for key in theirs):
        assert found.document == theirs


@given(DOCUMENTS, st.sampled_from([None, 1]))
@settings(max_examples=150, deadline=None)
def test_documents_are_jsons(document: dict[str, object], indent: int | None) -> None:
    found = parse_json(json.dumps(document, indent=indent), "t.json")
    assert found.document == document
    leaves = {name: each.value for name, each in settings_of(document).items()}
    assert {name: each.value for name, each in found.settings.items()} == leaves


@given(st.text(alphabet="{}[]\",:0123456789.eE+-trufalsn \n\\/#'", max_size=30) | st.text(max_size=20))
@settings(max_examples=500, deadline=None)
@example('{"a": 01}')
@example('{"a": 1.}')
@example('{"a": "x\ny"}')
def test_json_is_refused_exactly_when_python_refuses_it(text: str) -> None:
    try:
        theirs = json.loads(text)
    except ValueError:
        theirs = None
    found = parse_json(text, "t.json")
    assert (found.broken is None) == isinstance(theirs, dict)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{\n  "a": 1,\n}', 2, 9, "comma"),
        ('{\n  // stage\n  "a": 1}', 2, 3, "comment"),
        ('{"a": 1 # one\n}', 1, 9, "comment"),
        ("{'a': 1}", 1, 2, "single quotes"),
        ('{"a": True}', 1, 7, "JSON writes `true`"),
        ('{"a": auto}', 1, 7, "`auto` stands without quotes"),
        ('{"a": 1\n "b": 2}', 2, 2, "missing"),
        ('{"a": [1, 2}', 1, 12, "missing"),
        ('{"a": {"b": 1}', 1, 15, "too early"),
        ('{"a" 1}', 1, 6, "lacks its `:`"),
        ('{"a": 1} x', 1, 10, "after the end"),
        ("\ufeff{}", 1, 1, "byte order mark"),
        ("", 1, 1, "empty"),
        ("[1]", 1, 1, "list"),
        ('{"a": 1' + "0" * 5000 + "}", 1, 7, "digits"),
        ('{"a": ' + "[" * 100000, None, None, "deeply"),
    ],
)
def test_broken_json(text: str, line: int | None, column: int | None, words: str) -> None:
    broken = parse_json(text, "t.json").broken
    assert broken is not None
    assert words in broken.message
    assert (broken.place.line, broken.place.column) == (line, column)


def test_json_duplicates_and_places() -> None:
    found = parse_json('{"fp16": {"enabled": true},\n "fp16": {"x": 1},\n "e": {}}', "t.json")
    assert [(each.first.known, each.first.line, each.last.line) for each in found.repeated_keys] == [(False, 1, 2)]
    assert set(found.settings) == {"fp16.x", "e"}
    place = found.settings["fp16.x"].place
    assert place is not None
    assert (place.line, place.column) == (2, 11)


def test_files_that_are_no_files(tmp_path: Path) -> None:
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    fifo = tmp_path / "fifo.yaml"
    os.mkfifo(fifo)
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(100 << 20)
    junk = tmp_path / "junk.yaml"
    junk.write_bytes(b"a: 1\n\x7fELF\x00\x01")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("a: 1\nname: Käse\n".encode("latin-1"))
    wide = tmp_path / "wide.yaml"
    wide.write_bytes("a: 1".encode("utf-16"))
    expected = {
        str(loop): "loop", str(fifo): "regular file", str(big): "104.9 MB", str(junk): "binary", str(latin): "0xe4",
        str(wide): "UTF-16", str(tmp_path): "directory", str(tmp_path / "none"): "does not exist",
        str(junk / "x"): "does not exist", "/dev/zero": "regular file", "a\0b": "NUL", "x" * 5000: "too long",
    }  # fmt: skip
    for path, words in expected.items():
        for load in (load_yaml, load_json):
            broken = load(path).broken
            assert broken is not None, path
            assert words in broken.message
            assert broken.place.file == path
    assert load_yaml(str(latin)).broken.place.line == 2  # type: ignore[union-attr]
    assert load_yaml(str(latin)).broken.place.column == 8  # type: ignore[union-attr]


def test_byte_order_mark_is_fine_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert load_yaml(str(path)).document == {"a": 1}


def test_limit_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "edge.json"
    path.write_text("{}" + " " * (LIMIT_BYTES - 2))
    assert load_json(str(path)).broken is None


def test_secrets_are_not_kept() -> None:
    text = (
        "env:\n  WANDB_API_KEY: 0123456789abcdef\nhub_token: hf_abcdefghijklmnop\nurls: ['https://u:pass1word@h/x']\n"
    )
    found = parse_yaml(text + "pad_token: <pad>\nmax_new_tokens: 512\npath: /home/me/x\n", "t.yaml")
    shown = repr(found.settings)
    assert not any(secret in shown for secret in ("0123456789", "abcdefghij", "pass1word"))
    values = {name: each.value for name, each in found.settings.items()}
    assert (values["pad_token"], values["max_new_tokens"], values["path"]) == ("<pad>", 512, "/home/me/x")
    shown = repr(parse_json('{"api_key": "0123456789abcdef", "u": "https://u:pass1word@h"}', "t.json").settings)
    assert not any(secret in shown for secret in ("0123456789", "pass1word"))


NAMES = st.sampled_from(["a", "b", "aa", "yes", "null", "<<", "1", "k-x", "k_x", "- a", "key", "?", '"q"'])
WORD_LIST = (
    " a [] {} 'no' '1' '' [ ''a' yes no null ~ 1 0123 1e-5 1.0e-5 0x1f 0b1 0b 1:30 2020-01-01 -1 +1 .5 - --- ... . -a"
    " /x/y .. .nan 12_3 _ --x -.inf = 'q' OFF x\xa0# x# x#y x:y ? !t é \x01 << 0x_ 0b_ 089 +.inf TRUE {a a,b *x &x %x"
    " `x >"
)
YAML_WORDS = st.sampled_from([*WORD_LIST.split(" "), "b: c", "x # c", "x #", "? a", "- a", "&x y", "\t"])
YAML_LINES = st.builds(
    lambda indent, key, gap, word, end: f"{' ' * indent}{key}:{' ' * gap if word else ''}{word}{end}",
    st.sampled_from([0, 0, 0, 2, 2, 4, 6, 1, 3]), NAMES, st.sampled_from([1, 1, 1, 2, 0]), YAML_WORDS,
    st.sampled_from(["", "", "", " ", " # c", "# c", "\t", "\r"]),
) | st.sampled_from(["", "  ", "# c", "   # c: d", "---", "...", "-", "x", "\u0085"])  # fmt: skip


@given(st.lists(YAML_LINES, max_size=7).map("\n".join), st.booleans())
@settings(max_examples=1500, deadline=None)
def test_plain_files_are_read_as_all_of_yaml_is(text: str, omegaconf: bool) -> None:
    from unittest import mock

    told = parse_yaml(text, "f.yaml", omegaconf=omegaconf)
    with mock.patch("doctor.readers.files.yaml_positions.plain_nodes", return_value=None):
        assert repr(told) == repr(parse_yaml(text, "f.yaml", omegaconf=omegaconf))


@pytest.mark.parametrize("text", [DEEPSPEED, "a:\n  b: 1 # c\n\n  c:\nd: x\n"])
def test_what_launchers_write_needs_no_parser_of_yaml(text: str) -> None:
    assert plain_nodes(text) is not None
