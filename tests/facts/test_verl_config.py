"""veRL's overrides and the user's own YAML."""

from __future__ import annotations

from pathlib import Path

from tests.facts.command_facts import fact_of, state_of

LINE = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo +trainer.new=1 ++data.x=[a,b] ~trainer.old"


def test_overrides(tmp_path: Path) -> None:
    found = fact_of("verl_config", LINE + " actor_rollout_ref.actor.optim.lr=1e-6 trainer.n_gpus_per_node=8", tmp_path)
    assert (found.entry, found.config_name) == ("verl.trainer.main_ppo", "ppo_trainer")
    assert {name: each.value for name, each in found.overrides.items()} == {
        "algorithm.adv_estimator": "grpo", "trainer.new": 1, "data.x": ["a", "b"],
        "actor_rollout_ref.actor.optim.lr": 1e-6, "trainer.n_gpus_per_node": 8,
    }  # fmt: skip
    assert (found.added, found.removed) == ({"trainer.new", "data.x"}, {"trainer.old"})
    assert (found.base, found.base_path) == ({}, None)


def test_own_yaml(tmp_path: Path) -> None:
    (tmp_path / "cfg").mkdir()
    text = "defaults:\n  - ppo_trainer\n  - _self_\ndata:\n  train_batch_size: 256\n  lr: 1e-5\n  path: ${oc.env:X}\n"
    (tmp_path / "cfg" / "mine.yaml").write_text(text)
    for options in (
        f"--config-path={tmp_path}/cfg --config-name=mine", f"--config-path {tmp_path}/cfg --config-name mine.yaml",
        "--config-dir cfg --config-name mine", f"-cp {tmp_path}/cfg -cn mine",
    ):  # fmt: skip
        found = fact_of("verl_config", f"python -m verl.trainer.main_ppo {options} data.lr=2e-5", tmp_path)
        assert found.base_path == str(tmp_path / "cfg" / "mine.yaml"), options
        assert set(found.base) == {"data.train_batch_size", "data.lr", "data.path"}
        assert (found.get("data.lr").value, found.base["data.lr"].value) == (2e-5, 1e-5)
        assert found.get("data.train_batch_size").place.line == 5
        assert not found.get("data.path").known
        assert found.get("absent") is None


def test_relative_to_the_program(tmp_path: Path) -> None:
    (tmp_path / "recipe" / "dapo" / "config").mkdir(parents=True)
    (tmp_path / "recipe" / "dapo" / "config" / "dapo.yaml").write_text("a: [\n")
    line = "python -m recipe.dapo.main_dapo --config-path=config --config-name=dapo"
    found = fact_of("verl_config", line, tmp_path)
    assert found.broken is not None
    assert found.broken.place.line == 2


def test_through_ray(tmp_path: Path) -> None:
    found = fact_of("verl_config", f"ray job submit --no-wait -- {LINE}", tmp_path)
    assert found.overrides["algorithm.adv_estimator"].value == "grpo"


def test_secrets_and_others(tmp_path: Path) -> None:
    found = fact_of("verl_config", "python -m verl.trainer.main_ppo trainer.wandb_api_key=0123456789abcdef", tmp_path)
    assert "0123456789" not in repr(found)
    assert state_of("verl_config", "python t.py", tmp_path).reason == "the command does not start veRL"
