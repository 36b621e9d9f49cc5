"""Excerpts of public threads on sampler and learner: what ruined a run is named, healthy twins are not.

They were drawn and written down before the doctor saw them; `threads/README.md` tells of the first run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.problem import INFO
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

FOLDER = Path(__file__).parent / "threads"
CASES = sorted(each.parent.name for each in FOLDER.glob("*/label.json"))
PREPARED = prepared_once()

#: what nothing in the log tells: a metric printed with three decimals, which are 0 where all is well, too; which
#: share of its calls a policy writes in vain (that they fail all the while is told, see below); results of tools in
#: a form of one's own; a run that begins anew though it was to go on; metrics of two roles, and a KL that is 0.015
#: over all updates and should be 0 in the first; a trainer's steps beside those of another process; answers of an
#: engine without any run around them; a reward that is lost in fewer than ten steps at the end, or falls for twenty;
#: another rotary embedding in the engine, of 0.002 a token; a gap under a name of its author's own; and a table of
#: episodes under the name of a log, which is read as a table where it is named as one (tests/rollouts); and a reward in
#: RLinf's box, which has the same names for its evaluation
MISSED = {
    "rllm-kl-always-zero", "openagentrl-tool-calls-undecoded", "torl-sandbox-placeholder",
    "ssp-old-logprobs-after-update",
    "rlinf-kl-not-zero-at-first", "benchflow-no-action-graded", "primerl-trainer-ahead",
    "sglang-garbled-small-buckets",
    "primerl-gibberish-after-rise", "halo-abort-at-sync", "vllm-olmo3-sliding-rope", "areno-routes-misaligned",
    "rlinf-rewards-always-zero",
}  # fmt: skip

#: a symptom is named in place of the cause, or before it
SYMPTOM = {"dressage-gibberish-after-push": "RLX011", "torchtitan-tied-head-not-pushed": "RLX008"}


def label(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((FOLDER / name / "label.json").read_text(encoding="utf-8"))
    return told


def found(name: str) -> list[str]:
    """Ids that are more than a note, without those that say that nothing is known."""
    context = [FOLDER / name / "context.txt"]
    report = examine(
        [str(FOLDER / name / "log.txt")], context=[each for each in context if each.is_file()], prepared=PREPARED
    )
    ids = [each.problem.id for each in report.diagnosis.outcome.findings if each.severity is not INFO]
    return [each for each in ids if not each.startswith("UNK")]


def test_all_have_sources_of_their_own() -> None:
    broken = [label(each) for each in CASES if label(each)["kind"] != "healthy"]
    assert len(broken) == len({each["source"] for each in broken}) == 92


@pytest.mark.parametrize("name", CASES)
def test_what_ruined_the_run_is_named_first(name: str) -> None:
    told = label(name)
    if told["kind"] == "healthy":
        assert found(name) == []
    elif name in SYMPTOM:
        assert found(name)[0] == SYMPTOM[name] not in told["expected"]
    elif name not in MISSED:
        assert found(name)[:1] in [[each] for each in told["expected"]]
    else:
        assert found(name) == []  # once it is named, it is no miss any more


def test_an_error_that_comes_again_and_again_is_no_health(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    text = (FOLDER / "openagentrl-tool-calls-undecoded" / "log.txt").read_text(encoding="utf-8")
    log.write_text(text + "Training completed\n", encoding="utf-8")
    report = examine([str(log)], prepared=PREPARED).diagnosis
    (told,) = report.outcome.findings
    assert report.verdict == "unknown"
    assert "same kind of error 60 times, from beginning to end" in told.words("en").headline
    few = [line for line in text.splitlines() if "Failed" not in line or "08:01" in line or "08:02" in line]
    log.write_text("\n".join([*few, "Training completed\n"]), encoding="utf-8")
    assert not examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings, "it was got over"


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ("data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64", "unknown"),
        ("data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=128", "healthy"),
        ("data.train_batch_size=128", "healthy"),
    ],
)
def test_a_drift_that_few_decimals_may_hide_is_no_health(settings: str, verdict: str, tmp_path: Path) -> None:
    log, context = tmp_path / "train.log", tmp_path / "context.txt"
    text = (FOLDER / "rllm-kl-always-zero" / "log.txt").read_text(encoding="utf-8")
    log.write_text(text + "Training completed\n", encoding="utf-8")
    context.write_text(f"{settings} algorithm.adv_estimator=grpo\n", encoding="utf-8")
    report = examine([str(log)], context=[context], prepared=PREPARED).diagnosis
    assert (report.verdict, report.outcome.findings) == (verdict, ())
    assert ("unmoved" in report.not_seen) == (verdict == "unknown")
