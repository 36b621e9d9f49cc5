"""Levels that a few quoted lines show, and what a library says of itself before a run is called healthy."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import INFO
from doctor.logs.postmortem import Prepared, examine
from tests.prepared import prepared_once

REPOSITORY = Path(__file__).parent.parent.parent.parent
HEALTHY = REPOSITORY / "tests/rules/runs/healthy-grpo-full-1.log.gz"
WARNINGS = sorted((REPOSITORY / "tests/signatures/LCH2060").glob("*/hit-said.log"))
CUT = (
    "{'loss': 0.01, 'grad_norm': 1.2, 'reward': %s, 'completions/mean_length': 80.0, 'completions/clipped_ratio': %s}\n"
)
NAN = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}\n" * 3
MARGINS = "{'loss': 0.41, 'grad_norm': 3.2, 'rewards/margins': 1.31, 'epoch': 1.0}\n"
EVALUATED = "{'eval_loss': 0.69, 'eval_rewards/margins': %s, 'epoch': 1.0}\n"
LIGER = "loss_fct = LigerFusedLinearCrossEntropyLoss(reduction='none')\n{'loss': 1.8, 'grad_norm': 0.0}\n"
ZERO = "critic/advantages/max: 0.0 critic/advantages/min: %s critic/score/mean: 0.3\n"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def first(prepared: Prepared, tmp_path: Path, text: str, context: str = "") -> Finding:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    told = [tmp_path / "context.txt"] if context else []
    outcome = examine([str(tmp_path / "train.log")], context=told, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    return outcome.findings[0]


@pytest.mark.parametrize(
    ("text", "context", "problem", "said"),
    [
        (CUT % (0.4, 1.0), "max_completion_length=80", "RLX011", "max_completion_length=80"),
        (CUT % (0.0, 1.0), "", "RLX011", "no completion reaches an answer"),
        (ZERO % "0.0" * 3, "group_size: 1", "RLX007", "group_size=1"),
        (ZERO % "0.0" * 3, "group_size: 8", "RLX010", ""),
        (MARGINS + EVALUATED % "0.0", "", "NUM018", "the model is its own reference there"),
        (NAN, "neat_packing: true\nflash_attn: auto", "NUM006", "`flash_attn=auto`"),
        ("grad_norm: 0.31 (world size 8)\ngrad_norm: 0.88 (world size 1)\n", "", "NUM1516", "not reduced"),
        ("grad_norm: 1.9\ngrad_norm: 1.8\n", "with context_parallel_size=1 it has grad_norm 0.95", "NUM1516", "once too often"),
        ("step 10: loss: 1.4 lr: 0.001\n", "learning_rate: 5e-7", "RLX001", "a rate of 0.001"),
        (LIGER, "liger-kernel==0.6.4\nthe gradient is 0", "PYT1494", "first token"),
        ("epoch 3: 0 batches\n", "", "LCH8772", "Nothing found"),
        ("every sync: 399 tensors / 8,414.1 MiB / 0 of them lora_\n", "", "LCH8772", "0 of them lora_"),
        ("pred_extract_failed 64/64\n", "", "LCH8772", "All of them fail"),
        ("<|begin_of_text|><|begin_of_text|>Solve the following\n", "", "LCH8772", "appears twice"),
    ],
)  # fmt: skip
def test_a_level_of_an_excerpt(
    prepared: Prepared, tmp_path: Path, text: str, context: str, problem: str, said: str
) -> None:
    found = first(prepared, tmp_path, text, context)
    words = found.words()
    assert found.problem.id == problem
    assert said in f"{words.headline} {words.explanation} {words.remedy}"


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (CUT % (0.4, 1.0) + CUT % (0.4, 0.5), ""),
        (ZERO % "-0.4" * 3, "group_size: 1"),
        (MARGINS + EVALUATED % "0.7", ""),
        (EVALUATED % "0.0" + MARGINS, ""),
        ("grad_norm: 0.31 (world size 8)\ngrad_norm: 0.33 (world size 1)\n", ""),
        ("step 10: loss: 1.4 lr: 0.001\n", "learning_rate: 0.001"),
        ("step 10: loss: 1.4 lr: 0.001\n", "learning_rate: 5e-4\nscale_lr: true"),
        ("0 rows failed\nfailed 0/64\nerrors 3/64\n", ""),
        ("<s>Solve <s>the following\n", ""),
    ],
)
def test_what_is_no_such_level(prepared: Prepared, tmp_path: Path, text: str, context: str) -> None:
    assert first(prepared, tmp_path, text, context).problem.id == "UNK003"


GAP = "{'train/train_rollout_logprob_abs_diff': %s}\n"
ASYNC = "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.free_cache_engine=False actor_rollout_ref.rollout.mode=async\n"
EXPLAINED = "k3_kl is between the trainer's and the rollout's log probabilities\nFP8 training"
SCORES = "step:40 - critic/score/mean:0.21 - rollout_corr/kl:0.31\n"


@pytest.mark.parametrize(
    ("text", "context", "problem", "said"),
    [
        (GAP % 0.036, "the same run with SGLang logs 0.011", "RLX014", "against 0.011 with SGLang"),
        ("step 1 k3_kl: 3.4e-4\nstep 2 k3_kl: 8.7e-3\n", EXPLAINED, "RLX014", "both must round the same values"),
        ("first-token IS ratio: tensor([2., 2.])\n", "temperature=0.6", "RLX014", "temperature is 0.6"),
        (ASYNC + SCORES, "verl==0.6.1", "PYT1494", "verl 0.6.1 never sends new weights"),
        (ASYNC, "the reward stays flat", "PYT1494", "The log does not show which release this run has"),
    ],
)  # fmt: skip
def test_what_an_excerpt_says_of_sampler_and_learner(
    prepared: Prepared, tmp_path: Path, text: str, context: str, problem: str, said: str
) -> None:
    found = first(prepared, tmp_path, text, context)
    words = found.words()
    assert (found.problem.id, found.confidence.value) == (problem, "likely")
    assert said in f"{words.headline} {words.explanation} {words.remedy}"


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (GAP % 0.012, "the same run with SGLang logs 0.011"), (GAP % 0.036, ""), (GAP % 0.01 + GAP % 0.012, ""), (GAP % 1.6e-5 + GAP % 1.5e-4, ""),
        ("step 1 k3_kl: 3.4e-4\nstep 2 k3_kl: 8.7e-3\n", ""), (ASYNC + SCORES.replace("0.31", "0.001"), "verl==0.7.0"),
        (ASYNC, ""),
    ],
)  # fmt: skip
def test_what_says_nothing_of_them(prepared: Prepared, tmp_path: Path, text: str, context: str) -> None:
    assert first(prepared, tmp_path, text, context).problem.id not in {"RLX014", "PYT1494"}


SLEEPS, WAKES = '"POST /sleep?level=2 HTTP/1.1" 200 OK\n', '"POST /wake_up HTTP/1.1" 200 OK\n'
UPDATES, ASKS = '"POST /update_weights HTTP/1.1" 200 OK\n', '"POST /v1/chat/completions HTTP/1.1" 200 OK\n'
HALF_CACHED, EMPTIES = '{"usage": {"cached_tokens": 384}}\n', '"POST /flush_cache HTTP/1.1" 200 OK\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SLEEPS + WAKES + ASKS, "no weights were sent"), (UPDATES + ASKS + HALF_CACHED, "384 tokens"),
        (SLEEPS + WAKES + UPDATES + ASKS, ""), (SLEEPS.replace("2", "1", 1) + WAKES + ASKS, ""),
        (UPDATES + EMPTIES + ASKS + HALF_CACHED, ""), (UPDATES + ASKS + ASKS + HALF_CACHED, ""), (ASKS + HALF_CACHED, ""),
    ],
)  # fmt: skip
def test_the_order_of_requests(prepared: Prepared, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    findings = examine([str(tmp_path / "server.log")], prepared=prepared).diagnosis.outcome.findings
    told = [each.words().headline for each in findings if each.problem.id == "RLX021"]
    assert len(told) == bool(said)
    assert said in "".join(told)


def test_no_beta(prepared: Prepared, tmp_path: Path) -> None:
    rows = "{'loss': 0.6931, 'rewards/chosen': 0.0, 'rewards/margins': 0.0}\n" * 3
    assert "beta=0" in first(prepared, tmp_path, rows, "DPOTrainer(model, beta=0.0)").words().headline
    assert first(prepared, tmp_path, rows, "DPOTrainer(model, beta=0.1)").problem.id != "NUM018"


BEGUN = (
    "{'loss': 0.3, 'rewards/chosen': %s, 'rewards/rejected': %s, 'rewards/margins': 2.1, 'logps/chosen': -301.0, "
    "'logps/rejected': -280.0, 'epoch': %s}\n"
)
COUNTED = "{'loss': 0.6931, 'rewards/margins': 0.0, 'logps/rejected': %s, 'logps/chosen': %s, 'epoch': 0.59}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BEGUN % (9.1, 5.2, 0.0), "Rewards are 9.1 and 5.2"),
        (BEGUN % (0.08, -0.11, 0.0), ""),  # rounding, and what a first step moves
        (BEGUN % (9.1, 5.2, 0.4), ""),  # quoted from the middle of a run
        (BEGUN % (-2.4, -3.1, 0.0), ""),  # a loss without a reference
        (COUNTED % (0.0, 0.0), "no token of the answers"),
        (COUNTED % (-212.0, 0.0), ""),
        (COUNTED % (0.0, 0.0) + COUNTED % (-31.0, -29.5), ""),
    ],
)
def test_what_preference_training_begins_with(prepared: Prepared, tmp_path: Path, text: str, said: str) -> None:
    finding = first(prepared, tmp_path, text * 2)
    assert (finding.problem.id == "NUM018") == bool(said)
    assert said in finding.words().headline


def _cut_in(shares: tuple[float, ...]) -> str:
    rewards = (0.6, 0.58, 0.5, 0.1)
    return "".join(CUT % pair for pair in zip(rewards, shares, strict=True))


def test_a_limit_takes_points_away_bit_by_bit(prepared: Prepared, tmp_path: Path) -> None:
    by_and_by = first(prepared, tmp_path, _cut_in((0.1, 0.3, 0.6, 1.0)))
    at_once = first(prepared, tmp_path, _cut_in((0.02, 0.02, 0.02, 1.0)))
    assert (by_and_by.problem.id, "length alone" in by_and_by.words().explanation) == ("RLX011", True)
    assert "length alone" not in at_once.words().explanation


def test_a_short_test_with_an_end_may_cut_all(prepared: Prepared, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(CUT % (0.4, 1.0) * 3 + "{'train_runtime': 12.5, 'train_loss': 0.5}\n")
    assert not examine([str(tmp_path / "train.log")], prepared=prepared).diagnosis.outcome.findings


def test_words_beside_an_excerpt_are_heard_although_its_run_came_to_an_end(prepared: Prepared, tmp_path: Path) -> None:
    text = CUT % (0.4, 1.0) * 3 + "{'train_runtime': 12.5, 'train_loss': 0.5}\n"
    assert first(prepared, tmp_path, text, "GRPOConfig(max_completion_length=80)").problem.id == "RLX011"


def test_of_few_values_health_is_not_claimed(prepared: Prepared, tmp_path: Path) -> None:
    row = "{'loss': 0.%d, 'reward': 0.%d, 'grad_norm': 1.2, 'epoch': 0.1}\n"
    verdicts = {}
    for count in (4, 5):
        text = (
            "".join(row % (90 - each, 30 + each) for each in range(count))
            + "{'train_runtime': 12.5, 'train_loss': 0.5}\n"
        )
        (tmp_path / "train.log").write_text(text)
        diagnosis = examine([str(tmp_path / "train.log")], prepared=prepared).diagnosis
        assert not diagnosis.outcome.findings
        verdicts[count] = (diagnosis.verdict, "course" in diagnosis.not_seen)
    assert verdicts == {4: ("unknown", True), 5: ("healthy", False)}


@pytest.mark.parametrize("said", WARNINGS, ids=lambda each: each.parent.name)
def test_a_library_is_heard_before_a_whole_run_is_called_healthy(
    prepared: Prepared, tmp_path: Path, said: Path
) -> None:
    line = said.read_text(encoding="utf-8").splitlines()[0]
    with gzip.open(HEALTHY, "rt", encoding="utf-8") as run:
        (tmp_path / "train.log").write_text(f"{line}\n{run.read()}", encoding="utf-8")
    diagnosis = examine([str(tmp_path / "train.log")], prepared=prepared).diagnosis
    (found,) = diagnosis.outcome.findings
    assert found.problem.id == f"LCH2060/{said.parent.name}"
    assert (diagnosis.verdict == "healthy") is (found.severity is INFO)


def test_both_ranks_of_such_warnings_are_there(prepared: Prepared) -> None:
    rows = [each for each in prepared.catalogue.entries.values() if each.id.startswith("LCH2060/")]
    assert len(rows) == len(WARNINGS)
