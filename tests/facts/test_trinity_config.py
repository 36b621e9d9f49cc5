"""Trinity-RFT's YAML and the file of the trainer that it names."""

from __future__ import annotations

from pathlib import Path

from tests.facts.command_facts import fact_of, state_of

TEXT = """\
mode: both
cluster:
  node_num: 1
  gpu_per_node: 8
explorer:
  rollout_model:
    engine_num: 2
    tensor_parallel_size: 1
trainer:
  trainer_config_path: train.yaml
model:
  model_path: ${oc.env:MODEL,Qwen/Q}
algorithm:
  optimizer: {lr: 1e-6}
stages:
- mode: train
"""


def test_yaml_and_trainer(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TEXT)
    (tmp_path / "train.yaml").write_text("actor_rollout_ref:\n  actor:\n    ppo_mini_batch_size: 32\n")
    lines = {"trinity run --config a.yaml": "run", "trinity debug -c a.yaml --module workflow": "debug"}
    for line, command in lines.items():
        found = fact_of("trinity_config", line, tmp_path)
        assert (found.path, found.command, found.broken) == (str(tmp_path / "a.yaml"), command, None)
        engine = found.settings["explorer.rollout_model.engine_num"]
        assert (engine.value, engine.place.line, engine.place.column) == (2, 7, 5)
        assert found.settings["algorithm.optimizer.lr"].value == 1e-6
        assert not found.settings["model.model_path"].known
        assert found.settings["stages.0.mode"].value == "train"
        size = found.trainer_config["actor_rollout_ref.actor.ppo_mini_batch_size"]
        assert (size.value, Path(size.place.file).name) == (32, "train.yaml")


def test_broken_and_missing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("mode: both\nmode: train\n")
    assert "twice" in fact_of("trinity_config", "trinity run --config a.yaml", tmp_path).broken.message
    assert "does not exist" in fact_of("trinity_config", "trinity run --config b.yaml", tmp_path).broken.message
    (tmp_path / "a.yaml").write_text(TEXT)
    found = fact_of("trinity_config", "trinity run --config a.yaml", tmp_path)
    assert Path(found.broken.place.file).name == "train.yaml"
    assert found.settings


def test_others(tmp_path: Path) -> None:
    state = state_of("trinity_config", "trinity studio --port 1", tmp_path)
    assert state.reason == "the command names no Trinity-RFT configuration"
    assert state_of("trinity_config", "python t.py", tmp_path).reason == "the command does not start Trinity-RFT"
