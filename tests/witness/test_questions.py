"""Questions of a driver to an engine that computes for real, in drivers of the shapes of veRL and OpenRLHF."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from doctor.monitors.guard import shield  # noqa: E402
from doctor.monitors.witness import openrlhf, questions, verl  # noqa: E402
from doctor.monitors.witness import witness as witnessing  # noqa: E402

from .scripted import ScriptedEngine  # noqa: E402
from .test_verl import Settings, settings  # noqa: E402
from .tiny_lm import VOCABULARY, TinyLM  # noqa: E402

STEPS = 4
MOVES = {"actor/lr": 1e-3, "actor/grad_norm": [0.5]}


class Tokenizer:
    def __len__(self) -> int:
        return VOCABULARY


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCTOR_GUARD_TRACKERS", "no")
    monkeypatch.setenv("DOCTOR_GUARD_LANG", "en")
    monkeypatch.setattr(shield, "_failed", set())
    monkeypatch.setattr(witnessing, "PATIENCE_S", 60.0)  # what is late is tested by itself
    monkeypatch.chdir(tmp_path)


class World:
    """A policy that moves with each update, and its engine, which dies of a question that reaches it in its sleep."""

    def __init__(self, fault: str = "", seed: int = 0, precision=torch.float32) -> None:
        torch.manual_seed(seed)
        self.model = TinyLM()
        self.engine = ScriptedEngine(self.model.state_dict(), precision, fault)
        self.awake, self.died, self.made = False, False, []
        score, generate = self.engine.score, self.engine.generate
        self.engine.score = lambda *args, **kwargs: self._alive() or score(*args, **kwargs)
        self.engine.generate = lambda *args, **kwargs: self._alive() or generate(*args, **kwargs)

    def _alive(self) -> None:
        self.died = self.died or not self.awake

    def learn(self, rate: float) -> None:
        with torch.no_grad():
            for each in self.model.parameters():
                each.add_(rate * torch.randn_like(each))

    def push(self) -> None:
        self.engine.push(self.model.state_dict(), len(self.made))
        self.awake = True

    def sample(self) -> None:
        """What all rollouts of a step have in common begins as the witness's questions do not."""
        self.made.append(self.engine.generate(list(range(8, 28)), 4)[0])
        self.awake = False


def driver(world: World, url: str, *, sends: str = "update_weights", metrics=None, config=None, rate: float = 0.02):
    """A run of veRL's shape: of 0.7.1 and newer, which sends weights behind the update, or of 0.6, before samples."""
    metrics = MOVES if metrics is None else metrics

    class RayPPOTrainer:
        def __init__(self) -> None:
            self.config, self.global_steps, self.tokenizer = config or settings(values=False), 0, Tokenizer()
            self.async_rollout_manager = SimpleNamespace(server_addresses=[url.removeprefix("http://")])
            if sends == "update_weights":
                self.checkpoint_manager = SimpleNamespace(update_weights=self._send)
            else:
                self.async_rollout_manager.wake_up = self._send

        def _send(self, _step=None) -> str:
            world.push()
            return "sent"

        def _update_actor(self, _batch):
            world.learn(rate)
            return SimpleNamespace(meta_info={"metrics": metrics})

        def fit(self) -> None:
            newer = sends == "update_weights"
            if newer:
                assert self.checkpoint_manager.update_weights(self.global_steps) == "sent"
            for step in range(1, STEPS + 1):
                self.global_steps = step
                if not newer:
                    self.async_rollout_manager.wake_up()
                world.sample()
                self._update_actor(None)
                if newer:
                    self.checkpoint_manager.update_weights(step)

    verl.drivers(SimpleNamespace(RayPPOTrainer=RayPPOTrainer))
    return RayPPOTrainer()


def ran(world: World, **settings_of) -> None:
    with world.engine.served(settings_of.pop("protocol", "vllm")) as url:
        driver(world, url, **settings_of).fit()
    assert not world.died


def told(capsys) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("doctor: guard: WIT")]


@pytest.mark.parametrize("sends", ["update_weights", "wake_up"])
@pytest.mark.parametrize("protocol", ["vllm", "sglang"])
def test_right_runs_are_quiet_and_compute_the_same(sends: str, protocol: str, capsys) -> None:
    for seed, precision in ((0, torch.float32), (1, torch.bfloat16), (2, torch.float32)):
        world = World(seed=seed, precision=precision)
        ran(world, sends=sends, protocol=protocol)
        assert world.engine.requests > 3 * STEPS
        alone = World(seed=seed, precision=precision)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCTOR_GUARD_WITNESS", "no")
            ran(alone, sends=sends, protocol=protocol)
        assert alone.engine.requests == 0
        assert alone.made == world.made
    assert "WIT" not in capsys.readouterr().err


@pytest.mark.parametrize("sends", ["update_weights", "wake_up"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("never-pushed", "WIT9046: At step 2 the engine answers bit for bit as at step 0, 2 updates ago"),
        ("stops-after", "WIT9046: At step 3 the engine answers bit for bit as at step 1, 2 updates ago"),
        ("prefix-cache", "WIT1146: The engine's prefix cache comes from earlier weights"),
        ("decode-state", "WIT1146: The engine decodes from a stale state"),
    ],
)
def test_a_fault_is_named_without_the_engines_values(sends: str, fault: str, said: str, capsys) -> None:
    world = World(fault)
    ran(world, sends=sends)
    assert capsys.readouterr().err.count(said) == 1
    assert len(world.made) == STEPS


@pytest.mark.parametrize(
    "metrics", [{}, {"actor/lr": 0.0, "actor/grad_norm": 0.5}, {"actor/lr": 1e-3, "actor/grad_norm": [0.0]}]
)
def test_an_engine_that_need_not_change_is_not_accused(metrics, capsys) -> None:
    ran(World("never-pushed"), metrics=metrics)
    assert "WIT" not in capsys.readouterr().err


def test_an_engine_that_does_not_repeat_itself_is_not_accused(capsys) -> None:
    world, source = World("never-pushed"), torch.Generator().manual_seed(0)
    score = world.engine.score
    world.engine.score = lambda *args: [each + 1e-6 * torch.rand(1, generator=source).item() for each in score(*args)]
    ran(world)
    assert "WIT" not in capsys.readouterr().err


def test_a_late_engine_holds_the_run_for_a_moment_and_is_asked_nothing_in_its_sleep(monkeypatch, capsys) -> None:
    monkeypatch.setattr(witnessing, "PATIENCE_S", 0.2)
    world = World()
    with world.engine.served() as url:
        trainer = driver(world, url)
        world.engine.stalls_s = 0.15  # of the questions of a round, the second one is too late
        begun_s = time.monotonic()
        trainer.fit()
        assert time.monotonic() - begun_s < (STEPS + 1) * 1.5
        time.sleep(0.3)
        assert "did not answer in time" in capsys.readouterr().err
        assert len(world.made) == STEPS


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"lora_rank": 8}, "veRL applies the adapter in its own calls only"),
        ({"lora": {"rank": 8}}, "veRL applies the adapter in its own calls only"),
        ({"lora": {"rank": 8, "merge": True}}, ""),
    ],
)
def test_what_cannot_be_asked_is_said_once(config, said: str, capsys) -> None:
    world, whole = World(), settings(values=False)
    whole.actor_rollout_ref["model"] = Settings(config)
    ran(world, config=whole)
    text = capsys.readouterr().err
    assert text.count("not seen whether the engine's caches and weights are renewed") == bool(said)
    assert said in text
    assert bool(world.engine.requests) is not bool(said)


def test_an_engine_that_is_gone_is_said_and_the_run_goes_on(capsys) -> None:
    world = World()
    driver(world, "http://127.0.0.1:9").fit()
    assert len(world.made) == STEPS
    assert capsys.readouterr().err.count("are renewed with each push") == 1


class Actor:
    """The engine in an actor of Ray, which answers as vLLM does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.generate = SimpleNamespace(remote=self._generate)

    def _generate(self, ids, asked):
        if self.world.engine.stalls_s:
            return None
        if getattr(asked, "prompt_logprobs", None) is not None:
            places = [None] + [
                {each: SimpleNamespace(logprob=logp)}
                for each, logp in zip(ids[1:], self.world.engine.score(ids), strict=True)
            ]
            return SimpleNamespace(prompt_logprobs=places)
        taken, places = self.world.engine.generate(ids, asked.max_tokens)
        logps = [{each: SimpleNamespace(logprob=float(row[each]))} for each, row in zip(taken, places, strict=True)]
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=taken, logprobs=logps)])


@pytest.fixture
def ray(monkeypatch):
    """The few names of Ray and vLLM; an answer that never comes is None."""
    cancelled = []

    def get(refs, timeout):
        assert 0.0 < timeout <= witnessing.PATIENCE_S
        if None in refs:
            raise TimeoutError
        return refs

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=get, cancel=cancelled.append))
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(SamplingParams=SimpleNamespace))
    return cancelled


def generating(world: World, actor, *, metrics=None) -> None:
    """A run of OpenRLHF's shape from 0.9.1 on."""
    status = {"actor_lr": 1e-3, "actor_grad_norm": 0.5} if metrics is None else metrics

    class SamplesGenerator:
        def _generate_vllm(self, **_):
            world.awake = True
            return world.sample()

        def generate_samples(self):
            world.awake = True
            return self._generate_vllm()

    class BasePPOTrainer:
        def __init__(self) -> None:
            options = SimpleNamespace(temperature=1.0, top_p=1.0)
            self.args = SimpleNamespace(rollout=options, ckpt=SimpleNamespace(save_steps=float("inf")))
            self.vllm_engines, self.tokenizer = [actor], Tokenizer()

        def ppo_train(self, _steps):
            world.learn(0.02)
            return status

        def train_step(self, step) -> None:
            self.ppo_train(step)
            self.broadcast_to_vllm()

        def broadcast_to_vllm(self) -> None:
            world.push()

        def save_logs_and_checkpoints(self, _step) -> None:
            """Nothing to save."""

    class PPOTrainer(BasePPOTrainer):
        def __init__(self) -> None:
            super().__init__()
            self.samples_generator = SamplesGenerator()

        def fit(self) -> None:
            for step in range(STEPS):
                self.samples_generator.generate_samples()
                self.train_step(step)
                self.save_logs_and_checkpoints(step + 1)

    openrlhf.generators(SimpleNamespace(SamplesGenerator=SamplesGenerator))
    openrlhf.drivers(SimpleNamespace(BasePPOTrainer=BasePPOTrainer))
    PPOTrainer().fit()
    assert not world.died


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("", ""),
        ("never-pushed", "WIT9046: At step 2 the engine answers bit for bit as at step 0, 2 updates ago"),
        ("prefix-cache", "WIT1146: The engine decodes from a stale state"),
        ("decode-state", "WIT1146: The engine decodes from a stale state"),
    ],
)
def test_an_engine_in_an_actor(ray, fault: str, said: str, capsys) -> None:
    world = World(fault)
    generating(world, Actor(world))
    assert len(world.made) == STEPS
    text = capsys.readouterr().err
    assert ("WIT" in text) == bool(said)
    assert not said or text.count(said) == 1
    assert not ray


def test_an_actor_that_does_not_answer_is_given_up(ray, capsys) -> None:
    world = World()
    world.engine.stalls_s = 1.0
    generating(world, Actor(world))
    assert len(world.made) == STEPS
    assert ray  # the requests are cancelled
    assert "did not answer in time" in capsys.readouterr().err


@pytest.mark.usefixtures("ray")
def test_an_actor_of_an_old_release_is_not_asked(capsys) -> None:
    world = World()
    generating(world, SimpleNamespace(add_requests=None))
    assert len(world.made) == STEPS
    assert "from one queue" in capsys.readouterr().err


def test_whether_an_update_moved_the_weights() -> None:
    cases = (({"actor/lr": 1e-6, "actor/grad_norm": [0.0, 0.2]}, True), ({"actor/grad_norm": 1.0}, None), (None, None),
             ({"actor_lr": 1e-6, "actor_grad_norm": float("nan")}, False), ({"actor/lr": [0.0]}, False))  # fmt: skip
    for metrics, moved in cases:
        assert questions.moves(metrics) is moved, metrics
