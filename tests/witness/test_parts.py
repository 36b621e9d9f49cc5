"""A policy of which each rank holds a part: judged by the trainer's own forwards, with no collective of the witness."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.run.folder import RunDir
from tests.guard.conftest import Guarded, carried, model, python, shared  # noqa: F401 - fixtures
from tests.ports import free_port
from tests.real.runs import environment
from tests.real.runs import run as start

pytestmark = pytest.mark.process
PROGRAMS = Path(__file__).parent / "programs"

#: two ranks of one program, on cores that others use as well
LIMIT_S = 300

Train = Callable[..., Guarded]


def torchrun() -> list[str]:
    """The arguments that start two ranks."""
    return ["--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}"]


def loop(folder: Path, wrapper: str, fault: str = "none", protocol: str = "vllm", witness: str = "yes") -> Any:
    """What a loop of two ranks left."""
    pytest.importorskip("torch")
    out = folder / f"{wrapper}-{fault}-{protocol}-{witness}.json"
    argv = [
        sys.executable, "-m", "torch.distributed.run", *torchrun(), str(PROGRAMS / "parts_loop.py"), str(out), wrapper,
        fault, protocol, witness,
    ]  # fmt: skip
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(out.read_text())


@pytest.mark.parametrize("wrapper", ["fsdp2", pytest.param("fsdp1", marks=pytest.mark.slow)])
def test_a_loop_that_is_well_is_seen_to_be_and_computes_the_same(wrapper: str, tmp_path: Path) -> None:
    told, without = loop(tmp_path, wrapper), loop(tmp_path, wrapper, witness="no")
    assert told["found"] == []
    assert told["past"] == [0, 1, 2, 3], "each round was heard, and agreed"
    assert (told["off"], told["late"], without["requests"]) == (None, 0, 0)
    assert (told["losses"], told["digest"]) == (without["losses"], without["digest"])


@pytest.mark.parametrize(
    ("wrapper", "fault", "protocol", "words"),
    [
        ("fsdp2", "layer", "sglang", "1 of 2 layers in the engine are those of step 0"),
        pytest.param("fsdp2", "never-pushed", "vllm", "with the weights of step 0", marks=pytest.mark.slow),
        pytest.param("fsdp2", "stops-after", "vllm", "with the weights of step 1", marks=pytest.mark.slow),
        pytest.param("fsdp2", "prefix-cache", "vllm", "prefix cache comes from earlier", marks=pytest.mark.slow),
        pytest.param("fsdp2", "head", "sglang", "`lm_head.weight` in the engine", marks=pytest.mark.slow),
        pytest.param("fsdp1", "never-pushed", "vllm", "with the weights of step 0", marks=pytest.mark.slow),
    ],
)
def test_a_fault_of_a_loop_is_named_within_three_updates(
    wrapper: str, fault: str, protocol: str, words: str, tmp_path: Path
) -> None:
    found = loop(tmp_path, wrapper, fault, protocol)["found"]
    assert words in found[0][2]
    assert found[0][1] <= 3
    assert len({each[0] for each in found}) == 1, "one fault, one problem"


@pytest.mark.slow
def test_forwards_that_drop_activations_prove_nothing_which_is_said(tmp_path: Path) -> None:
    told = loop(tmp_path, "fsdp2", "dropout")
    assert told["found"] == told["past"] == []
    (said,) = [each for each in told["printed"] if "witness: not seen" in each]
    assert said.endswith("the policy that learns: the trainer's forward drops activations by chance")


def test_a_loop_whose_ranks_share_out_sequences_is_known_by_its_group(tmp_path: Path) -> None:
    """A forward of the witness alone would wait for the other rank, and the run with it."""
    pytest.importorskip("torch")
    out = tmp_path / "told.json"
    argv = [sys.executable, "-m", "torch.distributed.run", *torchrun(), str(PROGRAMS / "ulysses_loop.py"), str(out)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(out.read_text())
    assert told["parts"].startswith("each rank takes a part of every sequence")
    assert told["rounds"] >= 3
    assert (told["late"], told["found"]) == (0, 0)


def divided(stack: Path, kind: str, fault: str, folder: Path) -> Any:
    """What a loop left whose policy a real library divides over two ranks."""
    out = folder / f"{kind}-{fault}.json"
    program = PROGRAMS / "divided_loop.py"
    argv = [str(stack.parent / "torchrun"), *torchrun(), str(program), str(out), kind, fault, str(folder / "model")]
    ran = start(argv, folder, environment(stack, folder), limit_s=LIMIT_S)
    assert ran.code == 0, ran.text[-3000:]
    return json.loads(out.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tp", "tp_plan", "ulysses"])
def test_a_policy_that_a_library_divides_holds_nobody_and_is_judged(
    kind: str,
    python: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    told = divided(python, kind, "none", tmp_path)
    assert (told["late"], told["off"], told["found"]) == (0, None, [])
    assert told["rounds"] >= 4
    assert told["parts"]
    found = divided(python, kind, "never-pushed", tmp_path)["found"]
    assert "with the weights of step 0" in found[0]


@pytest.fixture
def trained(
    python: Path,  # noqa: F811
    model: Path,  # noqa: F811
    carried: Path,  # noqa: F811
    tmp_path: Path,
) -> Train:
    """Runs a case of TRL in two ranks, each of which holds a part of the policy."""

    def run_case(case: str, parts: str, *, guard: bool = True) -> Guarded:
        folder = tmp_path / f"{case}-{parts}-{guard}"
        run = RunDir(folder / "run")
        run.path.mkdir(parents=True)
        argv = [
            str(python.parent / "torchrun"), *torchrun(), str(PROGRAMS / "trl_engine.py"),
            str(carried) if guard else "none", str(model), case, "server", parts,
        ]  # fmt: skip
        ran = start(argv, folder, environment(python, folder), limit_s=LIMIT_S)
        assert ran.code == 0, ran.text[-4000:]
        return Guarded(ran, run)

    return run_case


def agreements(run: Guarded) -> list[tuple[int, str]]:
    """Step and state of each round in which both sides scored the same tokens."""
    rounds = [each for each in run.events("monitor") if "agreement" in (each["data"].get("verdicts") or {})]
    return [(each["step"], each["data"]["verdicts"]["agreement"]["state"]) for each in rounds]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("parts", ["fsdp2", "zero3"])
def test_trl_that_is_well_is_seen_to_be_and_computes_the_same(parts: str, trained: Train) -> None:
    run, without = trained("well", parts), trained("well", parts, guard=False)
    assert [each for each in run.alarms if each[0].startswith("WIT")] == []
    assert [step for step, _ in agreements(run)][:4] == [0, 1, 2, 3]
    assert {state for _, state in agreements(run)} == {"holds"}
    assert run.result["parts"]
    for rank in (0, 1):
        told = [(each.ran.folder / f"result-{rank}.json").read_text() for each in (run, without)]
        assert told[0] == told[1]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("parts", ["fsdp2", "zero3"])
def test_old_weights_under_trl_are_named_within_three_updates(parts: str, trained: Train) -> None:
    run = trained("never-pushed", parts)
    told = [(id_, step) for id_, step, _ in run.alarms if id_.startswith("WIT")]
    assert told[0][0] == "WIT9046"
    assert told[0][1] <= 3
    assert "samples with the weights of step 0" in run.text
