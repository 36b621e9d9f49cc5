"""Policies and settings: what is chosen, in which order, and how wrong input is answered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import WARNING
from doctor.monitors.guard.born import not_finite
from doctor.monitors.guard.options import options
from doctor.monitors.guard.policy import ORDER, Policies, Policy, policy_named, strongest


def nan() -> Finding:
    return not_finite("loss", "nan", 3)


def test_the_order_of_strength() -> None:
    assert [each.value for each in ORDER] == ["warn", "skip-step", "checkpoint", "stop", "raise"]
    assert strongest([Policy.SKIP_STEP, None, Policy.STOP, Policy.WARN]) is Policy.STOP
    assert strongest([None]) is None


def test_defaults_hold_for_errors_only() -> None:
    policies = Policies()
    assert policies.of(nan()) is Policy.CHECKPOINT
    assert policies.of(replace(nan(), severity=WARNING)) is Policy.WARN


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"*": "stop"}, Policy.STOP),
        ({"*": "stop", "NUM": "skip-step"}, Policy.SKIP_STEP),
        ({"*": "stop", "NUM": "skip-step", "num006": "RAISE"}, Policy.RAISE),
        ({"RLX": "stop"}, Policy.CHECKPOINT),
    ],
)
def test_the_most_exact_choice_holds(chosen: dict[str, str], expected: Policy) -> None:
    assert Policies(chosen).of(nan()) is expected


@pytest.mark.parametrize("wrong", [{"NUM006": "explode"}, {"NUM06": "stop"}, {"loss": "stop"}, {"": "stop"}])
def test_a_wrong_choice_is_refused_with_what_is_known(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"known are warn|neither a problem's id"):
        options(policy=wrong)


def test_an_unknown_setting_is_refused_with_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"known are policy, locate_s"):
        options(polcy={})


def test_keywords_stand_over_variables_and_those_over_the_file(tmp_path, monkeypatch) -> None:
    (tmp_path / "doctor.toml").write_text('[guard]\nlocate_s = 5\nhang_factor = 20\n[guard.policy]\nNUM = "warn"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "RLX=stop, NUM=skip-step")
    monkeypatch.setenv("DOCTOR_GUARD_HANG_FACTOR", "30")
    made = options(policy={"RLX004": "raise"}, hang_factor=None)
    assert (made.locate_s, made.hang_factor) == (5, 30)
    assert dict(made.policy) == {"NUM": "skip-step", "RLX": "stop", "RLX004": "raise"}


def test_what_is_wrong_in_a_variable_or_the_file_is_told_and_left_out(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "doctor.toml").write_text('[guard]\nlocate = 5\nlang = "zh"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "NUM006=explode")
    made = options()
    assert (dict(made.policy), made.lang) == ({}, "zh")
    told = capsys.readouterr().err
    assert "`locate` of doctor.toml is left out: no such setting" in told
    assert "`policy` of the environment is left out: `explode` is not a policy" in told


def test_a_policy_alone_is_meant_for_all(monkeypatch) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "warn")
    assert options().policies.of(nan()) is Policy.WARN


def test_names_are_read_as_people_write_them() -> None:
    assert policy_named(" Skip_Step ") is Policy.SKIP_STEP
