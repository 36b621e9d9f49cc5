"""Open facts: what nobody observed cannot be asked for, whoever asks, and several words on a fact are laid together."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from doctor.base.evidence import AFTER_DEATH, TIMED_OUT, UNKNOWN, Observations, Observed, Origin
from doctor.base.fact import run_fact
from doctor.base.key_blocks import MASK
from doctor.base.opened import NotSeen, is_open, opened, partly, seen_in, tellers_asked
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.packages import Distribution, Packages
from doctor.facts.training import Training, effective_value

TOLD = opened(Environment({"NCCL_DEBUG": "INFO"}))
LOG, PASTED = Origin("log", "run.log", 3), Origin("pasted", "env.txt", 9)


def test_what_was_seen_is_answered_and_what_was_not_is_refused() -> None:
    assert TOLD.get("NCCL_DEBUG") == "INFO"
    assert isinstance(TOLD, Environment)
    assert is_open(TOLD)
    assert not is_open(Environment())
    with pytest.raises(NotSeen) as refused:
        TOLD.get("NCCL_IB_DISABLE")
    assert (refused.value.fact, refused.value.name) == ("environment", "variables.NCCL_IB_DISABLE")
    with pytest.raises(NotSeen):
        TOLD.flag("NCCL_IB_DISABLE")
    with pytest.raises(NotSeen):
        _ = TOLD.from_command


@pytest.mark.parametrize(
    "ask",
    [
        lambda of: of["b"], lambda of: of.get("b"), lambda of: of.get("b", 1), lambda of: "b" in of, len,
        list, dict, lambda of: {**of}, lambda of: list(of.items()), lambda of: of == {},
        lambda of: sorted(of.values()), lambda of: of.keys() & {"b"}, lambda of: {"b"} & of.keys(),
        lambda of: of.keys() <= {"a"}, {"b"}.isdisjoint, lambda of: any(each == "b" for each in of),
        lambda of: all(each == "a" for each in of), lambda of: next((each for each in of if each == "b"), None),
        lambda of: of.keys() - {"a"}, max, lambda of: len(of.items()), set,
    ],
)  # fmt: skip
def test_no_way_to_ask_a_mapping_for_what_was_not_seen(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(NotSeen):
        ask(opened(Environment({"a": "1"})).variables)


@pytest.mark.parametrize(
    "ask",
    [
        lambda of: of["a"] == "1", lambda of: "a" in of, bool, lambda of: any(each == "a" for each in of),
        lambda of: not all(each == "b" for each in of), lambda of: next(iter(of)) == "a", lambda of: of.get("a") == "1",
    ],
)  # fmt: skip
def test_what_the_seen_part_of_a_mapping_decides_is_answered(ask: Callable[[Any], Any]) -> None:
    assert ask(opened(Environment({"a": "1"})).variables)


def test_an_empty_mapping_that_is_open_is_not_empty() -> None:
    with pytest.raises(NotSeen):
        bool(opened(Environment()).variables)
    with pytest.raises(NotSeen):
        _ = Environment().variables or opened(Environment()).variables or {}


def test_keys_that_are_known_to_be_absent_are_answered() -> None:
    told = opened(Environment({"a": "1"}), seen={"variables.b"})
    assert told.get("b") is None
    assert "b" not in told.variables
    with pytest.raises(NotSeen):
        told.get("c")


def test_fields_that_are_named_are_whole() -> None:
    told = opened(Training(arguments={}, config_class="GRPOConfig"), seen={"arguments", "config_class"})
    assert told.get("beta") is None
    assert told.config_class == "GRPOConfig"
    with pytest.raises(NotSeen):
        _ = told.trainer


@pytest.mark.parametrize(
    "ask",
    [
        len, list, tuple, lambda of: (*of,), lambda of: of[1], lambda of: of[-1], lambda of: of[:1], sorted,
        lambda of: 7 in of, sum, lambda of: all(each == 1 for each in of), lambda of: [*of],
        lambda of: any(each == 2 for each in of), dict.fromkeys, set,
    ],
)  # fmt: skip
def test_a_row_that_goes_on_is_not_counted(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(NotSeen):
        ask(partly((1,), "gpus", "gpus"))


def test_a_row_that_goes_on_tells_what_was_seen_of_it() -> None:
    row = partly((1, 2), "gpus", "gpus")
    assert row
    assert row[1] == 2
    assert 2 in row
    assert any(each == 2 for each in row)
    with pytest.raises(NotSeen):
        bool(partly((), "gpus", "gpus"))


def test_helpers_do_not_assume_a_default_of_what_was_not_seen() -> None:
    packages = Packages({"trl": Distribution("trl", "1.16.0"), "transformers": Distribution("transformers", "5.0")})
    closed = Training(config_class="GRPOConfig")
    assert effective_value(closed, packages, "num_generations") is not None
    told = opened(Training(config_class="GRPOConfig", arguments={"beta": Observed.written("beta", 0.1)}))
    found = effective_value(told, packages, "beta")
    assert found is not None
    assert found.value == 0.1
    with pytest.raises(NotSeen):
        effective_value(told, packages, "num_generations")
    with pytest.raises(NotSeen):
        effective_value(closed, opened(Packages({"peft": Distribution("peft", "1")})), "num_generations")


def test_nothing_is_installed_or_missing_that_nobody_listed() -> None:
    told = opened(Packages({"trl": Distribution("trl", "1.16.0")}))
    assert told.version("trl") == "1.16.0"
    for ask in (lambda: told.version("vllm"), lambda: told.has("vllm"), lambda: told.matches("vllm", ">1")):
        with pytest.raises(NotSeen):
            ask()


def test_a_part_of_a_record_can_be_open_on_its_own() -> None:
    gpus = Gpus(gpus=(opened(Gpu(0, name="NVIDIA H100"), seen={"index", "name"}),))
    assert gpus.gpus[0].name == "NVIDIA H100"
    with pytest.raises(NotSeen):
        gpus.silent_about("ecc_enabled")


def test_what_is_derived_of_an_open_fact_is_not_known() -> None:
    state = run_fact(lambda: TOLD.get("HOME"), {})
    assert (state.status, state.reason) == ("unavailable", "`variables.HOME` of `environment` was not seen")


def test_open_facts_go_to_other_processes() -> None:
    for told in (TOLD, opened(Gpus(gpus=partly((Gpu(0),), "gpus", "gpus")), seen={"gpus"})):
        again = pickle.loads(pickle.dumps(told))  # noqa: S301 - our own
        assert seen_in(again) == seen_in(told)
        assert is_open(again)
    assert pickle.loads(pickle.dumps(TIMED_OUT)) is TIMED_OUT  # noqa: S301
    with pytest.raises(NotSeen):
        pickle.loads(pickle.dumps(TOLD)).get("HOME")  # noqa: S301


# --- worlds ---


def test_words_are_laid_together_part_by_part() -> None:
    world = Observations(believed=AFTER_DEATH)
    world.add(Observed("environment", opened(Environment({"A": "pasted", "B": "pasted"})), PASTED))
    world.add(Observed("environment", opened(Environment({"A": "log", "C": "log"})), LOG))
    environment = world.value("environment")
    assert [environment.get(each) for each in "ABC"] == ["log", "pasted", "log"]
    with pytest.raises(NotSeen):
        environment.get("D")
    assert len(world.all_of("environment")) == 2
    (disagreement,) = world.disagreements["environment"]
    assert (disagreement.name, disagreement.decided) == ("variables.A", True)
    assert [(each.origin.kind, value) for each, value in disagreement.words] == [("log", "log"), ("pasted", "pasted")]


def test_who_is_believed_depends_on_the_question() -> None:
    words = [
        Observed("environment", opened(Environment({"A": kind})), Origin(kind))
        for kind in ("live", "log", "capsule", "file")
    ]  # type: ignore[arg-type]
    assert Observations(words).value("environment").get("A") == "live"
    assert Observations(words, believed=AFTER_DEATH).value("environment").get("A") == "capsule"


def test_two_that_weigh_the_same_and_disagree_leave_it_unknown() -> None:
    world = Observations(
        Observed("environment", opened(Environment({"A": value, "B": "1"})), Origin("log", "run.log", line))
        for line, value in enumerate(("1", "2"), 1)
    )
    with pytest.raises(NotSeen):
        world.value("environment").get("A")
    assert world.value("environment").get("B") == "1"
    assert not world.disagreements["environment"][0].decided


def test_a_closed_fact_answers_for_what_an_open_one_does_not_tell() -> None:
    world = Observations(
        [
            Observed("environment", Environment({"A": "1", "B": "1"}), PASTED),
            Observed("environment", opened(Environment({"A": "2"})), LOG),
        ],
        believed=AFTER_DEATH,
    )
    assert [world.value("environment").get(each) for each in ("A", "B", "C")] == ["2", "1", None]
    assert not is_open(world.value("environment"))


def test_what_was_looked_for_in_vain_is_kept_with_its_reason() -> None:
    world = Observations([Observed("gpus", TIMED_OUT, text="no answer"), Observed("host", UNKNOWN, text="not asked")])
    found = world.get("gpus")
    assert found is not None
    assert (found.known, found.applies, found.text) == (False, True, "no answer")
    assert world.get("network") is None
    assert world.value("gpus") is None
    world.add(Observed("gpus", Gpus()))
    assert world.value("gpus") == Gpus()


def test_whose_word_an_answer_rests_on_is_known() -> None:
    first = Observed("environment", opened(Environment({"A": "1"})), LOG)
    second = Observed("environment", opened(Environment({"B": "1"})), PASTED)
    environment = Observations([first, second]).value("environment")
    with tellers_asked() as asked:
        environment.get("B")
    assert [each.origin for each in asked] == [PASTED]
    with tellers_asked() as asked, pytest.raises(NotSeen):
        environment.get("C")
    assert not asked


def test_a_secret_is_hidden_where_it_is_stored() -> None:
    assert Observed("wandb_api_key", "0123456789abcdef0123").value == MASK
    assert Observed("url", "https://me:hunter2secret@host/x").value == f"https://{MASK}@host/x"
    assert Observed("HF_TOKEN", "hf_" + "a" * 34, text="HF_TOKEN=hf_" + "a" * 34).text == MASK
    assert "hunter2" not in Observed.quoted("train.py", 'login(password="hunter2secret1")', 3).text
    assert "hunter2" not in Observed.unseen("refused: https://me:hunter2secret@host/x").reason
    assert Observed.written("token", "hf_" + "a" * 34, text="hf_" + "a" * 34).text == MASK
    assert Observed("max_tokens", "100").value == "100"
    assert Observed("model", "/home/somebody/model").value == "/home/somebody/model", "a path is worked with"
