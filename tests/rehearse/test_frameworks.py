"""Frameworks are recognised by their commands; one is started only where its driver takes the hook."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.rehearse import journal, plans, rays, verl
from doctor.monitors.rehearse.loops import RehearsalOver
from doctor.monitors.rehearse.names import library
from doctor.rehearse.frameworks import adapted, framework_of, has_package
from tests.rehearse.test_hooks import set_up

VERL = ("python3", "-m", "verl.trainer.main_ppo", "trainer.save_freq=20", "trainer.test_freq=-1", "+trainer.x=1")


@pytest.mark.parametrize(
    ("words", "framework"),
    [
        (VERL, "veRL"),
        (("python", "-m", "verl.trainer.fsdp_sft_trainer"), "veRL"),
        (("trinity", "run", "--config", "grpo.yaml"), "Trinity-RFT"),
        (("deepspeed", "--module", "openrlhf.cli.train_ppo_ray"), "OpenRLHF"),
        (("ray", "job", "submit", "--", "python3", "-m", "openrlhf.cli.train_ppo_ray"), "OpenRLHF"),
        (("accelerate", "launch", "train_grpo.py", "--output_dir", "verl-like"), ""),
        (("python", "my_verl_trainer.py"), ""),
        (("trl", "grpo", "--model_name_or_path", "x"), ""),
    ],
)
def test_a_framework_is_recognised(words: tuple[str, ...], framework: str) -> None:
    assert framework_of(words) == framework


@pytest.mark.process
def test_verl_is_started_where_the_interpreter_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "verl").mkdir()
    (tmp_path / "verl" / "__init__.py").write_text("raise ImportError\n")
    assert not has_package(sys.executable, "verl")
    assert adapted(VERL, sys.executable).argv == ()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert has_package(sys.executable, "verl"), "found, and not imported"
    assert adapted(VERL, sys.executable) == adapted(VERL, sys.executable, "veRL")
    assert adapted(VERL, sys.executable).argv == VERL
    assert adapted(("bash", "run.sh"), sys.executable, "veRL").argv == ("bash", "run.sh")
    assert adapted(VERL, None).argv == ()


def test_what_cannot_be_rehearsed_is_not_started() -> None:
    given = adapted(("trinity", "run"), sys.executable)
    assert (given.argv, given.framework) == ((), "Trinity-RFT")
    assert adapted(("bash", "run.sh"), sys.executable, "Trinity-RFT").argv == ()


def test_any_other_command_is_left_as_it_is() -> None:
    words = ("accelerate", "launch", "train.py")
    assert adapted(words, sys.executable).argv == words


# Hydra's tasks -------------------------------------------------------------------------------------------------------


class Node(dict):  # type: ignore[type-arg]
    """A part of a configuration, as OmegaConf's are used."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def node(value: Any) -> Any:
    return Node({name: node(each) for name, each in value.items()}) if isinstance(value, dict) else value


class OmegaConf:
    """What is used of it, by the same names."""

    create = staticmethod(node)

    @staticmethod
    def to_container(config: Any, **_: Any) -> Any:
        if not isinstance(config, dict):
            return config
        return {name: OmegaConf.to_container(each) for name, each in config.items()}

    @staticmethod
    def resolve(_: Any) -> None:
        return

    @staticmethod
    def select(config: Any, key: str) -> Any:
        for name in key.split("."):
            config = config.get(name) if isinstance(config, dict) else None
        return config

    @staticmethod
    def update(config: Any, key: str, value: Any, *, force_add: bool) -> None:
        assert force_add
        *path, last = key.split(".")
        for name in path:
            config = config.setdefault(name, Node())
        config[last] = value


CONFIG = {
    "data": {"train_files": "train.parquet", "train_batch_size": 8, "max_prompt_length": 99},
    "actor_rollout_ref": {"actor": {"use_kl_loss": True}, "model": {"path": "Qwen/Qwen3-8B"}},
    "algorithm": {"adv_estimator": "grpo"},
    "critic": {"enable": None},
    "trainer": {"save_freq": 20, "test_freq": -1, "total_epochs": 15, "logger": ["console", "wandb"]},
}


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task of Hydra's, entered; `seen` has what veRL's check was given, `went_on` what the task was."""
    stage = set_up(tmp_path, monkeypatch)
    seen: list[tuple[dict[str, Any], bool, bool]] = []
    went_on: list[Any] = []

    def validate_config(config: Any, *, use_reference_policy: bool, use_critic: bool) -> None:
        seen.append((OmegaConf.to_container(config), use_reference_policy, use_critic))
        if config["data"]["train_batch_size"] % 4:
            raise AssertionError("must be divisible")

    checks = types.ModuleType("verl.utils.config")
    checks.validate_config = validate_config  # type: ignore[attr-defined]
    for name, each in {
        "verl": types.ModuleType("verl"), "verl.utils": types.ModuleType("verl.utils"), "verl.utils.config": checks,
        "omegaconf": types.SimpleNamespace(OmegaConf=OmegaConf),
    }.items():  # fmt: skip
        monkeypatch.setitem(sys.modules, name, each)  # type: ignore[arg-type]
    hydra = types.SimpleNamespace(main=lambda **_: lambda task: task)
    verl.tasks(hydra)
    task = hydra.main(config_path="config")(went_on.append)
    return types.SimpleNamespace(task=task, seen=seen, went_on=went_on, stage=stage)


def test_verl_judges_the_users_values_and_the_shortened_ones(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verl, "_has_gpu", lambda: True)
    driver.task(node(CONFIG))
    (own, reference, critic), (short, *_) = driver.seen
    assert own == CONFIG
    assert (reference, critic) == (True, False)
    (going_on,) = driver.went_on
    assert going_on["trainer"] == short["trainer"]
    assert going_on["trainer"]["total_training_steps"] == going_on["trainer"]["save_freq"] == 2
    assert going_on["trainer"]["test_freq"] == -1, "it is off"
    assert going_on["trainer"]["logger"] == ["console"]
    assert going_on["trainer"]["default_local_dir"].startswith(str(driver.stage))
    assert going_on["data"]["train_batch_size"] == 8, "what is validated against others stays"


def test_what_verl_refuses_ends_the_command_before_anything_is_started(driver: Any) -> None:
    wrong = {**CONFIG, "data": {**CONFIG["data"], "train_batch_size": 7}}
    with pytest.raises(AssertionError, match="divisible"):
        driver.task(node(wrong))
    assert driver.went_on == []
    (end,) = [each for each in journal.entries(driver.stage) if each.get("edge") == "end"]
    assert (end["name"], end["error"]) == ("configuration", "AssertionError")


def test_without_a_card_the_parts_are_rehearsed_and_no_worker_is_started(
    driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verl, "_has_gpu", lambda: False)
    given: list[dict[str, Any]] = []
    monkeypatch.setitem(
        sys.modules, "doctor.monitors.rehearse.parts", types.SimpleNamespace(rehearsed=given.append)  # type: ignore[arg-type]
    )  # fmt: skip
    import doctor.monitors.rehearse as package

    monkeypatch.setattr(package, "parts", sys.modules["doctor.monitors.rehearse.parts"], raising=False)
    with pytest.raises(RehearsalOver):
        driver.task(node(CONFIG))
    assert driver.went_on == []
    (plan,) = given
    assert plan["files"] == [os.path.join(os.getcwd(), "train.parquet")]  # noqa: PTH109, PTH118
    assert (plan["limit"], plan["model"], plan["truncation"]) == (99, "Qwen/Qwen3-8B", "error")


def test_a_task_of_others_is_left_alone(driver: Any) -> None:
    driver.task({"model": 1, "optimizer": 2})
    assert driver.went_on == [{"model": 1, "optimizer": 2}]
    assert driver.seen == []


def test_a_reward_function_is_placed_where_the_command_runs() -> None:
    values = {"custom_reward_function.path": "reward.py", "data.train_files": ["hdfs://x/a.parquet", "b.parquet"]}
    made = plans.of_verl(lambda *keys: next((values[each] for each in keys if each in values), None), {"worth": 2},
                         supervised=False)  # fmt: skip
    placed = plans.placed(made, "/where")
    assert placed is not None
    assert placed["files"] == ["/where/b.parquet"]
    assert placed["reward"] == {
        "form": "one", "path": "/where/reward.py", "name": "compute_score", "arguments": {"worth": 2}
    }  # fmt: skip


# Ray -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [None, "auto", "10.0.0.1:6379", "ray://head:10001"])
def test_no_cluster_of_the_users_is_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    stage = set_up(tmp_path, monkeypatch)
    given: list[Any] = []
    module = types.SimpleNamespace(init=lambda address=None, **kwargs: given.append((address, kwargs)))
    rays.clusters(module)
    module.init(address, num_cpus=2, runtime_env={"env_vars": {"PYTHONPATH": "/mine", "OWN": "1"}})
    ((where, kwargs),) = given
    hook = str(Path(library()).with_name("hook"))
    assert where == "local"
    assert kwargs["num_cpus"] == 2
    variables = kwargs["runtime_env"]["env_vars"]
    assert variables["PYTHONPATH"] == f"{hook}{os.pathsep}/mine", "first the hook, then what the user named"
    assert variables["OWN"] == "1"
    told = [each for each in journal.entries(stage) if each["kind"] == "left_out"]
    assert bool(told) is (address is not None)


def test_rays_programs_change_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch)
    called: list[str] = []
    commands = {name: types.SimpleNamespace(callback=lambda name=name, **_: called.append(name))
                for name in ("start", "stop", "status")}  # fmt: skip
    rays.programs(types.SimpleNamespace(**commands))
    for each in commands.values():
        each.callback(force=True)
    assert called == ["status"]


def test_a_job_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch)
    became: list[Any] = []
    monkeypatch.setattr(os, "execvp", lambda *words: became.append(words))
    submit = types.SimpleNamespace(callback=lambda **_: became.append("submitted"))
    rays.jobs(types.SimpleNamespace(submit=submit))
    submit.callback(address="http://head:8265", entrypoint=("python3", "-m", "verl.trainer.main_ppo"))
    assert became == [("python3", ["python3", "-m", "verl.trainer.main_ppo"])]
