"""What the guard costs its patient: numbers read from the device, and nothing at all when it is broken itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.run.folder import RunDir
from tests.real.conftest import Nursery

from .conftest import PROGRAMS, Guarded

pytestmark = pytest.mark.process

Run = Callable[..., Guarded]


@pytest.fixture
def counted(nursery: Nursery, model: Path, carried: Path, tmp_path: Path) -> Run:
    """A function that runs a case of `programs/counted.py`, with the guard or without."""

    def run_case(case: str, *, guard: bool = True) -> Guarded:
        folder = tmp_path / f"{case}-{guard}"
        (folder / "run").mkdir(parents=True)
        argv = [str(PROGRAMS / "counted.py"), str(carried) if guard else "none", str(model), case]
        ran = nursery.run(argv, folder)
        assert ran.code == 0, ran.text[-3000:]
        return Guarded(ran, RunDir(folder / "run"))

    return run_case


def test_at_most_one_number_more_is_read_in_a_step(counted: Run) -> None:
    bare, watched = counted("counts", guard=False).result, counted("counts").result
    assert watched["sum"] == bare["sum"]
    more = [after - before for before, after in zip(bare["reads"], watched["reads"], strict=True)]
    assert len(more) == 5
    assert more == [1, 1, 1, 1, 1]
    assert min(bare["reads"]) > 1, "the trainer itself reads more than that"


@pytest.mark.parametrize("case", ["broken-callback", "broken-parts", "broken-writes"])
def test_a_guard_that_fails_everywhere_changes_nothing(case: str, counted: Run) -> None:
    bare, broken = counted(case, guard=False), counted(case)
    assert broken.result == bare.result
    failed = [each["data"]["hook"] for each in broken.events("monitor")]
    assert len(failed) == len(set(failed)) == broken.text.count("is switched off (RuntimeError: a bug of the guard)")
    expected = {
        "broken-callback": {"DoctorCallback.on_pre_optimizer_step", "DoctorCallback.on_step_end"},
        "broken-parts": {"TrainerHooks.before_step", "Guard.start", "Guard.stepped"},
        "broken-writes": set(),
    }
    assert expected[case] <= set(failed)
    if case == "broken-writes":
        assert failed == []
        assert "Traceback" not in broken.text
