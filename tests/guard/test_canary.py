"""The rollout engine has the trained weights, or it is said; a server that dies is noticed."""

from __future__ import annotations

import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from doctor.monitors.guard.canary import canary_of, server_of, server_probe
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options

torch = pytest.importorskip("torch")
nn = torch.nn


class Engine(nn.Module):
    """A vLLM model stands here: in half precision, with q, k and v fused into one weight, and `load_weights`."""

    def __init__(self):
        super().__init__()
        self.qkv_proj = nn.Linear(8, 24, bias=False)
        self.o_proj, self.norm = nn.Linear(8, 8, bias=False), nn.LayerNorm(8)
        self.to(torch.bfloat16)
        self.loads = True

    def load_weights(self, weights):
        own = dict(self.named_parameters())
        for name, tensor in weights:
            if self.loads and name in own:
                own[name].data.copy_(tensor)


class LLM:
    """What TRL holds: the way down to the module, and generation, which may reload from disk as sleep mode did."""

    def __init__(self):
        self.module = Engine()
        self.on_disk = {name: each.detach().clone() for name, each in self.module.named_parameters()}
        self.reloads = False
        runner = SimpleNamespace(model_runner=SimpleNamespace(model=self.module))
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=runner))

    def generate(self, prompts):
        if self.reloads:
            for name, each in self.module.named_parameters():
                each.data.copy_(self.on_disk[name])
        return [f"{each}!" for each in prompts]


class Trainer:
    """A trainer that pushes its weights before it generates, unless told otherwise."""

    def __init__(self, llm):
        self.vllm_generation = SimpleNamespace(llm=llm)
        self.state = SimpleNamespace(global_step=0)
        torch.manual_seed(0)
        self.weights = {
            "q_proj.weight": torch.randn(8, 8), "o_proj.weight": torch.randn(8, 8), "norm.weight": torch.ones(8)
        }  # fmt: skip

    def push(self):
        for name, tensor in self.weights.items():
            self.vllm_generation.llm.module.load_weights([(name, tensor)])

    def step(self, size=0.1):
        for tensor in self.weights.values():
            tensor.add_(torch.randn_like(tensor) * size)
        self.state.global_step += 1


@pytest.fixture
def llm():
    return LLM()


@pytest.fixture
def trainer(llm):
    return Trainer(llm)


@pytest.fixture
def guard():
    return Guard(Options(), rules=[])


@pytest.fixture
def canary(trainer, guard):
    made = canary_of(trainer, guard)
    assert made is not None
    return made


def rollout(trainer, guard, *, push=True):
    guard.step = trainer.state.global_step + 1
    if push:
        trainer.push()
    assert trainer.vllm_generation.llm.generate(["hello"]) == ["hello!"]


def ids(guard):
    return [each.problem.id for each in guard.findings]


def test_weights_that_arrive_are_proven_once_they_moved(canary, trainer, guard):
    rollout(trainer, guard)
    assert (canary.verdict.state, canary.verdict.compared) == ("unproven", 2)  # q_proj is fused in the engine
    for _ in range(3):
        trainer.step()
        rollout(trainer, guard)
        assert canary.verdict.state == "same"
    assert ids(guard) == []


def test_weights_that_move_less_than_the_engine_can_hold_prove_nothing(canary, trainer, guard):
    rollout(trainer, guard)
    trainer.step(size=1e-9)
    rollout(trainer, guard)
    assert canary.verdict.state == "unproven"
    assert "did not move" in canary.verdict.reason
    assert ids(guard) == []


@pytest.mark.usefixtures("canary")
def test_a_reload_from_disk_behind_the_push_is_found_in_the_first_generation(trainer, guard, llm):
    """Sleep mode of TRL 0.28 to 1.9.2."""
    llm.reloads = True
    rollout(trainer, guard)
    trainer.step()
    rollout(trainer, guard)
    (finding,) = guard.findings
    assert (finding.problem.id, finding.where.step, finding.severity.value) == ("RLX021", 1, "error")
    assert "o_proj.weight" in finding.evidence[0].text
    assert "1 of 2" in finding.words().headline  # the norm of an untrained model is what lies on the disk


def test_a_push_that_writes_nothing_is_found(canary, trainer, guard, llm):
    llm.module.loads = False
    rollout(trainer, guard)
    assert ids(guard) == ["RLX021"]
    llm.module.loads = True
    trainer.step()
    rollout(trainer, guard)
    assert canary.verdict.state == "same"
    llm.module.loads = False
    trainer.step()
    rollout(trainer, guard)
    assert ids(guard) == ["RLX021", "RLX021"]  # told again, for it had been well


@pytest.mark.usefixtures("canary")
def test_a_generation_without_a_push_is_told_only_when_a_step_was_made_since(trainer, guard):
    rollout(trainer, guard)
    guard.step = 2  # the next step begins, an evaluation has pushed already: nothing was made in between
    rollout(trainer, guard, push=False)
    assert ids(guard) == []
    trainer.step()
    trainer.step()
    rollout(trainer, guard, push=False)
    (finding,) = guard.findings
    assert finding.words().headline == "The completions of step 3 use the weights of step 1"


@pytest.fixture
def alike(trainer, llm):
    """The trained model, with the weights that the engine holds too and one that no engine has."""
    trainer.model = Engine().float()
    trainer.model.load_state_dict(llm.module.state_dict())
    trainer.model.value_head = nn.Linear(8, 1)
    return trainer.model


def moved(module):
    with torch.no_grad():
        module.o_proj.weight.add_(1)


def test_an_engine_that_is_never_fed_is_found_when_the_trained_weights_move(canary, trainer, guard, alike):
    rollout(trainer, guard, push=False)
    assert (canary.verdict.state, canary.verdict.compared) == ("unproven", 4)
    trainer.state.global_step += 1  # a step whose learning rate is 0 yet
    rollout(trainer, guard, push=False)
    assert ids(guard) == []
    moved(alike)
    trainer.state.global_step += 1
    rollout(trainer, guard, push=False)
    rollout(trainer, guard, push=False)
    (finding,) = guard.findings
    assert finding.words().headline == "The completions of step 3 use the weights of step 1"
    assert finding.evidence[0].text.endswith("not in vLLM: o_proj.weight")
    rollout(trainer, guard)
    assert canary._push_step == 2


@pytest.mark.parametrize("late", [False, True])
def test_an_engine_that_is_fed_by_another_way_is_not_accused(canary, trainer, guard, llm, alike, late):
    """Also where it lags behind by a step, as asynchronous trainers mean it."""
    rollout(trainer, guard, push=False)
    for _ in range(3):
        if late:
            llm.module.o_proj.weight.data.copy_(alike.o_proj.weight)
            llm.module.norm.weight.data.add_(1)
        moved(alike)
        if not late:
            llm.module.o_proj.weight.data.copy_(alike.o_proj.weight)
        trainer.state.global_step += 1
        rollout(trainer, guard, push=False)
        assert canary.verdict.state == "unproven"
    assert ids(guard) == []


def test_weights_that_differed_from_the_start_prove_nothing(canary, trainer, guard, alike):
    moved(alike)
    rollout(trainer, guard, push=False)
    assert canary.verdict.compared == 3
    moved(alike)
    trainer.state.global_step += 1
    rollout(trainer, guard, push=False)
    assert ids(guard) == []


def test_weights_of_a_stream_and_new_tensors_in_the_engine(canary, trainer, guard, llm):
    """veRL and newer TRL hand over an iterator; some engines make a new tensor after loading."""
    llm.module.load_weights(iter(trainer.weights.items()))
    llm.module.o_proj.weight = nn.Parameter(trainer.weights["o_proj.weight"].to(torch.bfloat16))
    llm.generate([])
    assert (canary.verdict.state, canary.verdict.compared) == ("unproven", 2)
    assert ids(guard) == []


@pytest.mark.usefixtures("canary")
def test_a_nan_that_was_pushed_is_not_a_stale_weight(trainer, guard):
    trainer.weights["norm.weight"][0] = math.nan
    rollout(trainer, guard)
    assert ids(guard) == []


def test_nothing_stays_behind_and_a_bug_of_ours_changes_nothing(canary, trainer, guard, llm, capsys):
    canary._read = lambda: 1 / 0
    rollout(trainer, guard)
    rollout(trainer, guard)
    assert capsys.readouterr().err.count("ZeroDivisionError") == 1
    canary.close()
    assert "load_weights" not in vars(llm.module)
    assert "generate" not in vars(llm)


def test_a_trainer_without_an_engine_in_its_process_has_no_canary(guard):
    assert canary_of(SimpleNamespace(vllm_generation=SimpleNamespace(vllm_client=None)), guard) is None
    assert canary_of(SimpleNamespace(llm=SimpleNamespace(llm_engine=SimpleNamespace())), guard) is None


@pytest.fixture
def server():
    """A server whose health is `status`, or which takes a connection and says nothing."""

    class Health(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            if self.server.silent:
                self.server.released.wait(5)
                return
            self.send_response(self.server.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Health)
    made.status, made.silent, made.asked, made.released = 200, False, [], threading.Event()
    made.url = f"http://127.0.0.1:{made.server_port}"
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.released.set()
    made.shutdown()
    made.server_close()
    thread.join()


def probed(url):
    return server_probe(url, asked=2, pause_s=0.01, answer_s=0.3)()


@pytest.mark.parametrize("status", [200, 307, 404])
def test_a_server_that_answers_lives(server, status):
    server.status = status
    assert probed(server.url) is None
    assert server.asked == ["/health"]


def test_a_dead_engine_says_so_itself(server):
    server.status = 503
    finding = probed(server.url)
    assert (finding.problem.id, finding.confidence.value) == ("VLL071", "confirmed")
    assert "HTTP 503" in finding.words().headline


def test_a_silent_server_is_only_likely_to_hang(server):
    server.silent = True
    finding = probed(server.url)
    assert (finding.problem.id, finding.confidence.value) == ("VLL071", "likely")
    assert "has not answered" in finding.words().headline


def test_a_server_that_is_gone():
    finding = probed("http://127.0.0.1:9")
    assert (finding.problem.id, finding.confidence.value) == ("VLL071", "confirmed")
    assert "is gone" in finding.words().headline
    assert "已经退出" in finding.words("zh").headline


def test_what_is_no_address_is_not_judged():
    assert probed("unix:/run/vllm") is None
    assert probed("http://no-such-host.invalid:1") is None


def test_the_address_is_the_trainers_own():
    client = SimpleNamespace(base_url="http://10.0.0.1:8000/")
    assert server_of(SimpleNamespace(vllm_generation=SimpleNamespace(vllm_client=client))) == "http://10.0.0.1:8000"
    assert server_of(SimpleNamespace(vllm_client=client)) == "http://10.0.0.1:8000"
    assert server_of(SimpleNamespace()) is None
