"""One vocabulary for the settings of all frameworks: its names exist, and each is read by what it means."""

from __future__ import annotations

import pytest

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.shared.dialects import DIALECTS, LEARNS_FROM, MEANINGS, OF_GROUPS, Dialect
from doctor.catalogue.shared.recipes import recipe_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.training import SWIFT, Training
from doctor.facts.verl_config import VerlConfig


def names_of(dialect: Dialect) -> set[str]:
    keys = {key for meaning in MEANINGS for key in getattr(dialect, meaning)}
    return {name for key in keys for name in (key.name, key.needs) if name} | {*dialect.method, *dialect.adapter}


def settings(**values: object) -> dict[str, Observed]:
    named = {name.replace("__", "."): value for name, value in values.items()}
    return {name: Observed.written(name, value, True, str(value)) for name, value in named.items()}


@pytest.mark.parametrize("framework", sorted(set(DIALECTS) - {"verl", "swift"}))
def test_some_release_of_the_framework_has_each_name(framework: str) -> None:
    known = data.framework_keys(framework)
    assert known is not None
    ends = {name.rpartition(".")[2] for name in names_of(DIALECTS[framework])}
    inherited = {end for end in ends if data.training_argument(end) is not None or data.trl_argument("GRPOConfig", end)}
    assert not ends - inherited - set(known.keys)


def test_some_release_of_verl_has_each_name() -> None:
    known = {name for version in ("0.4.1", "0.6.1") for name in data.verl_keys(version, "ppo_trainer", None) or {}}
    assert not {name for name in names_of(DIALECTS["verl"]) if name not in known}


def test_what_learns_from_groups_learns_from_samples() -> None:
    assert {LEARNS_FROM[each] for each in OF_GROUPS} == {"samples"}


def test_each_framework_has_a_rate() -> None:
    assert all(dialect.learning_rate for dialect in DIALECTS.values())


def test_a_dotted_name_is_found_below_another() -> None:
    config = FrameworkConfig("prime_rl", settings(trainer__optim__lr=1e-5, inference__model__name="m"))
    recipe = recipe_of(Launch(("rl", "@", "rl.toml"), "unknown"), None, None, config)
    assert recipe is not None
    assert (recipe.settings["learning_rate"].value, recipe.learns_from) == (1e-5, "samples")


def test_a_name_without_a_dot_is_not_the_end_of_another() -> None:
    recipe = recipe_of(None, None, None, FrameworkConfig("slime", settings(critic__lr=1e-2)))
    assert recipe is not None
    assert "learning_rate" not in recipe.settings


@pytest.mark.parametrize(
    ("written", "adapter"),
    [({}, True), ({"tuner_type": "full"}, False), ({"train_type": "lora"}, True), ({"tuner_type": "longlora"}, True)],
)
def test_ms_swift_trains_an_adapter_unless_told(written: dict[str, str], adapter: bool) -> None:
    recipe = recipe_of(None, Training(arguments=settings(**written), complete=False, config_origin=SWIFT), None, None)
    assert recipe is not None
    assert recipe.adapter is adapter


def test_an_adapter_is_unknown_where_its_setting_is() -> None:
    unread = {"actor_rollout_ref.model.lora_rank": Observed.written("actor_rollout_ref.model.lora_rank", None, False)}
    recipe = recipe_of(None, None, VerlConfig("verl.trainer.main_ppo", overrides=unread), None)
    assert recipe is not None
    assert recipe.adapter is None


def test_a_method_that_cannot_be_read_is_not_taken_for_the_default() -> None:
    unread = {"algorithm.adv_estimator": Observed.written("algorithm.adv_estimator", None, False)}
    recipe = recipe_of(None, None, VerlConfig("verl.trainer.main_ppo", overrides=unread), None)
    assert recipe is not None
    assert (recipe.method, recipe.learns_from, recipe.of_groups) == (None, None, False)


def test_no_framework_has_no_recipe() -> None:
    assert recipe_of(Launch(("python", "train.py"), "python"), Training(), None, None) is None
