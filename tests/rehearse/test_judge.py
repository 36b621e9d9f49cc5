"""Journals become phases, findings, and sentences about what was not rehearsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.catalogue.finding import found
from doctor.catalogue.outcome import Outcome
from doctor.checks.numerics import trains_other_than_asked
from doctor.checks.rl import weights_do_not_follow_the_rate
from doctor.checks.rl.rewards import groups_without_deviation
from doctor.diagnosis.schema import REPORT
from doctor.monitors.rehearse.journal import PHASES
from doctor.rehearse import judge
from doctor.rehearse.apart import Apart
from doctor.rehearse.judge import judged
from doctor.rehearse.passes import Ended
from doctor.rehearse.record import Rehearsed, left_out, phases
from doctor.rehearse.report import report, section, warnings_of
from doctor.rehearse.session import RehearsalWishes, Session
from doctor.rehearse.told import beforehand, extrapolated, not_rehearsed
from doctor.rehearse.words import REASONS, SENTENCES
from doctor.render.html import render as page
from doctor.render.markdown import render as markdown
from doctor.render.rehearsal import WORDS
from doctor.run.folder import Events, RunDir

Entry = dict[str, Any]


def entry(kind: str, at: float, *, rank: int = 0, pid: int = 7, **values: Any) -> Entry:
    return {"t_ns": int(at * 1e9), "pid": pid, "rank": rank, "kind": kind, **values}


def phase(name: str, begin: float, end: float | None, *, pid: int = 7, error: str = "") -> list[Entry]:
    found = [entry("phase", begin, pid=pid, name=name, edge="begin")]
    if end is not None:
        told = {"error": error} if error else {}
        found.append(entry("phase", end, pid=pid, name=name, edge="end", **told))
    return found


WHOLE = (
    entry("process", 0), *phase("configuration", 3, 3.5), *phase("model", 4, 6),
    entry("loaded", 6, name="m", tiny=True),
    entry("training", 6, trainer="GRPOTrainer", world=1, steps=2), entry("step", 6, edge="begin", step=1),
    *phase("generation", 6, 7), *phase("loss", 7, 8), entry("step", 8, edge="end", step=1),
    entry("step", 8, edge="begin", step=2), *phase("generation", 8, 10), entry("step", 11, edge="end", step=2),
    *phase("save", 11, 11.25), entry("trained", 12, step=2, saved=["checkpoint-2"]),
)  # fmt: skip


def session(
    tmp_path: Path, entries: tuple[Entry, ...] = WHOLE, *, code: int = 0, late: bool = False, **wishes: Any
) -> Session:
    """A session whose first pass left these entries."""
    run = RunDir(tmp_path / "run")
    run.console.parent.mkdir(parents=True, exist_ok=True)
    run.console.touch()
    return Session(
        ("python", "train.py"), RehearsalWishes(**wishes), run, Apart(run.path, why="not permitted"),
        Rehearsed(entries),
        (Ended(code, 12.0, late),),
    )  # fmt: skip


def test_phases_are_told_in_order_with_their_times() -> None:
    found = {each.name: each for each in phases(Rehearsed(WHOLE))}
    assert tuple(found) == PHASES
    assert found["imports"].seconds == 3
    assert found["generation"].seconds == 3
    assert (found["save"].mark, found["save"].seconds) == ("ok", 0.25)
    assert found["evaluation"].mark == found["resume"].mark == "not_reached"


def test_what_an_exception_left_is_broken_and_what_never_ended_is_open() -> None:
    entries = (entry("process", 0), *phase("model", 1, 2, error="OSError"), *phase("data", 2, None))
    found = {each.name: each for each in phases(Rehearsed(entries))}
    assert (found["model"].mark, found["model"].error) == ("broke", "OSError")
    assert found["data"].mark == "open"


def test_what_was_tried_again_and_went_well_is_not_broken() -> None:
    entries = (entry("process", 0), *phase("model", 1, 2, error="OSError"), *phase("model", 2, 3))
    assert next(each for each in phases(Rehearsed(entries)) if each.name == "model").mark == "ok"


def test_the_process_that_trained_speaks_not_its_launcher() -> None:
    launcher = tuple(each for at in range(30) for each in phase("configuration", at, at + 0.1, pid=1))
    found = {each.name: each for each in phases(Rehearsed((*launcher, *WHOLE)))}
    assert found["configuration"].seconds == 0.5


def test_the_step_that_is_told_is_the_last_one() -> None:
    assert Rehearsed(WHOLE).step_seconds == 3


def test_a_run_that_holds_has_no_findings_and_exit_code_0(tmp_path: Path) -> None:
    done = session(tmp_path)
    diagnosis = judged(done)
    assert diagnosis.outcome.findings == ()
    assert diagnosis.outcome.exit_code(strict=True) == 0


def test_the_report_keeps_to_its_schema_and_every_form_draws_it(tmp_path: Path) -> None:
    for language in ("en", "zh"):
        done = session(tmp_path)
        told = report(done, judged(done, language=language), language)
        jsonschema.validate(json.loads(json.dumps(told)), REPORT)
        text = markdown(told, language)
        assert WORDS[language]["weight_update"] in text
        assert "<script" not in page(told, language)
        heading = WORDS[language]["not_rehearsed"]
        assert f"<h2>{heading[:1].upper()}{heading[1:]}</h2>" in page(told, language)


def test_what_was_not_rehearsed_is_told_with_its_reason(tmp_path: Path) -> None:
    more = (
        *WHOLE, entry("left_out", 9, name="hub", why="uploads", values={}),
        entry("made", 5, name="m", quantised="gptq"), entry("refused", 9, path="/data/x", what="overwrite"),
    )  # fmt: skip
    told = dict(not_rehearsed(session(tmp_path, more, resume=False), "en"))
    assert told["hub"] == REASONS["en"]["uploads"]
    assert "gptq" in told["model"]
    assert told["resume"] == REASONS["en"]["resume_off"]
    assert "completions" in told
    assert "memory" in told


def test_what_is_extrapolated_names_what_it_was_measured_on(tmp_path: Path) -> None:
    more = (
        *WHOLE, entry("mapped", 3, rows=200, seconds=4.0, stands_for=1_000_000),
        entry("mapped", 3, rows=48, seconds=1.0, stands_for=None),
    )  # fmt: skip
    step, mapping, memory = extrapolated(session(tmp_path, more), "en")
    assert "3" in step
    assert all(each in mapping for each in ("1,000,000", "200", "5.6 h"))
    assert "doctor plan -- python train.py" in memory
    assert not any("doctor plan" in each for each in extrapolated(session(tmp_path, more, scale="real"), "en"))


def test_every_reason_and_sentence_is_there_in_both_languages() -> None:
    for words in (REASONS, SENTENCES, WORDS):
        assert set(words["en"]) == set(words["zh"])
    for name in (*PHASES, "ok", "broke", "open", "not_reached"):
        assert name in WORDS["en"]


def test_before_it_begins_a_machine_without_a_card_is_told() -> None:
    with_card = beforehand(RehearsalWishes(), gpu=True, nodes=1, language="en")
    without = beforehand(RehearsalWishes(), gpu=False, nodes=4, language="en")
    assert set(with_card) < set(without)
    assert any("4" in each for each in without)
    assert not any(
        "tiny" in each for each in beforehand(RehearsalWishes(scale="real"), gpu=True, nodes=1, language="en")
    )


def test_a_command_that_trains_nothing_is_not_called_well(tmp_path: Path) -> None:
    (found,) = judged(session(tmp_path, (entry("process", 0),))).outcome.findings
    assert found.problem.id == "LCH7208"


def test_a_loop_that_computes_gradients_and_makes_no_step_is_told(tmp_path: Path) -> None:
    (told,) = judged(session(tmp_path, (entry("process", 1), entry("backwards", 2, count=10)))).outcome.findings
    assert (told.problem.id, told.confidence) == ("LCH7208", "likely")
    assert "no optimizer makes a step" in told.words().headline


def test_a_training_of_no_step_is_not_called_well(tmp_path: Path) -> None:
    entries = (entry("process", 0), entry("training", 1, trainer="Trainer", world=1, steps=2))
    (told,) = judged(session(tmp_path, (*entries, entry("trained", 2, step=0, saved=[])))).outcome.findings
    assert told.problem.id == "LCH7208"
    assert "0 optimizer steps" in told.words().headline


@pytest.mark.parametrize(("path", "words"), [("/w/weights.pt", "saves in `weights.pt` are"), ("", "saves are empty")])
def test_placeholders_that_are_saved_as_weights_are_told(path: str, words: str, tmp_path: Path) -> None:
    told = entry("saved_empty", 13, path=path, empty=20, of=21, first="lm_head.weight")
    (found,) = judged(session(tmp_path, (*WHOLE, told))).outcome.findings
    assert found.problem.id == "DSP022"
    assert "20 of 21 weights" in found.words().headline
    assert words in found.words().headline


def test_a_command_that_fails_is_an_error_whatever_is_known_of_it(tmp_path: Path) -> None:
    broken = (*WHOLE[:5], *phase("data", 6, 7, error="WeirdError"))
    done = session(tmp_path, broken, code=3)
    done.run.console.write_text("something that nobody knows\n")
    outcome = judged(done).outcome
    assert outcome.exit_code(strict=False) == 1
    assert "exit code 3" in outcome.findings[-1].words().headline
    assert "`data`" in outcome.findings[-1].words().headline


@pytest.mark.parametrize(("scale", "told"), [("tiny", ["RLX011"]), ("real", [])])
def test_completions_that_the_rehearsal_forces_to_their_limit_are_not_judged(
    scale: str, told: list[str], tmp_path: Path
) -> None:
    done = session(tmp_path, scale=scale)
    length = {f"completions/{name}_length": 64.0 for name in ("mean", "min", "max")}
    rewards = {"reward": 0.0, "reward_std": 0.0, "frac_reward_zero_std": 1.0}
    line = {"loss": 0.1, **length, "completions/clipped_ratio": 1.0, **rewards, "step_time": 1.3, "epoch": 0.1}
    done.run.console.write_text("".join(f"{line}\n" for _ in range(2)))
    done.run.write_run(ended_ns=2, exit=0)
    events = Events(done.run, 0, "trainer")
    events.write("alarm", id="RLX010", words={"en": {}, "zh": {}})
    events.close()
    assert [each.problem.id for each in judged(done).outcome.findings] == told


def test_what_the_rehearsal_itself_refused_is_no_error_of_the_users(tmp_path: Path) -> None:
    entries = (*WHOLE[:5], entry("refused", 6, path="/data/cache.json", what="overwrite"))
    done = session(tmp_path, entries, code=1)
    done.run.console.write_text(
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n    save(rows)\n'
        "RefusedError: [Errno 1] the rehearsal may not overwrite what was there before it: '/data/cache.json'\n"
    )
    outcome = judged(done).outcome
    assert outcome.errors == 0
    (told,) = outcome.findings
    assert "/data/cache.json" in told.words().headline


def test_the_deadline_names_the_phase_in_which_it_stood(tmp_path: Path) -> None:
    standing = (*WHOLE[:5], *phase("reward", 6, None))
    (found,) = judged(session(tmp_path, standing, code=137, late=True)).outcome.findings
    assert found.problem.id == "LCH7208"
    assert "`reward`" in found.words().headline


def test_a_failure_of_our_own_is_told_as_one(tmp_path: Path) -> None:
    more = (*WHOLE, entry("crashed", 5, where="rows.longest_first", error="boom", traceback="..."))
    outcome = judged(session(tmp_path, more)).outcome
    assert [each.id for each in outcome.crashed] == ["rehearsal: rows.longest_first"]
    assert outcome.findings == ()


def test_a_checkpoint_of_another_size_is_told_before_hours_are_spent(tmp_path: Path) -> None:
    compared = {"folder": "out/checkpoint-500", "compared": True, "missing": [], "unexpected": []}
    same = (*WHOLE, entry("resume_own", 5, **compared, shapes={}))
    assert judged(session(tmp_path, same)).outcome.findings == ()
    other = (*WHOLE, entry("resume_own", 5, **compared, shapes={"lm_head.weight": [[259, 64], [259, 128]]}))
    (found,) = judged(session(tmp_path, other)).outcome.findings
    assert found.problem.id == "CKP7555/shapes"
    assert "[259, 64]" in found.words().headline


def test_left_out_is_told_once() -> None:
    twice = (*WHOLE, *(entry("left_out", 9, rank=each, name="hub", why="uploads", values={}) for each in (0, 1)))
    assert len([each for each in left_out(Rehearsed(twice)) if each.name == "hub"]) == 1


@pytest.mark.parametrize(
    ("moved", "still", "rates", "message"),
    [
        (0, 20, [1e-5], "left all 20 trainable parameters"), (1, 19, [1e-5], None),
        (3, 17, [0.0], "at learning rate 0"),
        (0, 20, [0.0], None), (0, 20, [], None), (0, 20, [0.0, 1e-5], "left all"),
    ],
)  # fmt: skip
def test_weights_follow_the_rate(moved: int, still: int, rates: list[float], message: str | None) -> None:
    names = [f"layer.{each}" for each in range(moved)]
    found = weights_do_not_follow_the_rate.of_rehearsal(names, still, rates, 2, count=moved, null=rates == [0.0])
    assert (found is None) == (message is None)
    assert found is None or str(message) in found.words().headline


def test_at_real_scale_equal_rewards_move_nothing_and_that_is_well(tmp_path: Path) -> None:
    still = (*WHOLE, entry("moved", 11, moved=0, still=27, examples=[], unmoved=["a"], rates=[1e-5], skipped=False))
    assert [each.problem.id for each in judged(session(tmp_path, still)).outcome.findings] == ["RLX4202"]
    assert judged(session(tmp_path, still, scale="real")).outcome.findings == ()


@pytest.mark.parametrize(("loss", "norm", "judged_still"), [(0.0, 0.0, False), (0.0, 1.2, True), (2.5, 0.0, True)])
def test_steps_without_loss_and_gradient_say_nothing_of_the_optimizer(
    loss: float, norm: float, judged_still: bool, tmp_path: Path
) -> None:
    moved = entry("moved", 11, moved=0, still=27, examples=[], unmoved=["a"], rates=[1e-5], skipped=False)
    logged = [entry("logged", at, step=at, values={"loss": loss, "grad_norm": norm}) for at in (8, 11)]
    done = session(tmp_path, (*WHOLE, *logged, moved))
    assert ["RLX4202"] * judged_still == [each.problem.id for each in judged(done).outcome.findings]
    said = [why for _, why in not_rehearsed(done, "en")]
    assert any("gradients were 0" in each for each in said) is not judged_still


def test_constant_rewards_of_two_steps_are_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = groups_without_deviation
    constant = found(told.PROBLEM, told.TOML["main"], count=1, step=3)
    monkeypatch.setattr(judge, "_alarmed", lambda done: done.run)
    monkeypatch.setattr(judge, "_examined", lambda *_: (None, Outcome((constant,), (), (), 1, 0.0)))
    assert judged(session(tmp_path)).outcome.findings == ()


def test_a_schedule_that_came_to_0_is_no_null_run() -> None:
    assert weights_do_not_follow_the_rate.of_rehearsal(["a"], 0, [0.0], 2, count=27) is None


@pytest.mark.parametrize(
    ("used", "count", "steps", "told"), [(0.0, 0, 2, True), (1e-7, 0, 2, False), (0.0, 0, 1, False),
                                         (0.0, 3, 2, False), (None, 0, 2, False)],
)  # fmt: skip
def test_steps_that_were_all_made_at_rate_0(used: float | None, count: int, steps: int, *, told: bool) -> None:
    found = weights_do_not_follow_the_rate.of_rehearsal(["a"], 20, [0.0], steps, count=count, used=used)
    assert (found is not None) is told
    assert found is None or f"first {steps} optimizer steps" in found.words().headline
    assert weights_do_not_follow_the_rate.of_rehearsal([], 20, [0.0], steps, count=0, used=0.0, null=True) is None


def logged(chosen: float, rejected: float, margin: float) -> Entry:
    values = {"loss": 0.69, "rewards/chosen": chosen, "rewards/rejected": rejected, "rewards/margins": margin}
    return entry("logged", 9, step=1, values=values)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([(0.0, 0.0, 0.0), (-0.0001883, -0.0001883, 0.0)], True),
        ([(0.0, 0.0, 0.0), (-0.0001883, -0.0001884, 1e-7)], False),
        ([(-0.1, -0.1, 0.0), (-0.2, -0.3, 0.1)], False),
        ([(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)], False),  # the first step, or nothing moves: another finding's
        ([(float("nan"), float("nan"), float("nan"))], False),
        ([], False),
    ],
)  # fmt: skip
def test_two_answers_with_one_reward_are_one_text(
    steps: list[tuple[float, float, float]], tmp_path: Path, *, told: bool
) -> None:
    entries = (*WHOLE, entry("logged", 8, step=0, values={"loss": 1.0}), *(logged(*each) for each in steps))
    found = judged(session(tmp_path, entries)).outcome.findings
    assert [each.problem.id for each in found] == (["NUM018"] if told else [])
    assert not told or "they are the same text" in found[0].words().headline


INVENTORY: dict[str, Any] = {
    "trainer": "SFTTrainer", "tensors": 6, "with_gradient": 6, "without_gradient": {},
    "groups": {"model.layers.N.q_proj.weight": 4, "lm_head.weight": 1, "vision.proj.weight": 1}, "adapters": {},
    "batch": {"tokens": 64, "trained": 30, "rows": 4, "ends": 4, "shapes": {"labels": [4, 16]}},
    "arguments": {"max_length": 1024},
}  # fmt: skip
ALIGNED_NEXT = {
    "shifts": True, "model": "Qwen2ForCausalLM",
    "batch": {**INVENTORY["batch"], "aligned": {"of": 30, "own": 2, "next": 30}},
}  # fmt: skip
LORA = {"default": {"r": 8, "targets": ["q_proj"], "saved": [], "bias": "none"}}


@pytest.mark.parametrize(
    ("change", "headline"),
    [
        ({}, None),
        ({"batch": {"tokens": 64, "trained": 0, "rows": 4}}, "No token of the 64"),
        ({"tensors": 0, "groups": {}, "frozen": {"float32": 1000}}, "No parameter of the model"),
        ({"tensors": 0, "groups": {}}, None),
        ({"batch": {**INVENTORY["batch"], "ends": 0}}, "trains the token that ends an answer"),
        ({"batch": {**INVENTORY["batch"], "ends": 0, "shapes": {"labels": [4, 1024]}}}, None),
        ({"batch": {**INVENTORY["batch"], "ends": 0}, "trainer": "GRPOTrainer"}, None),
        ({"without_gradient": {"lm_head.weight": 1}, "with_gradient": 5}, "1 of 6 trainable tensors get no gradient"),
        ({"without_gradient": {"vision.proj.weight": 1}, "with_gradient": 5}, None),
        ({"without_gradient": {"model.layers.N.q_proj.weight": 1}, "with_gradient": 5}, None),
        ({"without_gradient": dict(INVENTORY["groups"]), "with_gradient": 0}, None),
        ({"adapters": LORA}, "6 tensors outside the adapters"),
        ({"adapters": LORA, "groups": {"model.layers.N.q_proj.lora_A.default.weight": 4}}, None),
        ({"adapters": {"default": {**LORA["default"], "saved": ["lm_head"]}},
          "groups": {"lora_A": 4, "lm_head.modules_to_save.default.weight": 1}}, None),
        ({"adapters": {"default": {**LORA["default"], "bias": "all"}}}, None),
        ({"adapters": {"default": {**LORA["default"], "saved": ["lm_head"]}}, "active_adapters": ["default"],
          "groups": {"lm_head.modules_to_save.default.weight": 1}}, "No weight of the adapter (rank 8) trains; only"),
        ({"adapters": {"default": {**LORA["default"], "saved": ["lm_head"]}}, "active_adapters": [],
          "groups": {"lm_head.modules_to_save.default.weight": 1}}, None),
        ({"adapters": {"default": {**LORA["default"], "saved": ["lm_head"]}}, "active_adapters": ["default"],
          "groups": {"lora_A": 4, "lm_head.modules_to_save.default.weight": 1}}, None),
        ({"adapters": {"default": {**LORA["default"], "saved": ["lm_heads"]}}, "groups": {"lora_A": 4}}, "`lm_heads`"),
        ({"adapters": {"default": {**LORA["default"], "saved": ["score"]}}, "groups": {"lora_A": 4}}, None),
        ({"double": {"lm_head.weight": 1}, "trainable": {"float32": 900, "float64": 64}},
         "`lm_head.weight`: float64, while all other parameters are float32"),
        ({"double": {"lm_head.weight": 1}, "trainable": {"float64": 64}, "frozen": {"bfloat16": 9, "float32": 9}},
         "float64, while all other parameters are bfloat16, float32"),
        ({"double": {"lm_head.weight": 1}, "trainable": {"float64": 964}}, None),
        (ALIGNED_NEXT, "30 of 30 labels are already the next token"),
        ({**ALIGNED_NEXT, "shifts": False}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "aligned": {"of": 30, "own": 30, "next": 1}}}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "aligned": {"of": 7, "own": 0, "next": 7}}}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "aligned": {"of": 30, "own": 0, "next": 12}}}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "aligned": {"of": 30, "own": 20, "next": 30}}}, None),
        ({"trainer": "Trainer", "batch": {**INVENTORY["batch"], "ends": 0, "open": 4}}, "trains the token that ends"),
        ({"trainer": "Trainer", "batch": {**INVENTORY["batch"], "ends": 0, "open": 3}}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "padded": 21}}, "70 % of the tokens that count for the loss"),
        ({"shifts": False, "batch": {**INVENTORY["batch"], "padded": 21}}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "trained": 200, "padded": 19}}, None),
        ({"shifts": True, "batch": {**INVENTORY["batch"], "rows": 8, "padded": 8}}, None),  # one a row ends the text
        ({"desirable": {"rows": 48, "good": 48}}, "`label` is True in all 48 rows"),
        ({"desirable": {"rows": 48, "good": 0}}, "`label` is False in all 48 rows"),
        ({"desirable": {"rows": 48, "good": 47}}, None),
        ({"desirable": {"rows": 8, "good": 8}}, None),
        ({"pairs": {"rows": 48, "alike": 48}}, "are the same answer in 48 of the first 48 rows"),
        ({"pairs": {"rows": 48, "alike": 25}}, "are the same answer in 25 of the first 48 rows"),
        ({"pairs": {"rows": 48, "alike": 24}}, None),  # ties
        ({"pairs": {"rows": 8, "alike": 8}}, None),
        ({"pairs": {}}, None),
        ({"resumed": {"step": 30, "states": 0}}, "goes on at step 30 with a new optimizer"),
        ({"resumed": {"step": 30, "states": 12}}, None),
        ({"resumed": {}}, None),
        ({"held": 9, "held_with_gradient": 0, "held_touched": 0}, "The optimizer holds none of the"),
        ({"held": 9, "held_with_gradient": 0, "held_touched": 9}, "are removed before the optimizer's step"),
        ({"held": 9, "held_with_gradient": 9, "held_touched": 0}, None),  # copies in another precision
        ({"held": 9, "held_with_gradient": 0, "held_touched": 0, "with_gradient": 0}, None),
    ],
)  # fmt: skip
def test_the_inventory_is_judged(change: dict[str, Any], headline: str | None) -> None:
    found = [each.words().headline for each in trains_other_than_asked.of_inventory({**INVENTORY, **change})]
    assert (found == []) == (headline is None), found
    assert headline is None or headline in found[0]


def test_an_empty_inventory_says_nothing() -> None:
    assert list(trains_other_than_asked.of_inventory({})) == []


def test_what_libraries_warned_of_is_told_once_each(tmp_path: Path) -> None:
    done = session(tmp_path)
    done.run.console.write_text(
        "/lib/a.py:13: TRLExperimentalWarning: unstable\n[WARNING:swift] Loading model\n"
        "/lib/a.py:13: TRLExperimentalWarning: unstable\nno warning: of ours\n{'loss': 1.0}\n"
    )
    assert warnings_of(done.run) == ["TRLExperimentalWarning: unstable", "WARNING:swift] Loading model"]
    (done.run.path / "inventory.json").write_text(json.dumps(INVENTORY))
    assert section(done, "en")["inventory"]["what was warned"].startswith("TRLExperimentalWarning")
    done.run.console.unlink()
    assert warnings_of(done.run) == []
