"""Two real processes under torch's own DDP and fully_shard: one rank alone sees a NaN, both stop, nobody hangs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.real.runs import run

pytest.importorskip("torch")

pytestmark = pytest.mark.process
PROGRAM = Path(__file__).parent / "programs" / "torch_ranks.py"
WRAPPERS = ["ddp", "scaler", "fsdp", "fsdp1"]
SHARDED = ["fsdp", "fsdp1"]
CASES = [f"{each}:never" for each in WRAPPERS] + [f"{each}:nan@3/1" for each in WRAPPERS]
CASES += [f"{each}:{bad}@3/1" for each in SHARDED for bad in ("activation", "skipped", "byhand")]
CUT_SHORT = [f"{each}:{how}@3/1" for each in SHARDED for how in ("raises", "slow")]
CASES += CUT_SHORT
LEFT = ["ddp:fails@13/1", "ddp:fails@13/0", "fsdp:fails@13/1", "ddp:absent@13/1"]
CASES += LEFT


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What two ranks print of all cases."""
    folder = tmp_path_factory.mktemp("ranks")
    argv = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
        "--rdzv-endpoint", f"127.0.0.1:{free_port()}", str(PROGRAM), *CASES,
    ]  # fmt: skip
    env = {**os.environ, "HOME": str(folder), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    ran = run(argv, folder, env, limit_s=280)
    assert ran.code == 0, ran.text[-4000:]
    return ran.text


@pytest.fixture(scope="module")
def told(output: str) -> dict[str, list[dict[str, Any]]]:
    """What both ranks say of each case."""
    outcomes: dict[str, list[dict[str, Any]]] = {}
    for line in output.splitlines():
        if line.startswith('{"case"'):
            outcome = json.loads(line)
            outcomes.setdefault(outcome["case"], []).append(outcome)
    assert {case: len(each) for case, each in outcomes.items()} == dict.fromkeys(CASES, 2)
    return outcomes


@pytest.mark.parametrize("case", [each for each in CASES if each.endswith("never")])
def test_runs_that_are_well_go_on(told, case):
    for outcome in told[case]:
        assert (outcome["stopped"], outcome["step"], outcome["found"]) == (None, 24, [])


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_both_ranks_stop_in_the_step_itself(told, wrapper):
    for outcome in told[f"{wrapper}:nan@3/1"]:
        assert outcome["stopped"].startswith("GuardStop"), outcome
        assert (outcome["step"], outcome["saved"], outcome["finite"]) == (3, [3], True)
        ((id_, step, headline),) = outcome["found"]
        assert (id_, step) == ("NUM006", 3)
        assert "the model's outputs are finite" in headline


@pytest.mark.parametrize("wrapper", SHARDED)
def test_the_module_is_found_though_each_rank_holds_a_part(told, wrapper):
    for outcome in told[f"{wrapper}:activation@3/1"]:
        assert outcome["found"] == [["NUM006", 3, "`grad_norm` is NaN at step 3, first in module `2`"]], outcome
        assert (outcome["step"], outcome["finite"]) == (3, True)


@pytest.mark.parametrize("wrapper", SHARDED)
def test_after_the_search_the_run_goes_on_as_if_it_had_not_been(told, wrapper):
    """The forward that is run again leaves no whole weights behind, which FSDP would take for current ones."""
    skipped, byhand = ({each["rank"]: each for each in told[f"{wrapper}:{how}@3/1"]} for how in ("skipped", "byhand"))
    for rank in (0, 1):
        assert skipped[rank]["found"][0][2].endswith("first in module `2`")
        assert (skipped[rank]["step"], skipped[rank]["stopped"]) == (24, None)
        assert skipped[rank]["sum"] == byhand[rank]["sum"]
        assert skipped[rank]["loss"] == byhand[rank]["loss"]


@pytest.mark.parametrize("case", CUT_SHORT)
def test_a_search_that_fails_or_is_late_on_one_rank_is_broken_off_by_both(told, case):
    """At the door of the next module, in whose collective the other one would wait for ever."""
    byhand = {each["rank"]: each for each in told[f"{case.partition(':')[0]}:byhand@3/1"]}
    for outcome in told[case]:
        ((id_, step, headline),) = outcome["found"]
        assert (id_, step) == ("NUM006", 3)
        assert "seen before the optimizer's step" in headline, "nobody knows where it was born"
        assert (outcome["step"], outcome["stopped"]) == (24, None)
        assert outcome["sum"] == byhand[outcome["rank"]]["sum"]
        assert outcome["seconds"] < 30


@pytest.mark.parametrize("case", LEFT)
def test_a_rank_that_leaves_in_the_step_of_an_alarm_holds_nobody_up(told, case):
    """The other one gives up waiting, warns and trains on; nothing of the guard meets a collective of the training."""
    for outcome in told[case]:
        assert (outcome["step"], outcome["stopped"], outcome["saved"]) == (24, None, []), outcome
        assert outcome["seconds"] < 30
    stays = next(each for each in told[case] if each["rank"] != int(case[-1]))
    assert stays["found"][0][:2] == ["NUM006", 13]


def test_what_follows_is_said_once_by_each_guard_that_works(output):
    """One rank of each case, and both where none of them has failed."""
    assert output.count("a rank no longer takes part in decisions") == len(LEFT) + 1
