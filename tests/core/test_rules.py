"""The engine of the live series, and that it runs in a bare Python 3.9."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.finding import Message, Role, Words, found
from doctor.catalogue.index import load
from doctor.catalogue.problem import ERROR, WARNING, Problem
from doctor.catalogue.rules import RuleEngine, load_rules, sighting
from doctor.catalogue.series import Point, rule
from tests.facts.environments import interpreter

ROOT = Path(__file__).parent.parent.parent
SAID = Message(en=Words("seen", "Seen.", "Look."), zh=Words("看到", "看到。", "看。"))
FIRST = Problem("UNK901", "first", ERROR, "0.1")
SECOND = Problem("UNK902", "second", WARNING, "0.1")


@rule(FIRST, needs=("a", "b/*"))
class Negative:
    def update(self, point):
        return found(FIRST, SAID, **sighting(point)) if point.value < 0 else None


@rule(SECOND, needs=("a",), symptom_of=("UNK901",), every_rank=True)
class Odd:
    def __init__(self):
        self.seen = 0

    def update(self, point):
        self.seen += 1
        if point.value == 13:
            raise ValueError("unlucky")
        return found(SECOND, SAID, **sighting(point)) if point.value == 7 else None

    def finish(self):
        return found(SECOND, SAID, severity=ERROR, **sighting(Point("a", 0, 9))) if self.seen > 100 else None


def test_points_go_to_the_rules_that_want_them() -> None:
    engine = RuleEngine([Negative, Odd])
    points = [Point("a", -1, 1), Point("b/x", -1, 2), Point("c", -1, 3), Point("bb", -1, 4), Point("a", 7, 5)]
    assert [(each.problem.id, each.where.step) for each in engine.feed_all(points)] == [
        ("UNK901", 1), ("UNK901", 2), ("UNK902", 5),
    ]  # fmt: skip


def test_symptoms_stand_behind_their_cause_only_when_it_began_no_later() -> None:
    engine = RuleEngine([Odd, Negative])
    engine.feed_all([Point("a", 7, 1), Point("a", -1, 2)])
    assert [(each.problem.id, each.role) for each in engine.findings] == [
        ("UNK902", Role.CAUSE),
        ("UNK901", Role.CAUSE),
    ]
    engine = RuleEngine([Odd, Negative])
    engine.feed_all([Point("a", 7, 2), Point("b/x", -1, 2)])
    assert [(each.problem.id, each.role) for each in engine.findings] == [
        ("UNK901", Role.CAUSE), ("UNK902", Role.SYMPTOM),
    ]  # fmt: skip


def test_a_rule_that_raises_is_left_out_and_the_others_go_on() -> None:
    engine = RuleEngine([Odd, Negative])
    engine.feed_all([Point("a", 13, 1), Point("a", 7, 2), Point("a", -1, 3)])
    engine.close()
    assert engine.crashed == {"UNK902": "ValueError: unlucky"}
    assert [each.problem.id for each in engine.findings] == ["UNK901"]


def test_other_ranks_go_only_to_rules_that_ask_for_them() -> None:
    engine = RuleEngine([Negative, Odd])
    engine.feed_all([Point("a", 1, 1, rank=0), Point("a", -1, 1, rank=1), Point("a", 7, 1, rank=1)])
    assert [(each.problem.id, each.where.rank) for each in engine.findings] == [("UNK902", 1)]


def test_a_restart_begins_anew_and_the_last_word_replaces_the_first() -> None:
    engine = RuleEngine([Odd])
    engine.feed_all(Point("a", 1, step) for step in range(60))
    engine.feed_all(Point("a", 1, step) for step in range(30, 90))
    assert engine.close() == []
    engine = RuleEngine([Odd])
    engine.feed_all(Point("a", 7 if step == 3 else 1, step) for step in range(120))
    engine.close()
    assert [(each.severity, each.where.step) for each in engine.findings] == [(ERROR, 9)]


def test_each_rule_goes_off_once_while_the_trouble_lasts() -> None:
    engine = RuleEngine(load_rules())
    for step in range(1, 5001):
        bad = step > 100
        for name, good, broken in (
            ("loss", 0.1, float("nan")), ("grad_norm", 0.5, float("nan")), ("kl", 0.05, 50.0), ("entropy", 1.0, 0.001),
            ("reward", 0.5 + step % 7 / 100, float("nan")), ("completions/clipped_ratio", 0.1, 1.0),
            ("clip_ratio/region_mean", 0.01, 0.9), ("step_time", 10.0, 90.0),
            ("sampling/sampling_logp_difference/mean", 0.01, 0.5), ("frac_reward_zero_std", 0.5, 1.0),
        ):  # fmt: skip
            engine.feed(Point(name, broken if bad else good, step))
    said = [(finding.problem.id, finding.message.en.headline) for finding, _ in engine._found]
    assert sorted(said) == sorted(set(said)), "several rules of a problem each say what they see, once"
    ids = [finding.problem.id for finding in engine.findings]
    assert sorted(ids) == sorted(set(ids))
    assert {"NUM006", "RLX004", "RLX005", "RLX006", "RLX010", "RLX011", "RLX013", "RLX014", "PRF007"} <= set(ids)


def test_window_is_the_median_of_the_last_values() -> None:
    source = random.Random(7)  # noqa: S311 - noise
    window, values = Window(31), []
    for _ in range(500):
        value = source.choice([source.gauss(0, 1), 0.0, 2.0])
        window.push(value)
        values = [*values, value][-31:]
        assert window.median == pytest.approx(statistics.median(values))
        assert (window.low, window.high) == (min(values), max(values))
    normal = Window(2001)
    for _ in range(2001):
        normal.push(source.gauss(5, 2))
    assert normal.sigma() == pytest.approx(2, rel=0.1)


def test_baseline_skips_the_warm_up_and_freezes() -> None:
    base = Baseline(3, skip=2)
    assert [base.push(value) for value in (100, 100, 1, 2, 3, 50)] == [False] * 5 + [True]
    assert base.median == 2


def test_alarm_goes_off_once_and_again_after_it_was_calm() -> None:
    alarm = Alarm(needed=2, calm=2)
    seen = [alarm.see(each == "x", step) for step, each in enumerate("x.xxxx.xx..xx")]
    assert [step for step, each in enumerate(seen) if each] == [3, 12]
    assert alarm.since == 11


@pytest.mark.process
def test_rules_run_under_python_39_with_nothing_installed() -> None:
    python = interpreter("3.9")
    modules = sorted(entry.module for entry in load() if entry.has_rule)
    files = [f"doctor/catalogue/{name}.py" for name in ("series", "rules", "loss_scale", "finding", "problem")]
    files += ["doctor/base/stats.py"]
    files += [name.replace(".", "/").replace("doctor/", "", 1) + ".py" for name in modules]
    code = f"""
import sys
assert sys.version_info[:2] == (3, 9)
for path in {files!r}:
    compile(open(path, encoding="utf-8").read(), path, "exec")
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point
engine = RuleEngine(load_rules({modules!r}))
for step in range(1, 60):
    for name in ("loss", "grad_norm", "kl", "entropy", "reward", "reward_std", "loss_scale", "rewards/f/mean"):
        engine.feed(Point(name, float("nan") if step > 40 else 1.0, step))
engine.close()
assert not engine.crashed, engine.crashed
print(*(each.problem.id for each in engine.findings))
"""
    run = subprocess.run([python, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
                         cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "NUM006" in run.stdout


@pytest.mark.process
def test_the_engine_costs_no_heavy_import() -> None:
    code = (
        "import sys, doctor.catalogue.rules; print(*sorted({'yaml', 'rich', 'json', 'packaging'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == ""
