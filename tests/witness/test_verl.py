"""The hooks in veRL's drivers, with classes of the same shape; tests/verl runs them in the real ones."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from doctor.monitors.guard import shield  # noqa: E402
from doctor.monitors.guard.shield import GuardStop  # noqa: E402
from doctor.monitors.witness import verl  # noqa: E402

ROWS, TOKENS, STEPS = 6, 30, 5


class Settings(dict):
    """A configuration as OmegaConf gives it."""

    def __getattr__(self, name: str):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def settings(values: bool = True, bypass: bool = False, mode: str = "sync") -> Settings:
    rollout = Settings(temperature=1.0, top_p=1, top_k=-1, dtype="bfloat16", calculate_log_probs=values)
    actor = Settings(fsdp_config=Settings(dtype="bfloat16"))
    return Settings(
        actor_rollout_ref=Settings(rollout=rollout, actor=actor),
        trainer=Settings(v1=Settings(trainer_mode=mode), default_local_dir="saved"),
        algorithm=Settings(rollout_correction=Settings(bypass_mode=bypass)),
    )  # fmt: skip


def columns(step: int, gap: float) -> dict:
    source = torch.Generator().manual_seed(step)
    trained = -torch.rand(ROWS, TOKENS, generator=source)
    made = {"old_log_probs": trained, "rollout_log_probs": trained + gap, "response_mask": torch.ones(ROWS, TOKENS)}
    return {name: each.clone() for name, each in made.items()}


def classes(gaps=None, config=None, update="_update_actor", leave_out=(), later=False):
    """A driver that trains on `gaps`, the gap of the batch of each step."""
    gaps = gaps or [0.001] * STEPS
    told = SimpleNamespace(updates=[], saved=[])

    class RayPPOTrainer:
        def __init__(self) -> None:
            self.config, self.global_steps = config or settings(), 0
            self.actor_rollout_wg = SimpleNamespace(update_actor=self.made)

        def made(self, _batch):
            told.updates.append(self.global_steps)
            return "done"

        def _save_checkpoint(self) -> None:
            told.saved.append(self.global_steps)
            Path("saved").mkdir()
            if not later:
                Path("saved", "latest_checkpointed_iteration.txt").write_text(str(self.global_steps))

        def fit(self) -> str:
            for step, gap in enumerate(gaps, start=1):
                self.global_steps = step
                kept = {name: each for name, each in columns(step, gap).items() if name not in leave_out}
                versions = [step - 1] * ROWS
                batch = SimpleNamespace(
                    batch=kept, non_tensor_batch={"min_global_steps": versions, "max_global_steps": versions}
                )
                owner = self if update == "_update_actor" else self.actor_rollout_wg
                assert getattr(owner, update)(batch) == "done"
            return "over"

    if update == "_update_actor":
        RayPPOTrainer._update_actor = RayPPOTrainer.made
    verl.drivers(SimpleNamespace(RayPPOTrainer=RayPPOTrainer))
    return RayPPOTrainer, told


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCTOR_GUARD_TRACKERS", "no")
    monkeypatch.setenv("DOCTOR_GUARD_LANG", "en")
    monkeypatch.setattr(shield, "_failed", set())  # what failed in one test is no longer off in the next one
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("update", ["_update_actor", "update_actor"])
def test_a_right_run_is_quiet_and_keeps_its_methods(update: str, capsys) -> None:
    owner, told = classes(update=update)
    trainer = owner()
    before = getattr(trainer if update == "_update_actor" else trainer.actor_rollout_wg, update)
    assert trainer.fit() == "over"
    assert told.updates == [1, 2, 3, 4, 5]
    assert capsys.readouterr().err == ""
    assert getattr(trainer if update == "_update_actor" else trainer.actor_rollout_wg, update) == before


@pytest.mark.parametrize("update", ["_update_actor", "update_actor"])
def test_a_gap_is_told_and_the_run_goes_on(update: str, capsys) -> None:
    owner, told = classes([0.001, 0.5, 0.5, 0.5, 0.5], update=update)
    owner().fit()
    assert told.updates == [1, 2, 3, 4, 5]
    assert capsys.readouterr().err.count("WIT9046: Engine and trainer differ by 0.5") == 1


@pytest.mark.parametrize("update", ["_update_actor", "update_actor"])
def test_what_another_release_does_otherwise_ends_no_run(update: str, capsys) -> None:
    owner, told = classes([0.5] * STEPS, update=update)
    trainer = owner()
    trainer.__class__ = type("Later", (owner,), {"global_steps": property(lambda _: "one", lambda *_: None)})
    assert trainer.fit() == "over"
    assert len(told.updates) == STEPS
    assert "goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("later", "said"), [(False, "the weights are saved"), (True, "the trainer was asked to save the weights")]
)
def test_the_policy_saves_behind_the_update_and_stops(later: bool, said: str, monkeypatch, capsys) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "WIT=checkpoint")
    owner, told = classes([0.001, 0.5, 0.5], later=later)
    with pytest.raises(GuardStop, match="step 2"):
        owner().fit()
    assert told.updates == [1, 2]
    assert told.saved == [2]
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "leave_out", "said"),
    [
        (settings(values=False), (), "calculate_log_probs=True"),
        (settings(), ("rollout_log_probs",), "calculate_log_probs=True"),
        (settings(bypass=True), (), "bypass_mode"),
    ],
)
def test_what_is_not_seen_is_said_once(config, leave_out, said: str, capsys) -> None:
    owner, told = classes([0.5] * STEPS, config, leave_out=leave_out)
    owner().fit()
    text = capsys.readouterr().err
    assert text.count("not seen whether the engine samples from the policy") == 1
    assert said in text
    assert told.updates == [1, 2, 3, 4, 5]


def test_a_release_without_the_method_is_said(capsys) -> None:
    owner, _ = classes()
    trainer = owner()
    del owner._update_actor
    del trainer.actor_rollout_wg.update_actor
    with pytest.raises(AttributeError):
        trainer.fit()
    assert "this release of veRL has no `update_actor`" in capsys.readouterr().err


def test_a_loop_of_its_own_is_said(capsys) -> None:
    owner, _ = classes()

    class OneStepOff(owner):
        def fit(self) -> None:
            """Another loop."""

    class Announces(owner):
        def fit(self) -> str:
            return super().fit()

    OneStepOff().fit()
    assert "`OneStepOff` of veRL has a loop of its own" in capsys.readouterr().err
    assert Announces().fit() == "over"
    assert capsys.readouterr().err == ""


def test_it_can_be_switched_off(monkeypatch, capsys) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_WITNESS", "no")
    owner, told = classes([0.5] * STEPS)
    owner().fit()
    assert told.updates == [1, 2, 3, 4, 5]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("where", ["_rollouts", "_sampling", "_begin"])
def test_a_witness_that_fails_says_so_and_the_run_goes_on(where: str, monkeypatch, capsys) -> None:
    owner, told = classes([0.5] * STEPS)

    def fails(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(verl, where, fails)
    if where == "_begin":
        owner, told = classes([0.5] * STEPS)
    assert owner().fit() == "over"
    assert told.updates == [1, 2, 3, 4, 5]
    assert "RuntimeError: a bug" in capsys.readouterr().err


def queued(monkeypatch, gaps, mode: str = "sync", *, values: bool = True):
    """The driver whose batches lie in a queue; the last row of each is padding."""
    told = SimpleNamespace(steps=[], fetched=[])

    def kv_batch_get(keys, partition_id, select_fields):
        assert partition_id == "train"
        told.fetched.append(list(keys))
        made = columns(told.steps[-1], gaps[told.steps[-1] - 1])
        rows = [int(each) for each in keys]
        nested = {
            name: torch.nested.as_nested_tensor([each[row][: 20 + row] for row in rows], layout=torch.jagged)
            for name, each in made.items()
        }
        return {name: nested[name] for name in select_fields}

    monkeypatch.setitem(sys.modules, "transfer_queue", SimpleNamespace(kv_batch_get=kv_batch_get))

    class PPOTrainer:
        def __init__(self) -> None:
            self.config, self.global_steps = settings(values=values, mode=mode), 0

        def step(self, _metrics, _timing_raw):
            told.steps.append(self.global_steps)
            version = {"min_global_steps": self.global_steps - 1, "max_global_steps": self.global_steps - 1}
            tags = [{**version, "is_padding": at == ROWS - 1} for at in range(ROWS)]
            return SimpleNamespace(keys=[str(at) for at in range(ROWS)], tags=tags, partition_id="train")

        def fit(self, _agent_loop_manager):
            for step in range(1, STEPS + 1):
                self.global_steps = step
                assert self.step({}, {}).partition_id == "train"

    verl.drivers_v1(SimpleNamespace(PPOTrainer=PPOTrainer))
    return PPOTrainer(), told


def test_a_batch_in_the_queue(monkeypatch, capsys) -> None:
    trainer, told = queued(monkeypatch, [0.001, 0.001, 0.5, 0.5, 0.5])
    trainer.fit(None)
    assert told.steps == [1, 2, 3, 4, 5]
    assert told.fetched == [["0", "1", "2", "3", "4"]] * 4  # the first four batches, without padding
    assert capsys.readouterr().err.count("WIT9046: Engine and trainer differ by 0.5") == 1


@pytest.mark.parametrize(
    ("mode", "values", "said"),
    [("separate_async", True, "`separate_async` samples with earlier weights"), ("sync", False, "calculate_log_probs")],
)
def test_a_queue_that_tells_nothing_is_said(mode: str, values: bool, said: str, monkeypatch, capsys) -> None:
    trainer, told = queued(monkeypatch, [0.5] * STEPS, mode, values=values)
    trainer.fit(None)
    assert not told.fetched
    assert said in capsys.readouterr().err
