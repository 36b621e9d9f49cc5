"""Patterns of code with holes, and the idioms that are kept as such patterns."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from doctor import data
from doctor.base.code_patterns import CodeForm, PatternPiece, first_match, words_of
from doctor.readers.script import flow
from doctor.readers.script.script import read_script


def held(code: str, *pieces: PatternPiece, unless: tuple[PatternPiece, ...] = ()) -> dict[str, str] | None:
    met = first_match(ast.parse(code), CodeForm(pieces, unless))
    return None if met is None else dict(met[0])


def test_a_hole_holds_the_same_wherever_it_stands() -> None:
    piece = PatternPiece("$T.pad_token = $T.eos_token")
    assert held("tok.pad_token = tok.eos_token", piece) == {"T": "tok"}
    assert held("tok.pad_token = other.eos_token", piece) is None


def test_a_call_may_have_more_arguments() -> None:
    assert held("trl.SFTTrainer(model, args=a, packing=True)", PatternPiece("SFTTrainer(packing=True)")) == {}
    assert held("SFTTrainer(packing=False)", PatternPiece("SFTTrainer(packing=True)")) is None
    assert held("f(a)", PatternPiece("f($X, $Y)")) is None


def test_an_argument_may_stand_anywhere() -> None:
    code = "s = StepLR(o)\nm, o, s = accelerator.prepare(m, o, scheduler=s)"
    pieces = (PatternPiece("$S = $F(...)", {"F": "LR$"}), PatternPiece("$A.prepare(..., $S)"))
    assert held(code, *pieces) == {"S": "s", "F": "StepLR", "A": "accelerator"}
    assert held(code.replace("=s)", "=t)"), *pieces) is None


def test_an_argument_of_any_name() -> None:
    piece = PatternPiece("$F($K=$V)", {"K": "_mask$", "V": "advantages$"})
    code = "loss(advantages=advantages, response_mask=batch.advantages)"
    assert held(code, piece) == {"F": "loss", "K": "response_mask", "V": "batch.advantages"}
    assert held("loss(advantages=advantages, response_mask=mask, **more)", piece) is None


def test_what_must_not_stand_there() -> None:
    piece, unless = PatternPiece("DistributedSampler(...)"), (PatternPiece("$_.set_epoch($_)"),)
    assert held("s = DistributedSampler(d)", piece, unless=unless) == {}
    assert held("s = DistributedSampler(d)\ns.set_epoch(1)", piece, unless=unless) is None


def test_a_result_that_is_dropped_and_one_that_is_kept() -> None:
    piece = PatternPiece("$D.map(...)", alone=True)
    assert held("ds.map(f)", piece) == {"D": "ds"}
    assert held("ds = ds.map(f)", piece) is None


def test_a_piece_inside_of_the_first_one() -> None:
    pieces = (PatternPiece("def $N(): ...", {"N": "reward"}), PatternPiece("re.$F($P, $_)", within=True))
    assert held("@x\ndef reward(a, *, b=1) -> int:\n    return re.match(p, a)", *pieces) is not None
    assert held("def reward(a): ...\nre.match(p, a)", *pieces) is None


@pytest.mark.parametrize(
    ("code", "pattern"),
    [
        ("for e in range(3):\n    run()", "for $E in range(...): ..."),
        ("class Rows(IterableDataset):\n    a = 1", "class $C(IterableDataset): ..."),
        ("t.add({'b': 1, 'a': x})", "$T.add({'a': $_})"),
        ("if t.pad_token is None:\n    a()\nelse:\n    b()", "if $T.pad_token is None: ..."),
    ],
)
def test_statements_with_any_body(code: str, pattern: str) -> None:
    assert held(code, PatternPiece(pattern)) is not None
    assert held("x = 1", PatternPiece(pattern)) is None


def test_a_body_that_ends_with_something() -> None:
    piece = PatternPiece("if $C:\n    ...\n    continue")
    assert held("for x in y:\n    if bad(x):\n        log()\n        continue", piece) == {"C": "bad(x)"}
    assert held("for x in y:\n    if bad(x):\n        continue", piece) is not None
    assert held("for x in y:\n    if bad(x):\n        log()", piece) is None


def test_a_piece_outside_of_something() -> None:
    piece = PatternPiece("$L.append($X)", outside="with no_grad(): ...")
    assert held("kept.append(loss)", piece) == {"L": "kept", "X": "loss"}
    assert held("with torch.no_grad():\n    if x:\n        kept.append(loss)", piece) is None
    assert held("with torch.enable_grad():\n    kept.append(loss)", piece) is not None


def test_names_that_a_text_must_have() -> None:
    assert words_of("$T.pad_token = $T.eos_token") == {"pad_token", "eos_token"}
    assert words_of("LoraConfig(modules_to_save=$_)") == {"LoraConfig", "modules_to_save"}
    assert words_of("""$T.add({'a b': $_}, "c")""") == {"add"}
    assert words_of("if $A in $B and not $C: ...") == set()
    assert words_of("def reward(a=True): ...") == {"reward", "a"}


def test_every_idiom_is_a_pattern_with_sources_and_words() -> None:
    from doctor.catalogue.index import load
    from doctor.catalogue.problem_files import declared
    from doctor.catalogue.shared.triggers import triggers_of

    entries = list(load())
    rows = {each.id.partition("/")[2] for each in entries if each.id.startswith("DAT3073/")}
    triggering = {trigger.code for each in entries for trigger in triggers_of(declared(each)) if trigger.code}
    assert {each.id for each in data.idioms()} == rows | triggering
    for idiom in data.idioms():
        assert idiom.links
        for form in idiom.forms:
            assert form.mentions or any(words_of(piece.code) for piece in form.code)


def test_an_idiom_without_a_pattern_is_told_by_the_flow_of_a_script() -> None:
    folder = Path(flow.__file__).parent
    told = {
        name
        for each in folder.glob("*.py")
        for name in re.findall(r'Met\(\s*"(\w+)"', each.read_text(encoding="utf-8"))
    }
    assert {each.id for each in data.idioms() if not each.forms} <= told <= {each.id for each in data.idioms()}


def test_a_piece_of_a_script_tells_nothing_by_what_it_lacks() -> None:
    code = "o = torch.optim.SGD(m.parameters())\nfor b in rows:\n    loss = m(b)\n    loss.backward()\n    o.step()\n"
    tree = ast.parse(code)
    assert [each.id for each in flow.flow_of(tree, code, whole=True)] == ["gradients_never_cleared"]
    assert list(flow.flow_of(tree, code, whole=False)) == []


def test_a_script_names_its_idioms_with_their_lines() -> None:
    script = read_script("train.py", b"x = 1\ntrain_dataset.filter(f)\n")
    assert {name: each.origin.line for name, each in script.idioms.items()} == {"result_dropped": 2}
    assert read_script("train.py", b"train_dataset = train_dataset.filter(f)\n").idioms == {}
