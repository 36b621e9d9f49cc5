"""Each rule of the order of causes by itself, with problems made for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.catalogue.index import load
from doctor.logs.failures.fates import Fate, Fates, WitnessLine
from doctor.logs.failures.quotes import Quotes
from doctor.logs.postmortem import Prepared, examine, prepare

#: id, role and confidence of a finding
Told = tuple[str, str, str]
HEADER = "Traceback (most recent call last):\n"
STEP = "{'loss': '0.1', 'grad_norm': '0.5', 'epoch': '1'}\n"
KILLED = (
    "E1120 15:06:52.903000 7008 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) "
    "local_rank: 1 (pid: 7015) of binary: /home/user/venv/bin/python\n"
)
#: id -> the words by which it shows, and what its signature declares besides
PROBLEMS = {
    "CUD901": ("alpha broke", ""),
    "CUD902": ("beta broke", ""),
    "CUD903": ("gamma broke", ""),
    "CUD904": ("delta was lost", 'symptom_of = ["*"]'),
    "CUD905": ("epsilon follows", 'symptom_of = ["CUD901"]'),
    "CUD906": ("zeta is slow", 'kind = "warning"'),
    "CUD907": ("eta helps", 'contributes_to = ["CUD901"]'),
}


def _toml(id_: str, words: str, more: str) -> str:
    name = words.split(maxsplit=1)[0]
    return f"""
id = "{id_}"
name = "made-up-{name}"
severity = "error"
since = "0.1"
confidence = "{"likely" if id_ == "CUD903" else "confirmed"}"
[manual]
title = "It is made up."
meaning = "a"
effect = "b"
remedy = "c"
detection = "d"
references = ["https://example.org/a"]
[[signature]]
pattern = '^(?:\\w{{1,20}}Error: )?{words}'
{more}
[message.log]
headline = "{name}"
explanation = "Bad."
remedy = "Mend it."
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A catalogue of the made-up problems, and of our words for what is not known."""
    root = tmp_path_factory.mktemp("orders")
    (root / "cuda" / "zh").mkdir(parents=True)
    for id_, (words, more) in PROBLEMS.items():
        (root / "cuda" / f"made_up_{words.split()[0]}.toml").write_text(_toml(id_, words, more))
        (root / "cuda" / "zh" / f"made_up_{words.split()[0]}.toml").write_text(
            '[log]\nheadline = "坏"\nexplanation = "坏。"\nremedy = "修。"\n'
        )
    own = load({"orders": root})
    return prepare([*own, *(each for each in load() if each.area == "unknown")])


@pytest.fixture
def told(tmp_path: Path, prepared: Prepared) -> Callable[[str], list[Told]]:
    """What is told of a log, in its order."""

    def judge(text: str) -> list[Told]:
        (tmp_path / "train.log").write_text(text)
        findings = examine([str(tmp_path / "train.log")], prepared=prepared).diagnosis.outcome.findings
        return [(each.problem.id, each.role.value, each.confidence.value) for each in findings]

    return judge


def record(level: str, words: str) -> str:
    return f"2026-11-20 10:00:00,123 - parts - {level} - {words}\n"


def raised(words: str, *, rank: int | None = None, behind: str = "", kind: str = "MadeUpError") -> str:
    text = f'{HEADER}  File "/home/u/proj/train.py", line 80, in <module>\n    main()\n{kind}: {words}\n{behind}'
    return text if rank is None else "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


def _caught(words: str) -> str:
    """Not at the top of its program, which may have gone on."""
    return raised(words).replace("<module>", "fetch")


UNKNOWN, FIRST = ("UNK001", "cause", "likely"), ("CUD901", "cause", "confirmed")
LIKELY_FIRST, BESIDE = ("CUD901", "cause", "likely"), ("CUD901", "contributing", "likely")
BREAKS_OFF, NO_WORD = ("UNK003", "cause", "likely"), ("UNK002", "cause", "likely")
ALPHA = record("ERROR", "alpha broke")

NOTHING_FAILED = {
    "a warning ends nothing": (record("WARNING", "alpha broke"), [BREAKS_OFF]),
    "nor does a note": (record("INFO", "alpha broke"), [BREAKS_OFF]),
    "nor what somebody quotes": (record("ERROR", "the user wrote: 'alpha broke'"), [BREAKS_OFF]),
    "an error may have": (ALPHA, [FIRST]),
    "of a warning and an error the error counts": (record("WARNING", "alpha broke") + ALPHA, [FIRST]),
    "one step shows that it may be over": (ALPHA + STEP, [LIKELY_FIRST]),
    "four steps, too": (ALPHA + STEP * 4, [LIKELY_FIRST]),
    "five steps show that it is": (ALPHA + STEP * 5, [BREAKS_OFF]),
    "the last of several counts": (ALPHA + STEP * 5 + ALPHA, [FIRST]),
    "what is slow is no error": ("zeta is slow\n" + STEP * 3, [("CUD906", "cause", "confirmed")]),
    "what is proven comes before what is likely": (
        record("ERROR", "gamma broke") + ALPHA, [FIRST, ("CUD903", "contributing", "likely")],
    ),
}  # fmt: skip
IN_ONE_PROCESS = {
    "the failure's own words count more than a line before it": (
        ALPHA + raised("beta broke"), [("CUD902", "cause", "confirmed"), BESIDE],
    ),
    "also where they make it only likely": (ALPHA + raised("gamma broke"), [("CUD903", "cause", "likely"), BESIDE]),
    "a warning before it is not told": (
        record("WARNING", "alpha broke") + raised("beta broke"), [("CUD902", "cause", "confirmed")],
    ),
    "a line behind it is not the cause": (
        raised("alpha broke") + record("ERROR", "beta broke"), [FIRST, ("CUD902", "contributing", "confirmed")],
    ),
    "a line before an unknown failure explains it, perhaps": (
        ALPHA + raised("nobody knows"), [LIKELY_FIRST, ("UNK001", "symptom", "likely")],
    ),
    "what is slow explains no failure": (
        "zeta is slow\n" + raised("nobody knows"), [UNKNOWN, ("CUD906", "contributing", "confirmed")],
    ),
    "unless the failure says it": (raised("zeta is slow"), [("CUD906", "cause", "confirmed")]),
    "what was got over is not the cause": (_caught("alpha broke") + STEP * 2 + raised("nobody knows"), [UNKNOWN, BESIDE]),
    "of two failures the first is likely": (
        raised("alpha broke", rank=0) + raised("beta broke", rank=0, kind="OtherError"),
        [LIKELY_FIRST, ("CUD902", "contributing", "confirmed")],
    ),
    "words within 25 lines behind a failure are its own": (
        raised("nobody knows") + record("INFO", "so it is") * 24 + "alpha broke\n", [FIRST],
    ),
    "those farther away are not": (
        raised("nobody knows") + record("INFO", "so it is") * 25 + "alpha broke\n", [UNKNOWN, BESIDE],
    ),
    "nor those of another process": (raised("nobody knows", rank=0) + "[rank1]: alpha broke\n", [UNKNOWN, BESIDE]),
    "nor those without its label": (raised("nobody knows", rank=0) + "alpha broke\n", [UNKNOWN, BESIDE]),
    "but those with it": (raised("nobody knows", rank=0) + "[rank0]: alpha broke\n", [FIRST]),
    "or without where it has no words itself": (
        raised("nobody knows", rank=0).replace(": nobody knows", "") + "alpha broke\n", [FIRST],
    ),
}  # fmt: skip
SEVERAL = {
    "what another rank says of the same kind explains the first": (
        raised("nobody knows", rank=0) + raised("alpha broke", rank=1), [FIRST, ("UNK001", "symptom", "likely")],
    ),
    "of another kind it does not": (
        raised("nobody knows", rank=0, kind="OddError") + raised("alpha broke", rank=1),
        [UNKNOWN, ("CUD901", "contributing", "confirmed")],
    ),
    "nor of a kind that says nothing": (
        raised("nobody knows", rank=0, kind="RuntimeError") + raised("alpha broke", rank=1, kind="RuntimeError"),
        [UNKNOWN, ("CUD901", "contributing", "confirmed")],
    ),
    "who lost another is the symptom": (
        raised("delta was lost", rank=0) + raised("alpha broke", rank=1), [FIRST, ("CUD904", "symptom", "confirmed")],
    ),
    "of an unknown failure, too": (
        raised("delta was lost", rank=0) + raised("nobody knows", rank=1), [UNKNOWN, ("CUD904", "symptom", "confirmed")],
    ),
    "where nobody says anything better it is the cause": (
        raised("delta was lost", rank=0), [("CUD904", "cause", "confirmed")],
    ),
    "an end without a word is better": (
        raised("delta was lost", rank=0) + KILLED, [NO_WORD, ("CUD904", "symptom", "confirmed")],
    ),
    "the end of the rank that spoke is not": (
        raised("delta was lost", rank=1) + KILLED, [("CUD904", "cause", "confirmed")],
    ),
    "an end alone has no word": (KILLED, [NO_WORD]),
    "what follows from another is its symptom": (
        raised("epsilon follows", rank=0) + raised("alpha broke", rank=1), [FIRST, ("CUD905", "symptom", "confirmed")],
    ),
    "also where that is a line": (ALPHA + raised("epsilon follows"), [FIRST, ("CUD905", "symptom", "confirmed")]),
    "alone it is the cause": (raised("epsilon follows", rank=0), [("CUD905", "cause", "confirmed")]),
    "what helps another is told beside it": (
        record("ERROR", "eta helps") + raised("alpha broke"), [FIRST, ("CUD907", "contributing", "confirmed")],
    ),
    "unless the first failure says it": (
        raised("eta helps", rank=0) + raised("alpha broke", rank=1),
        [("CUD907", "cause", "confirmed"), ("CUD901", "contributing", "confirmed")],
    ),
}  # fmt: skip
ALL = {**NOTHING_FAILED, **IN_ONE_PROCESS, **SEVERAL}


@pytest.mark.parametrize(("text", "expected"), ALL.values(), ids=ALL)
def test_a_rule_of_the_order(told: Callable[[str], list[Told]], text: str, expected: list[Told]) -> None:
    assert told(text) == expected


def test_what_a_healthy_run_got_over_is_no_chain_of_consequences(tmp_path: Path, prepared: Prepared) -> None:
    log = tmp_path / "train.log"
    log.write_text(STEP + _caught("nobody knows") + STEP * 5 + "{'train_runtime': '12.5', 'train_loss': '0.1'}\n")
    well = examine([str(log)], prepared=prepared)
    assert (well.ranked.findings, well.ranked.chain) == ((), ())
    log.write_text(STEP + raised("delta was lost", rank=0) + raised("nobody knows", rank=1))
    assert [(each.role, each.rank) for each in examine([str(log)], prepared=prepared).ranked.chain] == [
        ("symptom", 0), ("cause", 1),
    ]  # fmt: skip


LABELLED = raised("nobody knows", rank=0).replace("<module>", "fetch")
GOES_ON = "[rank0]: " + record("INFO", "it goes on")
ENDED, WENT_ON = (Fate.ENDED, "ended"), (Fate.CAUGHT, "went on")


@pytest.mark.parametrize(
    ("text", "fate", "line"),
    [
        (_caught("nobody knows") + STEP * 5, WENT_ON, 5),  # without labels the first step is of the same process
        (LABELLED + STEP * 5, WENT_ON, 9),
        (LABELLED + STEP * 4, ENDED, 4),
        (LABELLED + STEP + GOES_ON * 29, ENDED, 4),
        (LABELLED + STEP + GOES_ON * 30, WENT_ON, 5),
        (LABELLED + GOES_ON * 31, ENDED, 4),
    ],
)
def test_what_was_got_over_and_the_line_that_shows_it(
    tmp_path: Path, prepared: Prepared, text: str, fate: tuple[Fate, str], line: int
) -> None:
    (tmp_path / "train.log").write_text(text)
    case = examine([str(tmp_path / "train.log")], prepared=prepared).case
    (judged,) = Fates(case, Quotes(case, []), {}).judged
    assert ((judged.fate, judged.row), judged.witness) == (fate, WitnessLine(0, line))


def test_nothing_wrong_is_said_of_no_metric_that_a_finding_speaks_of(tmp_path: Path) -> None:
    # a reward that falls on a line, without scatter: a note, and no reason for the end that is missing
    falling = {"loss": 0.0, "grad_norm": 0.5, "kl": 0.0, "reward_std": 0.2}
    log = tmp_path / "train.log"
    log.write_text("".join(f"{ {**falling, 'reward': round(0.6 - 0.005 * step, 4)} }\n" for step in range(100)))
    findings = examine((str(log),)).diagnosis.outcome.findings
    silence = next(each for each in findings if each.problem.id == "UNK003").words().explanation
    fallen = next(each for each in findings if each.problem.id == "RLX009").words().explanation
    assert "`grad_norm`" in silence
    assert "`reward`" not in silence
    assert "more than 100 standard errors" in fallen
