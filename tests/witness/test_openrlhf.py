"""The hooks in OpenRLHF's driver, with classes of the same shape, old and new."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from doctor.monitors.guard import shield  # noqa: E402
from doctor.monitors.guard.shield import GuardStop  # noqa: E402
from doctor.monitors.witness import openrlhf  # noqa: E402

STEPS, PROMPT, ANSWER = 5, 8, 40


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCTOR_GUARD_TRACKERS", "no")
    monkeypatch.setenv("DOCTOR_GUARD_LANG", "en")
    monkeypatch.setattr(shield, "_failed", set())
    monkeypatch.chdir(tmp_path)


def experience(step: int, gap: float, values: bool = True):
    """Two rows, padded behind their answers; nothing is known of the prompt."""
    source = torch.Generator().manual_seed(step)
    mask = torch.zeros(2, PROMPT + ANSWER)
    mask[0, PROMPT:], mask[1, PROMPT : PROMPT + ANSWER // 2] = 1, 1
    trained = -torch.rand(2, PROMPT + ANSWER, generator=source)
    sampled = (trained + gap) * mask
    return SimpleNamespace(
        action_log_probs=trained, rollout_log_probs=sampled if values else None, action_mask=mask.bool()
    )


class Run:
    """A driver over `gaps`, of the old shape or of the one with groups of settings and `train_step`."""

    def __init__(self, gaps, *, new: bool, values: bool = True, asynchronous: bool = False, saves: bool = True) -> None:
        self.trained, self.saved, run = [], [], self

        class ActorGroup:
            def async_run_method(self, method_name, tag):
                assert method_name == "save_checkpoint"
                run.saved.append(int(tag))

        class RemoteExperienceMaker:
            def make_experience_batch(self, samples):
                return [experience(samples, gaps[samples], values) for _ in range(2)]

        class BasePPOTrainer:
            def __init__(self) -> None:
                self.experience_maker = RemoteExperienceMaker()
                options = SimpleNamespace(temperature=1.0, top_p=1.0)
                self.actor_model_group = ActorGroup()
                ckpt = SimpleNamespace(save_steps=float("inf")) if saves else SimpleNamespace()
                self.args = (
                    SimpleNamespace(rollout=options, ckpt=ckpt)
                    if new
                    else SimpleNamespace(**vars(options), **vars(ckpt))
                )

            def ppo_train(self, steps):
                run.trained.append(steps)
                return {"loss": 1.0}

            def save_logs_and_checkpoints(self, *args):
                step = args[0] if new else args[1]
                if step % getattr(getattr(self.args, "ckpt", self.args), "save_steps", float("inf")) == 0:
                    self.actor_model_group.async_run_method(method_name="save_checkpoint", tag=str(step))

            def fit(self) -> None:
                for step in range(len(gaps)):
                    self.experience_maker.make_experience_batch(step)
                    assert self.ppo_train(step if new else step + 1) == {"loss": 1.0}
                    self.save_logs_and_checkpoints(*([step + 1] if new else [self.args, step + 1, None]))

        if new:
            BasePPOTrainer.train_step = lambda self: None
        if asynchronous:
            BasePPOTrainer.__module__ = "openrlhf.trainer.ppo_trainer_async"
        openrlhf.makers(SimpleNamespace(RemoteExperienceMaker=RemoteExperienceMaker))
        openrlhf.drivers(SimpleNamespace(BasePPOTrainer=BasePPOTrainer))
        self.trainer = BasePPOTrainer()


@pytest.mark.parametrize("new", [False, True])
def test_a_right_run_is_quiet(new: bool, capsys) -> None:
    run = Run([0.001] * STEPS, new=new)
    run.trainer.fit()
    assert len(run.trained) == STEPS
    assert not run.saved
    assert run.trainer._doctor_watch.witness.rounds == 4
    assert run.trainer._doctor_watch.guard.step == STEPS - 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("new", [False, True])
def test_a_gap_is_told_and_the_run_goes_on(new: bool, capsys) -> None:
    run = Run([0.001, 0.001, 0.5, 0.5, 0.5], new=new)
    run.trainer.fit()
    assert len(run.trained) == STEPS
    assert capsys.readouterr().err.count("WIT9046: Engine and trainer differ by 0.5 per sampled token at step 2") == 1


@pytest.mark.parametrize("new", [False, True])
def test_the_policy_saves_and_stops(new: bool, monkeypatch, capsys) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "WIT=checkpoint")
    run = Run([0.001, 0.5, 0.5], new=new)
    with pytest.raises(GuardStop, match="step 2"):
        run.trainer.fit()
    assert run.saved == [2]
    assert getattr(run.trainer.args, "ckpt", run.trainer.args).save_steps == float("inf")
    assert "the weights are saved" in capsys.readouterr().err


@pytest.mark.parametrize("new", [False, True])
def test_a_trainer_that_saves_nothing_is_not_said_to_have_saved(new: bool, monkeypatch, capsys) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "WIT=checkpoint")
    run = Run([0.001, 0.5, 0.5], new=new, saves=False)
    with pytest.raises(GuardStop, match="step 2"):
        run.trainer.fit()
    assert not run.saved
    assert "nothing was saved" in capsys.readouterr().err
    assert "async_run_method" not in vars(run.trainer.actor_model_group)


def test_the_policy_stops_without_saving(monkeypatch) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_POLICY", "WIT=stop")
    run = Run([0.5], new=True)
    with pytest.raises(GuardStop):
        run.trainer.fit()
    assert not run.saved


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"values": False}, "enable_vllm_is_correction"), ({"asynchronous": True}, "samples with earlier weights")],
)
def test_what_is_not_seen_is_said_once(settings, said: str, capsys) -> None:
    run = Run([0.5] * STEPS, new=True, **settings)
    run.trainer.fit()
    text = capsys.readouterr().err
    assert text.count("not seen whether") == 1
    assert said in text
    assert len(run.trained) == STEPS


def test_a_witness_that_fails_says_so_and_the_run_goes_on(monkeypatch, capsys) -> None:
    def fails(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(openrlhf, "_row", fails)
    run = Run([0.5] * STEPS, new=True)
    run.trainer.fit()
    assert len(run.trained) == STEPS
    assert "RuntimeError: a bug" in capsys.readouterr().err


def test_other_releases_are_left_alone() -> None:
    module = SimpleNamespace(BasePPOTrainer=type("BasePPOTrainer", (), {}))
    openrlhf.drivers(module)
    openrlhf.makers(SimpleNamespace())
    assert not hasattr(module.BasePPOTrainer, "ppo_train")
