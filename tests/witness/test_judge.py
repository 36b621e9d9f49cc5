"""Judgement of rounds without an engine: noise of every precision is silent, and what explains most is said."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.guard.agree import decode, encode
from doctor.monitors.guard.policy import Policy
from doctor.monitors.witness.asked import CannotAsk, Continued
from doctor.monitors.witness.hooks import forwards_together
from doctor.monitors.witness.judge import Batch, Known, judge, judge_batch
from doctor.monitors.witness.policy import TrainedModel as TrainedPolicy
from doctor.monitors.witness.seen import Asked, Fixed, Round
from doctor.monitors.witness.sequences import ANSWER_TOKENS, beginnings

Rows = list[list[Any]]
NOISE = {"float32": 1e-5, "bfloat16": 0.015, "float16": 0.004}


def scores(seed: int, size: int = 52) -> Rows:
    source = random.Random(seed)  # noqa: S311
    return [[None, *(-source.expovariate(1.2) for _ in range(size - 1))] for _ in range(4)]


def near(rows: Rows, size: float, seed: int) -> Rows:
    source = random.Random(seed)  # noqa: S311
    return [[None if each is None else each + source.gauss(0, size) for each in row] for row in rows]


def fixed() -> Fixed:
    prompts = beginnings(None, 1000)
    return Fixed(prompts, [[*each, *range(ANSWER_TOKENS)] for each in prompts])


def continued(noise: float, seed: int, shift: float = 0.0) -> list[Continued]:
    source = random.Random(5)  # noqa: S311 - the same continuation each time
    more = random.Random(seed)  # noqa: S311
    made = []
    for _ in range(4):
        places = [
            {each: -source.expovariate(1.0) + shift + more.gauss(0, noise) for each in range(5)} for _ in range(12)
        ]
        made.append(Continued([0] * 12, places))
    return made


def seen(trained: Rows, held: Rows, noise: float, seed: int, **more: Any) -> Round:
    plain, salted = continued(noise, seed + 10), continued(noise, seed + 11)
    prefill = [[None] * 40 + [value + random.Random(seed).gauss(0, noise) for value in each.logps] for each in salted]  # noqa: S311
    asked = Asked(scored=held, plain=plain, salted=salted, refilled=prefill)
    return Round(more.pop("step", 2), 3, asked, trained, **more)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("precision", NOISE)
def test_the_noise_of_a_precision_is_silent(precision: str, seed: int) -> None:
    noise, trained = NOISE[precision], scores(seed)
    known = Known(noise=noise / 2, baseline=0.8 * noise, precision=precision, past=[(0, scores(seed + 500))])
    known.identity = near(trained, noise, seed + 3)
    for step in (0, 3):
        judged = judge(seen(trained, near(trained, noise, seed + 1), noise, seed, step=step), fixed(), known)
        assert judged.findings == []
    assert {"agreement", "identity", "prefix-cache", "decode"} <= judge(
        seen(trained, near(trained, noise, seed), noise, seed, step=0), fixed(), known
    ).verdicts.keys()


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_earlier_step_is_named_and_the_base_before_it(seed: int) -> None:
    past = [(step, scores(seed + step)) for step in range(3)]
    known = Known(noise=0.0, baseline=0.001, precision="bfloat16", past=past)
    stale = judge(seen(scores(seed + 9), near(past[1][1], 0.01, 2), 0.01, seed, step=3), fixed(), known)
    assert "with the weights of step 1" in stale.findings[0].words("en").headline
    base = scores(seed + 70)
    dropped = judge(seen(scores(seed + 9), near(base, 0.01, 2), 0.01, seed, step=3, base=base), fixed(), known)
    assert dropped.findings[0].problem.name == "adapter-not-in-engine"
    other = judge(seen(scores(seed + 9), scores(seed + 99), 0.01, seed, step=3), fixed(), known)
    assert other.findings[0].words("en").headline.startswith("Engine and trainer differ by")


@pytest.mark.parametrize("seed", range(5))
def test_another_adapter_is_told_from_another_model(seed: int) -> None:
    trained, base = scores(seed), scores(seed + 1)
    known = Known(noise=0.0, baseline=0.001, precision="bfloat16", past=[(0, scores(seed + 2))])
    round_ = seen(trained, scores(seed + 3), 0.01, seed, step=3, base=base)
    assert judge(round_, fixed(), known).findings[0].problem.name == "engine-not-the-policy", "the base was not asked"
    round_.asked.base = near(base, 0.01, seed)
    first = judge(round_, fixed(), known).findings[0].words("en").headline
    assert first.startswith("The engine samples with another adapter than the trained one")
    round_.asked.base = scores(seed + 4)
    assert judge(round_, fixed(), known).findings[0].problem.name == "engine-not-the-policy", (
        "nor is the model the same"
    )


def test_the_engines_word_counts_where_nothing_else_is_heard() -> None:
    known = Known(precision="bfloat16", versions={"3": 1, "4": 2})
    silent = Round(5, 6, Asked(version="4"), scores(1))
    assert "with the weights of step 2" in judge(silent, fixed(), known).findings[0].words("en").headline
    assert judge(Round(5, 6, Asked(version="5"), scores(1)), fixed(), known).findings == []
    never = Known(precision="bfloat16", versions={"default": 1})
    assert judge(Round(5, 6, Asked(version="default"), scores(1)), fixed(), never).findings == [], "nobody keeps it"
    agrees = seen(scores(1), near(scores(1), 0.01, 2), 0.01, 1, step=5)
    agrees.asked.version = "4"
    assert judge(agrees, fixed(), known).findings == [], "the scores are those of now"


@pytest.mark.parametrize(
    ("alike", "alone", "problems"),
    [(None, True, ["WIT9046"]), (None, False, []), (True, False, ["WIT2184"]), (False, False, [])],
)
def test_where_nobody_could_be_asked_the_batch_tells_of_the_weights(
    alike: bool | None, alone: bool, problems: list[str]
) -> None:
    trained = [row[1:] for row in scores(3, 120)]
    sampled = near(trained, 0.3, 4)
    batch = Batch(sampled_logps=sampled, trained_logps=trained, mask=[[1] * 119] * 4)
    found = judge_batch(batch, 2, Known(precision="bfloat16"), alike=alike, alone=alone).findings
    assert [each.problem.id for each in found] == problems
    batch.sampled_logps = near(trained, 0.01, 5)
    assert judge_batch(batch, 2, Known(precision="bfloat16"), alike=alike, alone=alone).findings == []


def test_nothing_is_judged_before_the_first_push() -> None:
    before = seen(scores(1), scores(2), 0.0, 1, step=40)
    before.pushes = 0
    assert judge(before, fixed(), Known(precision="bfloat16")).findings == []


def test_a_long_context_and_a_class_of_tokens_are_told_apart() -> None:
    source = random.Random(1)  # noqa: S311
    trained = [[-source.expovariate(1.2) for _ in range(240)] for _ in range(4)]
    far = [[each + source.gauss(0, 0.12) * at / 240 for at, each in enumerate(row)] for row in trained]
    special = [[each - (1.5 if at % 12 == 0 else 0) for at, each in enumerate(row)] for row in trained]
    kinds = [["special" if at % 12 == 0 else "text" for at in range(240)] for _ in trained]
    known = Known(precision="bfloat16")
    grown = judge_batch(Batch(sampled_logps=far, trained_logps=trained), 2, known).findings
    assert [each.message.en.headline.rpartition(" at ")[2] for each in grown] == ["the beginning"]
    of_class = judge_batch(Batch(sampled_logps=special, trained_logps=trained, classes=kinds), 2, known).findings
    assert "on `special` tokens" in of_class[0].words("en").headline
    assert (
        judge_batch(Batch(sampled_logps=special, trained_logps=trained, classes=kinds), 2, known, alike=False).findings
        == []
    )


@pytest.mark.parametrize("problem", ["NUM006", "WIT9046", "WIT0042", "RLX999", "VLL0001"])
def test_ids_of_both_lengths_go_round_the_ranks(problem: str) -> None:
    told = decode(encode(Policy.CHECKPOINT, problem, 3))
    assert told is not None
    assert (told.problem, told.policy, told.rank) == (problem, Policy.CHECKPOINT, 3)
    assert encode(Policy.STOP, problem, 9) > encode(Policy.CHECKPOINT, "WIT9999", 0)


@pytest.mark.parametrize("longest", [None, 30, 64])
def test_the_beginnings_fit_and_are_always_the_same(longest: int | None) -> None:
    first = beginnings(None, 500, longest)
    assert first == beginnings(None, 500, longest)
    assert len({len(each) for each in first}) == 1
    assert len(first[0]) + ANSWER_TOKENS < (longest or 99)
    assert all(0 <= each < 500 for row in first for each in row)
    assert beginnings(None, 500, 12) == []


@pytest.mark.parametrize(
    ("config", "arguments", "together"),
    [
        ({"sp_size": 2, "cp_size": 1, "tp_size": 1}, {}, True),
        ({"sp_size": 1, "cp_size": 1, "tp_size": 4}, {}, True),
        ({"sp_size": None, "cp_size": 1, "tp_size": 1}, {}, False),
        (None, {}, False),
        (None, {"sequence_parallel_size": 2}, True),
    ],
)
def test_no_forward_is_made_that_would_wait_for_other_ranks(
    config: dict[str, Any] | None, arguments: dict[str, Any], together: bool
) -> None:
    sizes = None if config is None else SimpleNamespace(**config)
    trainer = SimpleNamespace(accelerator=SimpleNamespace(parallelism_config=sizes), args=SimpleNamespace(**arguments))
    assert forwards_together(trainer) is together
    if together:
        with pytest.raises(CannotAsk, match="would need all of them"):
            _ = TrainedPolicy(None, together=True).model
