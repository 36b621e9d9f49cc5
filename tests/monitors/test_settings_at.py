"""Where a run sets what a finding is about: in files that the command, its script and its frames name, in no others."""

from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.usage.settings_at import settings_at


def _finding(headline: str, *changes: dict[str, Any]) -> dict[str, Any]:
    return {"headline": headline, "remedy": {"text": "Lower the learning rate.", "changes": list(changes)}}


GROUPS = _finding("`num_generations=3` does not divide the generation batch of 4")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("grpo.json", '{\n  "lr": 1,\n  "num_generations": 3\n}\n', 3),
        ("grpo.yaml", "lr: 1\n# num_generations: 8\nnum_generations: 3\n", 3),
        ("run.sh", "#!/bin/sh\npython train.py \\\n  --num-generations 3\n", 3),
        ("args.toml", "max_num_generations = 9\nnum_generations = 3\n", 2),
    ],
)
def test_the_file_that_a_script_names_has_the_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    (tmp_path / "train.py").write_text(f'cfg = load("{name}")\nprint(cfg.num_generations)\n')
    (tmp_path / name).write_text(text)
    (tmp_path / "other.json").write_text('{"num_generations": 3}')
    named = ["train.py", name] if name.endswith(".sh") else ["train.py"]  # no script reads the one that starts it
    (at,) = settings_at(GROUPS, named, str(tmp_path))
    assert at["place"] == f"{name}:{line}"
    assert "3" in at["code"]


def test_a_name_that_only_a_remedy_has_counts_and_one_of_a_package_does_not(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("flash_attn = None\nargs = Config(seed=1, learning_rate=1e-3)\n")
    option = {"kind": "option", "name": "GRPOConfig.learning_rate"}
    package = {"kind": "package", "name": "flash_attn"}
    found = settings_at(_finding("The loss is NaN", option, package), ["train.py"], str(tmp_path))
    assert [each["place"] for each in found] == ["train.py:2"]


def test_secrets_of_a_line_are_redacted_and_missing_files_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("hub_token: hf_abcdefghijklmnopqrstuvwxyz0123456789\n")
    (at,) = settings_at(_finding("`hub_token` is refused"), ["a.yaml", "gone.yaml"], str(tmp_path))
    assert "abcdefghij" not in at["code"]
    assert settings_at(GROUPS, ["a.yaml"], None) == []


def test_a_function_that_a_script_imports_and_an_argument_named_in_words(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('import rewards\ncfg = load("grpo.yaml")\n')
    (tmp_path / "rewards.py").write_text("def correct(completions, answer):\n    return 1\n")
    (tmp_path / "grpo.yaml").write_text("learning_rate: 1.0e+30\nseed: 1\n")
    finding = _finding("Reward function `correct` requires `answer`, which TRL does not pass")
    places = [each["place"] for each in settings_at(finding, ["train.py"], str(tmp_path), arguments=["learning_rate"])]
    assert places == ["grpo.yaml:1", "rewards.py:1"]
    assert settings_at(finding, ["train.py"], str(tmp_path), until_ns=1) == [], "changed since the run ended"


def test_a_remedy_names_an_argument_that_the_trainer_has(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("args = Config(\n    max_completion_length=8,\n    eos_token=1,\n)\n")
    finding = {
        "headline": "All completions are cut off",
        "remedy": {"text": "Raise `max_completion_length`, or check `eos_token`.", "changes": []},
    }
    known = {"max_completion_length": "8"}
    found = settings_at(finding, ["train.py"], str(tmp_path), arguments=known)
    assert [each["place"] for each in found] == ["train.py:2"]
    assert settings_at(finding, ["train.py"], str(tmp_path)) == []
