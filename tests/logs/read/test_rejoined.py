"""What a terminal broke at its last column is read whole, and what it did not break stays apart."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from doctor.logs.postmortem import examine
from doctor.logs.read.rejoined import joined
from tests.prepared import prepared_once

PREPARED = prepared_once()
LINES = [
    "2026-01-02 03:04:05,678 INFO loading the checkpoint of the model from /mnt/shared/models/qwen3-8b-instruct-2026/snapshot",
    "2026-01-02 03:04:06,678 INFO the tokenizer was read from /mnt/shared/models/qwen3-8b-instruct-2026/snapshot as well",
    "Traceback (most recent call last):",
    '  File "/home/user/projects/reasoning/scripts/training/train_with_flash_attention.py", line 12, in <module>',
    "    from flash_attn import flash_attn_func",
    '  File "/home/user/envs/main/lib/python3.11/site-packages/flash_attn/flash_attn_interface.py", line 10, in <module>',
    "    import flash_attn_2_cuda",
    (
        "ImportError: /home/user/envs/main/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: "
        "undefined symbol: _ZN3c104cuda9SetDeviceEi"
    ),
]


def broken(lines: list[str], width: int) -> list[str]:
    return [each[at : at + width] for each in lines for at in range(0, len(each), width)]


@pytest.mark.parametrize("width", [72, 80])
def test_signatures_see_the_whole_line_and_quote_its_number_in_the_file(tmp_path: Path, width: int) -> None:
    log = tmp_path / "paste.log"
    written = broken(LINES, width)
    log.write_text("\n".join(written) + "\n")
    finding = examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert finding.problem.id == "FLA003"
    assert finding.where.line is not None
    assert written[finding.where.line - 1].startswith("ImportError: /home/user")


def test_what_is_pasted_to_standard_input_is_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(broken(LINES, 80)).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text), isatty=lambda: False))
    finding = examine(["-"], prepared=PREPARED).diagnosis.outcome.findings[0]
    assert (finding.problem.id, finding.where.line) == ("FLA003", 12)


def test_metrics_behind_a_broken_line_have_their_own_number(tmp_path: Path) -> None:
    steps = [
        f"step:{number} - actor/pg_loss:{'nan' if number > 5 else '0.1'} - actor/grad_norm:0.2" for number in range(9)
    ]
    written = broken([*LINES[:2], *LINES[:2], *steps], 80)
    log = tmp_path / "paste.log"
    log.write_text("\n".join(written) + "\n")
    findings = examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings
    evidence = next(each for each in findings if each.problem.id == "NUM006").evidence[0]
    assert evidence.line is not None
    assert "step:6 " in written[evidence.line - 1]


def test_every_line_comes_back_with_its_number() -> None:
    told = joined(broken(LINES, 80))
    assert told is not None
    assert list(told.lines) == LINES
    assert told.numbers == (1, 3, 5, 6, 8, 9, 11, 12)
    assert told.total == 13


@pytest.mark.parametrize(
    "lines",
    [
        LINES,  # as written
        ["=" * 80] * 9 + ["the end"],
        ["| " + "metric".ljust(76) + " |"] * 9 + ["the end of the table"],
        [f"Traceback (most recent call last): {'x' * 45}"] * 9,
        [f"2026-01-02 03:04:05 {'the same width by chance '.ljust(60, 'x')}"] * 9,
        ["word " * 16] * 9,  # cut between words: where it goes on is not told
        [f"step:{at} - actor/pg_loss:0.1 - actor/entropy:2.0 - actor/grad_norm:{8 + at / 10}" for at in range(1, 10)],
        [  # a program writes lines of one width, and short ones of its own between
            line
            for at in range(10, 30)
            for line in (
                f"worker took batch {at} and gave {at}.25 of them to the trainer, tokens",
                f"went on with {at}",
            )
        ],
        broken(LINES, 300),
        broken(LINES, 80)[:3],
        [],
    ],
)
def test_what_was_not_broken_stays_apart(lines: list[str]) -> None:
    assert joined(lines) is None
