"""`doctor.watch` of plain PyTorch loops: what is applied, what is dropped, what is said, and what is left alone."""

from __future__ import annotations

import math

import pytest

import doctor
from doctor.monitors.guard.shield import GuardStop
from doctor.run.folder import RunDir

torch = pytest.importorskip("torch")
nn = torch.nn
nan = math.nan


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)
        self.spoil = None

    def forward(self, x):
        x = self.first(x).relu()
        return self.second(x if self.spoil is None else self.spoil(x))


def steps(model, optimizer, count, *, scaler=None, spoil_at=None, factor_at=None, clip=None):
    """Train; from a step on the model computes something else, or the loss is multiplied. `clip` clips gradients."""
    done = 0
    for step in range(1, count + 1):
        model.spoil = spoil_at[1] if spoil_at and step >= spoil_at[0] else None
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16, enabled=scaler is not None):
            loss = (model(torch.randn(8, 4)) - 1).float().pow(2).mean()
        if factor_at and step >= factor_at[0]:
            loss = loss * factor_at[1]
        if scaler is None:
            loss.backward()
            if clip is not None:
                clip(model.parameters(), 1.0)
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        done = step
    return done


def finite(model):
    return all(bool(each.isfinite().all()) for each in model.parameters())


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


@pytest.fixture
def watched(model, optimizer):
    made = doctor.watch(model, optimizer, save=lambda step: None)
    yield made
    made.close()


def test_a_nan_is_dropped_before_the_step_named_and_the_run_ends(model, optimizer):
    saved = []
    watched = doctor.watch(model, optimizer, save=lambda step: saved.append((step, finite(model))))
    with pytest.raises(GuardStop, match="step 3"):
        steps(model, optimizer, 9, spoil_at=(3, lambda x: x * nan))
    (finding,) = watched.guard.findings
    assert (finding.problem.id, finding.where.step, finding.where.module) == ("NUM006", 3, None)
    assert "first in module `model`" in finding.words().headline  # between its children: the model itself
    assert finite(model)
    assert saved == [(3, True)]
    watched.close()


@pytest.mark.parametrize(("policy", "good"), [("warn", False), ("skip-step", True)])
def test_weaker_policies_let_the_run_go_on(model, optimizer, policy, good):
    watched = doctor.watch(model, optimizer, policy={"NUM006": policy})
    assert steps(model, optimizer, 5, spoil_at=(3, lambda x: x * nan)) == 5
    assert finite(model) is good
    assert watched.guard.findings[0].problem.id == "NUM006"
    watched.close()


def test_a_run_that_is_well_learns_the_same_and_is_read_once_a_step():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Reads(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.count += "_local_scalar_dense" in str(function)
            return function(*args, **(kwargs or {}))

    def train(guarded):
        trained = Model()
        adam = torch.optim.SGD(trained.parameters(), lr=1e-2)
        watched = doctor.watch(trained, adam, save=print) if guarded else None
        torch.manual_seed(1)
        with Reads() as reads:
            steps(trained, adam, 20)
        if watched is not None:
            assert watched.guard.findings == []
            watched.close()
        return [each.detach().clone() for each in trained.parameters()], reads.count

    (plain, without), (guarded, with_guard) = train(False), train(True)
    assert all(torch.equal(a, b) for a, b in zip(plain, guarded, strict=True))
    assert 0 < with_guard - without <= 20


@pytest.fixture
def looked(monkeypatch):
    """Counts how often gradients are looked at one by one."""
    from doctor.monitors.guard import loop

    counted, original = [], loop.worst_gradient
    monkeypatch.setattr(loop, "worst_gradient", lambda gradients: counted.append(1) or original(gradients))
    return counted


@pytest.mark.parametrize("factor", [nan, math.inf])
def test_where_the_loop_clips_its_norm_is_read_and_no_gradient_looked_at(factor, model, optimizer, looked):
    from torch.nn.utils import clip_grad_norm_ as imported_before

    watched = doctor.watch(model, optimizer, save=print)
    with pytest.raises(GuardStop, match="step 6"):
        steps(model, optimizer, 9, factor_at=(6, factor), clip=imported_before)
    assert looked == [1], "behind the alarm alone"
    (finding,) = watched.guard.findings
    assert (finding.problem.id, finding.where.step) == ("NUM006", 6)
    assert finding.words().headline.startswith("`grad_norm` is NaN")  # inf * 0 behind the relu's dead cells
    assert finite(model)
    watched.close()


def test_a_norm_of_infinity_is_told_as_one_though_clipping_has_made_nan_of_it(model, optimizer):
    def clip(parameters, most):
        model.first.weight.grad[0, 0] = math.inf
        torch.nn.utils.clip_grad_norm_(parameters, most)
        assert model.first.weight.grad[0, 0].isnan()

    watched = doctor.watch(model, optimizer, save=print)
    with pytest.raises(GuardStop, match="step 1"):
        steps(model, optimizer, 2, clip=clip)
    assert watched.guard.findings[0].words().headline.startswith("`grad_norm` is inf")
    watched.close()


def test_a_norm_of_finite_gradients_that_overflows_is_no_alarm(model, optimizer):
    watched = doctor.watch(model, optimizer, save=print)
    assert steps(model, optimizer, 3, factor_at=(2, 1e25), clip=torch.nn.utils.clip_grad_norm_) == 3
    assert watched.guard.findings == []
    watched.close()


def test_gradients_behind_or_beside_the_clipping_are_looked_at(model, optimizer, looked):
    """Clipped half of the weights, clipped before the last backward, never clipped again."""
    watched = doctor.watch(model, optimizer, save=print)
    steps(
        model,
        optimizer,
        2,
        clip=lambda parameters, most: torch.nn.utils.clip_grad_norm_(model.first.parameters(), most),
    )
    assert len(looked) == 2

    def clip_and_add(parameters, most):
        torch.nn.utils.clip_grad_norm_(parameters, most)
        model(torch.randn(8, 4)).sum().backward()

    steps(model, optimizer, 2, clip=clip_and_add)
    assert len(looked) == 4
    steps(model, optimizer, 1, clip=torch.nn.utils.clip_grad_norm_)
    assert len(looked) == 4
    steps(model, optimizer, 1)
    assert len(looked) == 5
    watched.close()


def test_nothing_stays_behind(model, optimizer):
    from torch.nn.utils import clip_grad

    scaler = torch.amp.GradScaler("cpu")
    before, functions = dict(vars(scaler)), dict(vars(clip_grad))
    doctor.watch(model, optimizer).close()
    doctor.watch(scaler, model, optimizer).close()
    assert vars(clip_grad) == functions
    assert vars(scaler).keys() == before.keys()
    assert not model._forward_pre_hooks
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks


def test_the_calibration_of_a_scaler_is_no_alarm_though_its_gradients_are_nan(model, optimizer):
    """The scale begins far too high: inf and NaN in the gradients, a finite loss, and steps that the scaler skips."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    watched = doctor.watch(scaler, model, optimizer, save=print)
    steps(model, optimizer, 40, scaler=scaler)
    assert scaler.get_scale() < 2.0**40
    assert {each.severity.value for each in watched.guard.findings} <= {"info"}
    watched.close()


def test_a_nan_loss_is_no_matter_of_the_scale(model, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    watched = doctor.watch(scaler, model, optimizer)
    with pytest.raises(GuardStop, match="step 4"):
        steps(model, optimizer, 9, scaler=scaler, factor_at=(4, nan))
    (finding,) = [each for each in watched.guard.findings if each.problem.id == "NUM006"]
    assert finding.where.step == 4
    assert "outputs are finite, the loss is not" in finding.words().headline
    assert finite(model)
    watched.close()


def test_a_scale_that_collapses_is_flagged_at_the_third_halving(model, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    watched = doctor.watch(scaler, model, optimizer)
    steps(model, optimizer, 14, scaler=scaler, factor_at=(6, 1e30))
    falling = next(each for each in watched.guard.findings if each.problem.id == "NUM005")
    assert falling.severity.value == "error"
    assert scaler.get_scale() < 2.0**10
    assert "halved 3 times" in falling.words().headline
    watched.close()


def test_a_scaler_that_skips_for_ever_is_ended(model, optimizer):
    """It has no minimum and never raises; the policy of that problem saves and stops."""
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    watched = doctor.watch(scaler, model, optimizer)
    with pytest.raises(GuardStop):
        steps(model, optimizer, 60, scaler=scaler, factor_at=(3, 1e38))
    assert "DSP017" in {each.problem.id for each in watched.guard.findings}
    watched.close()


def test_a_fused_optimizer_is_stepped_by_the_scaler_and_skips_itself(model):
    fused = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    watched = doctor.watch(scaler, model, fused, policy={"*": "warn"})
    steps(model, fused, 14, scaler=scaler, factor_at=(6, 1e30))
    assert finite(model)
    assert "NUM005" in {each.problem.id for each in watched.guard.findings}
    assert "NUM006" not in {each.problem.id for each in watched.guard.findings}
    watched.close()


def test_a_bug_of_ours_changes_nothing(model, optimizer, monkeypatch, capsys):
    watched = doctor.watch(model, optimizer, save=print)
    monkeypatch.setattr("doctor.monitors.guard.loop.worst_gradient", lambda tensors: 1 / 0)
    before = [each.detach().clone() for each in model.parameters()]
    assert steps(model, optimizer, 5) == 5
    assert not all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert capsys.readouterr().err.count("ZeroDivisionError") == 1
    watched.close()


def test_metrics_and_exceptions_reach_the_guard(model, optimizer):
    watched = doctor.watch(model, optimizer, save=print)
    told = []
    watched.guard.exception = told.append

    def train():
        with watched:
            steps(model, optimizer, 2)
            watched.observe(loss=0.5, reward=1.0, tensor=torch.ones(1))
            raise KeyError("gone")

    with pytest.raises(KeyError):
        train()
    assert watched.guard.recent[-1] == (2, {"loss": 0.5, "reward": 1.0})
    assert [type(each) for each in told] == [KeyError]
    assert not optimizer._optimizer_step_pre_hooks


def test_what_cannot_be_watched_is_refused_before_the_run(model):
    with pytest.raises(ValueError, match="optimizer"):
        doctor.watch(model)
    with pytest.raises(ValueError, match="`list` is no"):
        doctor.watch([], model)
    with pytest.raises(ValueError, match="policy"):
        doctor.watch(model, torch.optim.SGD(model.parameters()), policy={"NUM006": "explode"})


def test_what_is_not_seen_is_said_at_the_start(optimizer, capsys):
    doctor.watch(optimizer).close()
    text = capsys.readouterr().err
    assert "no model was given" in text
    assert "without saving" in text


def _told(model, capsys, monkeypatch, tmp_path, **watched):
    """What is said of a NaN that ends a loop, and the events of alarm and stop in the run folder."""
    run = RunDir.create("words", tmp_path)
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(run.path))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    handle = doctor.watch(model, optimizer, **watched)
    try:
        steps(model, optimizer, 5, spoil_at=(3, lambda x: x * nan))
        stopped = False
    except GuardStop:
        stopped = True
    handle.close()
    events = run.read_events()
    return capsys.readouterr().err, stopped, [each for each in events if each["kind"] in {"alarm", "stop"}]


def _fails(_step):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("watched", "policy", "save", "said", "unsaid"),
    [
        ({}, "stop", "none", "nothing is saved", "are to be saved"),
        ({"save": lambda _step: None}, "checkpoint", "saved", "the weights are saved", "nothing is saved"),
        ({"save": _fails}, "checkpoint", "failed", "could not be written", "the weights are saved"),
        ({"policy": {"NUM006": "stop"}}, "stop", "none", "nothing is saved", "are to be saved"),
        ({"policy": {"*": "checkpoint"}}, "stop", "none", "nothing is saved", "are to be saved"),
        ({"policy": {"NUM006": "raise"}, "save": _fails}, "raise", "none", "GuardStop", "could not be written"),
    ],
)
def test_all_words_about_a_stop_say_one_thing(
    model, capsys, monkeypatch, tmp_path, watched, policy, save, *, said, unsaid
):
    text, stopped, events = _told(model, capsys, monkeypatch, tmp_path, **watched)
    alarms = [each for each in events if each["kind"] == "alarm"]
    (stop,) = [each for each in events if each["kind"] == "stop"]
    assert stopped
    assert {each["data"]["policy"] for each in alarms} == {policy}
    assert (stop["id"], stop["data"]) == ("NUM006", {"policy": policy, "save": save})
    assert said in text
    assert unsaid not in text
    assert ("the run goes on" in text) is False


@pytest.mark.parametrize("policy", ["checkpoint", "stop", "raise"])
def test_where_ranks_may_step_apart_no_alarm_promises_a_stop(model, capsys, monkeypatch, tmp_path, policy):
    from doctor.monitors.guard import loop

    monkeypatch.setattr(loop, "distributed", object)
    text, stopped, events = _told(
        model, capsys, monkeypatch, tmp_path, save=lambda _step: None, policy={"NUM006": policy}
    )
    assert not stopped
    assert {(each["kind"], each["data"]["policy"]) for each in events} == {("alarm", "skip-step")}
    assert "(policy skip-step)" in text
    assert "does not stop the run" in text
    assert "run stops" not in text
    assert finite(model)
