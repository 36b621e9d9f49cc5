"""Two engines of DeepSpeed in one log are not taken for one whose loss scale falls."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.metrics.names import parse_row
from doctor.logs.metrics.scalers import Scalers, is_of_scaler
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()


def halved(second: float, before: int, after: int) -> str:
    minute, rest = divmod(second, 60)
    stamp = f"2023-04-18 08:{int(minute):02}:{int(rest):02},{round(rest % 1 * 1000):03}"
    return (
        f"[{stamp}] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
        f"Attempted loss scale: {before}, reducing to {after}"
    )


def steps(second: int, step: int, skipped: int) -> str:
    return (
        f"[2023-04-18 08:{second // 60:02}:{second % 60:02},035] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, "
        f"skipped={skipped}, lr=[5.79e-07, 5.79e-07], mom=[(0.9, 0.95), (0.9, 0.95)]"
    )


def ppo(step: int) -> list[str]:
    return [
        f"epoch: 0|step: {step}|ppo_ep: 1|act_loss: 0.25|cri_loss: 0.12|unsuper_loss: 0.0",
        "average reward score: 0.5",
        "-------------------------------------------------------------------------------------",
        "|E2E latency=3.73s |Gather latency=0.00s (0.00%) |Generate time=2.78s (74.61%) |Training time=0.74s (19.84%)",
    ]


def both(before: int, second: int, step: int) -> list[str]:
    after = before // 2
    return [halved(second + 0.1, before, after), halved(second + 0.3, before, after), *ppo(step)]


#: step 3 of DeepSpeed-Chat, an actor and a critic, shortened:
#: https://github.com/microsoft/DeepSpeedExamples/tree/master/applications/DeepSpeed-Chat/training/step3_rlhf_finetuning
TWO = [
    *both(65536, 0, 0), *both(32768, 4, 1), *ppo(2), *ppo(3), halved(20.5, 16384, 8192), *ppo(5),
    steps(36, 10, 4), "|E2E latency=3.8s", steps(36, 10, 3), *ppo(10), halved(39.9, 8192, 4096), *ppo(11),
    halved(81.5, 16384, 8192), *ppo(20), steps(98, 20, 5), *ppo(21), halved(218.3, 4096, 2048), *ppo(50),
    halved(347.0, 8192, 4096), *ppo(85), halved(365.5, 2048, 1024), *ppo(90), steps(900, 470, 7),
    "[2023-04-18 09:18:22,605] [INFO] [launch.py:460:main] Process 47963 exits successfully.",
]  # fmt: skip
#: one engine, whose scale falls just so in fact
ONE = [
    *(line for at in range(4) for line in (steps(4 * at, 10 * at + 10, 0), *ppo(at))),
    *(line for at in range(8) for line in (halved(30 + 4 * at, 65536 >> at, 32768 >> at), *ppo(at + 40))),
]


def findings(tmp_path: Path, lines: list[str]) -> list[str]:
    log = tmp_path / "training.log"
    log.write_text("\n".join(lines) + "\n")
    return [each.problem.id for each in examine([str(log)], prepared=PREPARED).ranked.findings]


def test_the_scales_of_actor_and_critic_are_no_fall(tmp_path: Path) -> None:
    assert findings(tmp_path, TWO) == []


@pytest.mark.parametrize("copies", [1, 2])
def test_a_fall_of_one_engine_is_found_however_often_each_line_is_written(tmp_path: Path, copies: int) -> None:
    assert "NUM005" in findings(tmp_path, [line for line in ONE for _ in range(copies)])


def counted(lines: list[str | None]) -> list[bool]:
    """Which lines count; None stands for one of another kind."""
    scalers, told = Scalers(), []
    for number, line in enumerate(lines):
        row = parse_row(line.encode()) if line is not None else None
        if row is not None and is_of_scaler(row.names):
            told.append(scalers.counts(row, None, number, None))
    return told


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        # a scale that grew for 1000 steps may be halved from the same value again
        ([halved(0, 4096, 2048), None, None, None, None, halved(9, 4096, 2048)], [True, True]),
        ([halved(0, 4096, 2048), None, halved(9, 4096, 2048), None, halved(9, 2048, 1024)], [True, False, True]),
        ([halved(0, 8192, 4096), None, None, halved(9, 2048, 1024), None, halved(9, 1024, 512)], [True, True, True]),
        (
            [halved(0, 8192, 4096), halved(9, 2048, 1024), halved(20, 4096, 2048), None, halved(30, 1024, 512)],
            [True, True, False, False],
        ),
        ([steps(0, 10, 4), steps(0, 10, 3), halved(9, 2048, 1024)], [True, False, False]),
        # a run that was started again tells the same step again, far from the first time
        ([steps(0, 10, 4), None, None, None, None, steps(0, 10, 3), halved(9, 2048, 1024)], [True, True, True]),
        ([steps(0, 10, 4), steps(0, 10, 4), halved(9, 2048, 1024)], [True, True, True]),
        # once its steps go back it is another run, however many engines the one before had
        (
            [steps(0, 10, 4), steps(0, 10, 3), halved(9, 2048, 1024), steps(9, 5, 0), halved(9, 512, 256)],
            [True, False, False, True, True],
        ),
    ],
)
def test_what_shows_a_second_engine(lines: list[str | None], wanted: list[bool]) -> None:
    assert counted(lines) == wanted


def resumed(begin: int, halvings: int, *, told: bool) -> list[str]:
    """A run that ends after three early halvings, and one in the same file that begins with another scale."""
    first = [
        *(steps(4 * at, 10 * at + 10, 0) for at in range(4)),
        *(halved(20 + at, 65536 >> at, 32768 >> at) for at in (0, 1)),
    ]
    second = [
        line for at in range(halvings) for line in (halved(110 + 4 * at, begin >> at, begin >> at + 1), *ppo(at + 40))
    ]
    between = [steps(100, 20, 0), steps(104, 30, 0), steps(106, 40, 0)] if told else [*ppo(50), *ppo(60)]
    return [*first, *ppo(40), "Killed", "loading the checkpoint", *between, *second]


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("begin", [1024, 4096])
def test_a_run_that_goes_on_with_a_lower_scale_has_not_halved_it(tmp_path: Path, begin: int, *, told: bool) -> None:
    assert "NUM005" not in findings(tmp_path, resumed(begin, 1, told=told))


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("begin", [1024, 4096, 65536])
def test_the_fall_of_a_run_that_goes_on_is_found(tmp_path: Path, begin: int, *, told: bool) -> None:
    lines = resumed(begin, 10, told=told)
    log = tmp_path / "training.log"
    log.write_text("\n".join(lines) + "\n")
    found = [each for each in examine([str(log)], prepared=PREPARED).ranked.findings if each.problem.id == "NUM005"]
    assert [each.values["count"] <= 10 for each in found] == [True]
