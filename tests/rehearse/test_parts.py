"""Of a framework whose workers need a GPU, data and reward are rehearsed as its configuration names them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.rehearse.parts import parts_of
from tests.real.runs import environment
from tests.rehearse.running import tree

pytestmark = pytest.mark.process

REWARD = {
    "right": """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return 1.0 if solution_str.rpartition("####")[2].strip() == ground_truth else 0.0
""",
    "text-with-number": """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": float(solution_str.rpartition("####")[2].strip() == int(ground_truth)), "acc": 0}
""",
    "fewer": """
def compute_score(data_source, solution_str, ground_truth):
    return 1.0 if solution_str.rpartition("####")[2].strip() == ground_truth else 0.0
""",
    "raises": """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return float(extra_info["level"] > 2)
""",
    "other-name": "def score(data_source, solution_str, ground_truth, extra_info=None):\n    return 0.0\n",
    "fails": "import a_package_that_nobody_has\n",
    "batch": """
def compute_score(data_sources, solution_strs, ground_truths, extra_infos, worth):
    found = [each.rpartition("####")[2].strip() for each in solution_strs]
    return [worth if each == right else 0.0 for each, right in zip(found, ground_truths)]
""",
    "labels": """
import torch
def reward_func(queries, prompts, labels):
    found = [query[len(prompt):].rpartition("####")[2].strip() for query, prompt in zip(queries, prompts)]
    return {"rewards": torch.tensor([float(each == right) for each, right in zip(found, labels)])}
""",
    "longest": """
import torch
def reward_func(queries, prompts, labels):
    return torch.tensor([len(each) / 10000 for each in queries])
""",
}
ROWS = """
import sys
from datasets import Dataset
rows = [
    {"prompt": [{"role": "user", "content": f"What is {at} + {at}?" + " please" * (at == 9) * 40}],
     "question": f"What is {at} + {at}?", "answer": str(2 * at), "data_source": "sums",
     "reward_model": {"style": "rule", "ground_truth": str(2 * at)}, "extra_info": {"index": at}}
    for at in range(12)
]
Dataset.from_list(rows).to_parquet(sys.argv[1])
"""


@pytest.fixture
def rows(python: Path, stage: Callable[[str], Path], tmp_path: Path) -> Path:
    """Parquet beside the stage, once."""
    path = stage("") / "verl.parquet"
    if not path.exists():
        subprocess.run([str(python), "-c", ROWS, str(path)], check=True, env=environment(python, tmp_path))
    return path


def rehearsed(python: Path, folder: Path, *words: str) -> dict[str, Any]:
    """The report of a rehearsal of a module that is never started; nothing beside it may change."""
    work = folder / "work"
    before = tree(work)
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "rehearse", "--format", "json", "--", str(python), "-m", *words], cwd=work,
        env={**environment(python, folder), "XDG_STATE_HOME": str(folder / "state"), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True, text=True, timeout=200, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.stdout, done.stderr
    assert tree(work) == before
    return {**json.loads(done.stdout), "code": done.returncode}


def verl(rows: Path, model: Path, reward: str, folder: Path, *more: str) -> tuple[str, ...]:
    """veRL's command for a reward of that name."""
    (folder / "work").mkdir()
    (folder / "work" / "reward.py").write_text(REWARD[reward])
    return (
        "verl.trainer.main_ppo", f"data.train_files={rows}", f"actor_rollout_ref.model.path={model}",
        "data.max_prompt_length=200", "custom_reward_function.path=reward.py", *more,
    )  # fmt: skip


def _marks(report: Mapping[str, Any]) -> dict[str, str]:
    return {each["name"]: each["mark"] for each in report["rehearsal"]["phases"]}


FILTERED = "data.filter_overlong_prompts=True"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("reward", "more"),
    [
        ("right", ()),
        ("batch", ("reward_model.reward_manager=batch", "+custom_reward_function.reward_kwargs.worth=2.0")),
    ],
)
def test_what_is_well_is_left_in_peace(
    python: Path, stage: Callable[[str], Path], rows: Path, tmp_path: Path, reward: str, more: tuple[str, ...]
) -> None:
    report = rehearsed(python, tmp_path, *verl(rows, stage("") / "small", reward, tmp_path, FILTERED, *more))
    assert [each["id"] for each in report["findings"] if each["severity"] != "info"] == [], report["findings"]
    assert report["code"] == 0
    marks = _marks(report)
    assert (marks["configuration"], marks["data"], marks["reward"]) == ("ok", "ok", "ok")
    said = {each["what"]: each["why"] for each in report["rehearsal"]["not_rehearsed"]}
    assert "configuration, data and reward only" in said["run"]
    assert "1 of 12 examined prompts" in said["data"]
    earned = report["rehearsal"]["rewards"]["compute_score"]
    assert earned["right:hashes"] > 0 == earned["refusal"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("reward", "more", "finding"),
    [
        ("text-with-number", (FILTERED,), "RLX5519"), ("other-name", (FILTERED,), "VRL033"),
        ("fails", (FILTERED,), "VRL033"), ("right", (), "VRL015"),
        ("raises", (FILTERED,), "any"), ("fewer", (FILTERED,), "any"),
        ("right", (FILTERED, "data.prompt_key=query"), "any"),
    ],
)  # fmt: skip
def test_a_mistake_is_caught(
    python: Path, stage: Callable[[str], Path], rows: Path, tmp_path: Path, reward: str, more: tuple[str, ...],
    finding: str,
) -> None:  # fmt: skip
    report = rehearsed(python, tmp_path, *verl(rows, stage("") / "small", reward, tmp_path, *more))
    ids = [each["id"] for each in report["findings"]]
    assert finding in ids or (finding == "any" and report["code"] == 1), report["findings"]
    assert report["crashed"] == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("reward", "finding"), [("labels", None), ("longest", "RLX5519")])
def test_openrlhf_reads_labels(
    python: Path, stage: Callable[[str], Path], rows: Path, tmp_path: Path, reward: str, finding: str | None
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "reward.py").write_text(REWARD[reward])
    report = rehearsed(
        python, tmp_path, "openrlhf.cli.train_ppo_ray", "--prompt_data", str(rows), "--input_key", "question",
        "--label_key", "answer", "--remote_rm_url", "reward.py", "--pretrain", str(stage("") / "small"),
    )  # fmt: skip
    found = [each["id"] for each in report["findings"] if each["severity"] != "info"]
    assert _marks(report)["reward"] == "ok", report
    assert (finding in found) if finding else (found == [])


def plan(framework: str, *words: str) -> dict[str, Any]:
    """The plan for a module's command."""
    made = parts_of((sys.executable, "-m", *words), framework)
    assert made is not None
    return made[1]


def test_trinity_reads_its_taskset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    (tmp_path / "t.yaml").write_text(
        "model:\n  model_path: Qwen/Qwen3-8B\n  max_prompt_tokens: 300\nbuffer:\n  explorer_input:\n    taskset:\n"
        f"      path: {tmp_path}/rows\n      format:\n        prompt_key: question\n"
    )
    made = parts_of(("trinity", "run", "--config", "t.yaml"), "Trinity-RFT")
    if made is None:
        pytest.skip("no interpreter is known for `trinity` here")
    told = made[1]
    assert (told["files"], told["prompt"], told["limit"]) == ([str(tmp_path / "rows")], "question", 300)
    assert told["reward"] is None


def test_skyrl_reads_its_rows() -> None:
    told = plan(
        "SkyRL", "skyrl_train.entrypoints.main_base", "data.train_data=['/d/train.parquet']",
        "trainer.policy.model.path=Qwen/Qwen2.5-1.5B", "trainer.max_prompt_length=512",
    )  # fmt: skip
    assert (told["files"], told["prompt"], told["limit"]) == (["/d/train.parquet"], "prompt", 512)
    assert told["model"] == "Qwen/Qwen2.5-1.5B"


def test_files_of_another_machine_are_left_out() -> None:
    told = plan("veRL", "verl.trainer.main_ppo", "data.train_files=hdfs://host/train.parquet")
    assert told["files"] == []
    assert told["reward"] == {"form": "one", "path": None, "name": "default_compute_score", "arguments": {}}


def test_what_names_neither_data_nor_reward_has_no_parts() -> None:
    assert parts_of((sys.executable, "-m", "openrlhf.cli.train_ppo_ray", "--save_steps", "3"), "OpenRLHF") is None
    assert parts_of((sys.executable, "pretrain_gpt.py"), "Megatron-LM") is None
