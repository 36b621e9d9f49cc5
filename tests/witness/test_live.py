"""Faults in a real engine are named within three updates, runs that are well hear nothing, and none is disturbed."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from doctor.monitors.witness import witness as module  # noqa: E402

from .loop import Case, run  # noqa: E402

POLICY, CACHE, ADAPTER = "engine-not-the-policy", "engine-cache-outlives-weights", "adapter-not-in-engine"
EPISODES = "rewards-of-failed-episodes"
CUT, TOKENS = "sampled-logps-renormalised", "trained-tokens-not-sampled"

#: case, the problem, and what its words must say
FAULTS = {
    "layer-vllm": (Case("layer"), POLICY, "1 of 2 layers in the engine are not the trainer's: 1"),
    "layer-sglang": (Case("layer", protocol="sglang"), POLICY, "1 of 2 layers in the engine are those of step 0"),
    "head": (Case("head", protocol="sglang"), POLICY, "`lm_head.weight` in the engine is that of step 0"),
    "adapter-dropped": (Case("adapter-dropped", adapter=True), ADAPTER, "without what the adapter has learned"),
    "adapter-kept": (Case("adapter-kept", adapter=True, resumed=True), ADAPTER, "with the adapter of step 0 at step"),
    "prefix-cache": (Case("prefix-cache"), CACHE, "prefix cache comes from earlier weights"),
    "prefix-cache-sglang": (Case("prefix-cache", protocol="sglang"), CACHE, "prefix cache comes from earlier weights"),
    "decode-state": (Case("decode-state"), CACHE, "decodes from a stale state"),
    "experts": (
        Case("experts", experts=True, protocol="sglang"),
        POLICY,
        "experts 0 to 3 of layer 0 are swapped in the engine",
    ),
    "experts-vllm": (Case("experts", experts=True), POLICY, "At step 0 24 of 42 tensors in the engine differ"),
    "top-p": (Case("top-p"), CUT, "renormalized"),
    "separator": (Case("separator"), TOKENS, "lack tokens that the engine had: 2 at 32"),
    "time-outs": (Case("time-outs"), EPISODES, "50% of 8 episodes failed because of the environment: sandbox 4"),
    "old-after-resume": (Case("never-pushed", resumed=True), POLICY, "tensors in the engine differ"),
    "never-pushed": (Case("never-pushed"), POLICY, "the engine samples with the weights of step 0"),
    "stops": (Case("stops-after"), POLICY, "the engine samples with the weights of step 1"),
    "scaled": (Case("scaled"), POLICY, "`lm_head.weight`"),
}


#: one of each kind; the others take as long and prove less
QUICK = {
    "layer-vllm", "layer-sglang", "adapter-dropped", "adapter-kept", "prefix-cache", "decode-state", "experts", "top-p",
    "separator", "time-outs", "old-after-resume",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in FAULTS]
)
def test_a_fault_is_named_within_three_updates(name: str) -> None:
    case, problem, words = FAULTS[name]
    ran = run(case)
    first = ran.findings[0]
    assert first.problem.name == problem, ran.headlines
    assert words in first.words("en").headline
    assert first.where.step <= 3
    assert set(ran.named) == {problem}, "one fault, one problem"
    assert first.words("zh").headline != first.words("en").headline


@pytest.mark.slow
@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_a_short_precision_hides_no_lost_layer(precision: object) -> None:
    assert run(Case("layer", precision=precision, rate=1e-2)).named[:1] == [POLICY]


#: runs that are well: seeds, precisions, lengths, both protocols, adapters, experts, turns, a resumed one
HEALTHY = [
    Case(seed=seed, steps=3 + seed % 3, precision=(torch.float32, torch.bfloat16, torch.float16)[seed % 3],
         protocol=("vllm", "sglang")[seed % 2], answer=(12, 24, 40)[seed % 3], experts=seed % 5 == 1,
         adapter=seed % 5 == 2, resumed=seed % 4 == 3, fault={4: "turns", 5: "turns-ended"}.get(seed % 7, ""),
         rate=(1e-3, 3e-3, 1e-2)[seed % 3], every=1)
    for seed in range(20)
]  # fmt: skip


@pytest.mark.parametrize("at", [0, 1, *(pytest.param(at, marks=pytest.mark.slow) for at in range(2, len(HEALTHY)))])
def test_a_run_that_is_well_hears_nothing(at: int) -> None:
    ran = run(HEALTHY[at])
    assert ran.headlines == []
    assert ran.printed == []
    witness = ran.watched._witness
    assert (witness.late, witness.off) == (0, None)
    assert witness.rounds >= 4


@pytest.mark.parametrize(
    "case",
    [
        Case(seed=3), pytest.param(Case(seed=4, adapter=True), marks=pytest.mark.slow),
        pytest.param(Case(seed=5, protocol="sglang", experts=True), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_seeded_run_is_the_same_with_and_without_the_witness(case: Case) -> None:
    with_it = run(case)
    case.witness = False
    without = run(case)
    assert without.engine.requests == 0
    assert with_it.engine.requests > 0
    assert (with_it.losses, with_it.rewards) == (without.losses, without.rewards)
    assert all(torch.equal(*pair) for pair in zip(with_it.weights, without.weights, strict=True))


def test_a_policy_saves_and_stops() -> None:
    from contextlib import ExitStack

    from doctor.monitors.guard.shield import GuardStop

    from .loop import Loop

    with ExitStack() as stack:
        loop = Loop(Case("scaled", policy={"WIT": "checkpoint"}), stack)
        stack.callback(loop.watched.close)
        loop.push(0)
        with pytest.raises(GuardStop):
            loop.step()
        assert loop.saved == [1]


def test_an_engine_that_is_late_holds_nobody_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    case = Case(steps=1)
    plain = run(Case(steps=1, witness=False))
    from contextlib import ExitStack

    from .loop import Loop

    with ExitStack() as stack:
        loop = Loop(case, stack)
        loop.engine.stalls_s = 5.0
        stack.callback(loop.watched.close)
        for step in range(1, 6):
            loop.step()
            began = time.monotonic()
            loop.push(step)
            assert time.monotonic() - began < 4.0, "the run waited for an answer"
        loop.engine.stalls_s = 0.0
        witness = loop.watched._witness
        assert witness.late == module.MOST_LATE
        assert witness._agrees is None, "nobody knows whether fixed sequences agree"
        assert "did not answer in time" in loop.printed[0]
        assert any("answered too late" in each for each in loop.printed)
        assert loop.guard.findings == []
    assert loop.losses[:1] == plain.losses[:1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["layer-sglang", "adapter-dropped", "top-p", "separator", "time-outs", "stops"])
def test_an_engine_whose_answers_take_longer_than_the_run_waits_still_tells(name: str) -> None:
    """Each request takes so long that no round is whole by the next step: what has come by then is judged."""
    case, problem, _ = FAULTS[name]
    stalls_s = 0.8
    ran = run(replace(case, stalls_s=stalls_s, steps=4))
    assert set(ran.named) == {problem}, ran.headlines


def test_of_an_answer_only_that_counts_which_came_before_the_weights_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow engine is given other weights behind the witness's back: what it says then accuses nobody."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    from contextlib import ExitStack

    from .loop import Loop

    with ExitStack() as stack:
        loop = Loop(Case(rate=3e-2), stack)
        stack.callback(loop.watched.close)
        loop.push(0)
        witness = loop.watched._witness
        witness._opening.wait(5.0)
        loop.engine.stalls_s = 0.3
        for step in range(1, 3):
            loop.step()
            loop.engine.push(loop.model.state_dict(), step)
            time.sleep(1.0)  # by now the rest has come, of weights that nobody was asked about
            loop.watched.pushed()
        loop.engine.stalls_s = 0.0
        assert loop.guard.findings == []


def test_an_engine_that_hangs_from_the_start_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    began = time.monotonic()
    ran = run(Case(steps=4, stalls_s=30.0))
    assert time.monotonic() - began < 15.0, "the run waited for an answer"
    witness = ran.watched._witness
    assert (witness.rounds, witness.late) == (0, module.MOST_LATE)
    assert witness.spent_s < 1.0
    assert ran.printed[0].startswith("doctor: witness: the engine did not answer in time at step 0")
    assert ran.losses == run(Case(steps=4, witness=False)).losses


def test_an_engine_that_is_gone_is_said_once() -> None:
    from doctor.monitors.guard.guard import Guard
    from doctor.monitors.guard.options import Options
    from doctor.monitors.witness.loops import witness_of_loop

    from .tiny_lm import TinyLM

    guard = Guard(Options(), rules=[])
    said: list[str] = []
    guard.alerts.print = said.append  # type: ignore[method-assign]
    for address in ("http://127.0.0.1:9", "nowhere"):
        witness = witness_of_loop(guard, TinyLM(), address)
        assert witness is not None
        assert witness.off
        witness.pushed()
        witness.look()
    assert len(said) == 2
    assert "not seen whether the engine samples from the policy" in said[0]


def test_what_fails_within_the_witness_reaches_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    from doctor.monitors.guard.guard import Guard
    from doctor.monitors.guard.options import Options
    from doctor.monitors.witness.inside import Given
    from doctor.monitors.witness.loops import witness_of_loop

    from .tiny_lm import TinyLM

    def broken(_: object) -> None:
        raise ZeroDivisionError

    witness = witness_of_loop(Guard(Options(), rules=[]), TinyLM(), Given(broken))
    assert witness is not None
    witness.pushed()
    witness.look()
    assert witness.off == "the witness failed"
    assert "the run goes on" in capsys.readouterr().err


def test_questions_wait_while_they_cost_more_than_they_may() -> None:
    ran = run(Case(steps=12, every=1))
    witness = ran.watched._witness
    assert witness.spent_s > module.MOST_SHARE * 1.0
    assert witness.rounds <= module.FIRST_ROUNDS + 1, "such short steps leave no time for more"
