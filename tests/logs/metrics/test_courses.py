"""Metrics of a whole run beside its settings and beside what is said of another run; excerpts in any notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.logs.metrics import loose
from doctor.logs.postmortem import Prepared, examine, prepare


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def findings(prepared: Prepared, tmp_path: Path, text: str, context: str = "") -> tuple[Finding, ...]:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    told = [tmp_path / "context.txt"] if context else []
    outcome = examine([str(tmp_path / "train.log")], context=told, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    return outcome.findings


# --- notations ---


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("step 2500/10000 | lr 0.0", (2500, {"learning_rate": 0.0})),
        ("step:100 train_loss:0.34 val_loss:10.9", (100, {"loss": 0.34, "eval_loss": 10.9})),
        (
            "step 2: {'train/train_rollout_logprob_abs_diff': 0.271}",
            (2, {"sampling/sampling_logp_difference/mean": 0.271}),
        ),
        ('{"step": 5, "optim/kl_sample_train_v1": 0.06}', (5, {"rollout_corr/kl": 0.06})),
        ('{"train_step": 120, "kl": 2.78, "reward": 0.4}', (120, {"kl": 2.78, "reward": 0.4})),
        (
            "loss: 1.44 | lr: 5.5e-06 | grad_norm: 1.6",
            (None, {"loss": 1.44, "learning_rate": 5.5e-06, "grad_norm": 1.6}),
        ),
    ],
)
def test_an_excerpt_is_read_in_its_own_notation(line: str, told: tuple[int | None, dict[str, float]]) -> None:
    row = loose.read("x.log", [(1, line)]).rows[0]
    assert (row.step, dict(zip(row.names, row.values, strict=True))) == told


@pytest.mark.parametrize(
    "line",
    ["learning_rate: 0.0", "GRPOConfig(learning_rate=1e-6, loss_type='grpo')", "see step 3 of the manual", "kl: 0.1"],
)
def test_settings_and_sentences_are_no_metrics(line: str) -> None:
    assert loose.read("x.log", [(1, line)]).rows == []


# --- against settings ---


def test_a_schedule_that_ended_early(prepared: Prepared, tmp_path: Path) -> None:
    found = findings(prepared, tmp_path, "step 2500/10000 | lr 0.0\n", "accelerate launch --num_processes 4 train.py\n")
    assert found[0].problem.id == "RLX017"
    assert "at step 2500 of 10000" in found[0].words().headline
    assert "there are 4 processes" in found[0].words().explanation


def test_a_schedule_at_its_end(prepared: Prepared, tmp_path: Path) -> None:
    assert findings(prepared, tmp_path, "step 9990/10000 | lr 0.0\n")[0].problem.id == "UNK003"


@pytest.mark.parametrize(("steps", "finds"), [(32, True), (8, False)])
def test_a_loss_that_is_off_by_the_accumulation(prepared: Prepared, tmp_path: Path, steps: int, *, finds: bool) -> None:
    context = f"grad_accumulation_steps={steps}\n"
    found = findings(prepared, tmp_path, "step:100 train_loss:0.34 val_loss:10.9\n", context)
    assert (found[0].problem.id == "NUM016") is finds


@pytest.mark.parametrize(("allowed", "told"), [("max_weight_staleness: 2", True), ("max_weight_staleness: 8", False)])
def test_samples_that_are_older_than_the_settings_allow(
    prepared: Prepared, tmp_path: Path, allowed: str, *, told: bool
) -> None:
    rows = "".join(
        f"rollout {step}: {{'rollout/raw_reward': 0.{step}, 'train/pg_clipfrac': 0.02, "
        f"'rollout/fully_async/avg_staleness': 4.{step}}}\n"
        for step in range(1, 8)
    )
    found = [each.words().headline for each in findings(prepared, tmp_path, rows, allowed)]
    assert ("Samples are stale: 4.4 updates old, but the settings allow 2" in found) is told


SLIME = """------------------------ arguments ------------------------
  advantage_estimator ............................. {loss}
  num_experts ..................................... {experts}
  sglang_quantization ............................. {precision}
  use_rollout_logprobs ............................ False
  use_rollout_routing_replay ...................... {replay}
  use_tis ......................................... False
-------------------- end of arguments ---------------------
"""
NEMO = """loss_fn:
  use_importance_sampling_correction: {corrected}
policy:
  generation:
    vllm_cfg:
      precision: {precision}
"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (SLIME.format(loss="grpo", experts=128, precision=None, replay=False), "each choose the experts"),
        (SLIME.format(loss="grpo", experts=128, precision=None, replay=True), ""),
        (SLIME.format(loss="gspo", experts=128, precision=None, replay=False), ""),
        (SLIME.format(loss="grpo", experts=None, precision=None, replay=False), ""),
        (SLIME.format(loss="grpo", experts=None, precision="fp8", replay=False), "Rollouts are made in `fp8`"),
        (NEMO.format(corrected="false", precision="fp8"), "Rollouts are made in `fp8`"),
        (NEMO.format(corrected="true", precision="fp8"), ""), (NEMO.format(corrected="false", precision="bfloat16"), ""),
    ],
)  # fmt: skip
def test_samplers_that_differ_by_the_settings_of_the_log(
    prepared: Prepared, tmp_path: Path, settings: str, said: str
) -> None:
    rows = "".join(
        f"(Actor pid=7) model.py:489 - step {step}: {{'train/loss': 0.0{step}, 'train/grad_norm': 0.{step}}}\n"
        for step in range(1, 6)
    )
    inside = settings.startswith("---")
    found = findings(prepared, tmp_path, settings + rows if inside else rows, "" if inside else settings)
    told = [each.words().headline for each in found if each.problem.id == "RLX8389"]
    assert len(told) == bool(said), told
    assert not said or said in told[0]


def test_a_gap_that_truncated_sampling_makes(prepared: Prepared, tmp_path: Path) -> None:
    row = "{'loss': 0.01, 'sampling/importance_sampling_ratio/mean': 0.1676}\n"
    first = findings(prepared, tmp_path, row, "GRPOConfig(top_p=0.9, top_k=50, use_vllm=True)\n")[0]
    assert (first.problem.id, first.confidence.value) == ("RLX015", "likely")
    assert "top_p=0.9, top_k=50" in first.words().headline
    assert findings(prepared, tmp_path, row, "GRPOConfig(top_p=1.0, top_k=0)\n")[0].problem.id == "UNK003"


# --- against another run ---


@pytest.mark.parametrize(
    ("text", "context", "headline", "kind"),
    [
        (
            "{'grad_norm': 1656}\n",
            "with zero3 the same run logs grad_norm 0.025 at the same loss\n",
            "`grad_norm` is 1656 here and 0.025 with zero3",
            "stage of ZeRO",
        ),
        (
            "loss: 1.44 | lr: 5.56e-06 | grad_norm: 1.62\n",
            "the same run with deepspeed<0.17.6: grad_norm 4.7373, 3.9810\n",
            "`grad_norm` is 1.62 here and 4.737 with deepspeed<0.17.6",
            "The cause is the release",
        ),
        (
            "{'loss': 10.5949}\n{'loss': 8.2312}\n",
            "with gradient_accumulation_steps 2 the same data logs twice these values\n",
            "`loss` is 8.231 here and 21.19 with gradient_accumulation_steps 2",
            "each micro batch is divided",
        ),
    ],
)
def test_what_is_said_of_another_run(
    prepared: Prepared, tmp_path: Path, text: str, context: str, headline: str, kind: str
) -> None:
    first = findings(prepared, tmp_path, text, context)[0]
    assert first.problem.id == "NUM1516"
    assert first.words().headline.startswith(headline)
    assert kind in " ".join(first.words().explanation.split())
    assert first.words("zh").explanation


@pytest.mark.parametrize(
    "context",
    [
        "with zero3 the same run logs grad_norm 1.5\n",  # within what chance makes
        "trained with zero3, seed 42\n",  # says nothing of the metric
        "grad_norm was 0.01 once\n",  # says nothing of what differs
    ],
)
def test_what_decides_nothing(prepared: Prepared, tmp_path: Path, context: str) -> None:
    found = findings(prepared, tmp_path, "{'loss': 0.5, 'grad_norm': 1.6}\n", context)
    assert "NUM1516" not in {each.problem.id for each in found}


# --- settings of an excerpt, without a metric ---

TWO_SERVERS = "swift rollout --vllm_use_async_engine true --vllm_enable_lora true\n"


@pytest.mark.parametrize(
    ("text", "context", "finds"),
    [
        ("python3 train_async.py --advantage-estimator grpo --eps-clip 0.2\n", "", "RLX8389"),
        ("python3 train_async.py --advantage-estimator grpo --use-tis\n", "", ""),
        ("python3 train.py --advantage-estimator grpo --eps-clip 0.2\n", "", ""),
        ("swift rlhf --rlhf_type grpo --top_p 0.9 --rollout_importance_sampling_mode token_mask\n", "", "RLX8389"),
        ("swift rlhf --rlhf_type grpo --top_p 0.9\n", "", ""),
        ("swift rlhf --rlhf_type grpo --top_p 1.0 --rollout_importance_sampling_mode token_mask\n", "", ""),
        (TWO_SERVERS, "ms-swift==4.3.1\n", "PYT1494"),
        (TWO_SERVERS, "ms-swift==4.4.0\n", ""),
        (TWO_SERVERS, "", ""),
        ("train_ppo_ray --data.max_samples 64 --rollout.batch_size 128\n", "", "DAT012"),
        ("train_ppo_ray --data.max_samples 256 --rollout.batch_size 128\n", "", ""),
    ],
)
def test_settings_alone(prepared: Prepared, tmp_path: Path, text: str, context: str, finds: str) -> None:
    ids = {each.problem.id for each in findings(prepared, tmp_path, text, context)}
    assert ids & {"RLX8389", "PYT1494", "DAT012"} == ({finds} if finds else set())


NOTHING_COUNTS = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.5}\n" * 2


@pytest.mark.parametrize(
    ("text", "context", "finds"),
    [
        (NOTHING_COUNTS, "assistant_only_loss=True\nmax_length=64\n", True),
        (NOTHING_COUNTS, "assistant_only_loss=False\n", False),
        (NOTHING_COUNTS, "fp16=True\n", False),
        (NOTHING_COUNTS.replace("0.0", "1.3", 1), "assistant_only_loss=True\n", False),
    ],
)
def test_a_mask_that_leaves_no_label(
    prepared: Prepared, tmp_path: Path, text: str, context: str, *, finds: bool
) -> None:
    first = findings(prepared, tmp_path, text, context)[0]
    assert (first.problem.id == "NUM016") is finds


def test_metrics_of_an_excerpt_are_no_settings(prepared: Prepared, tmp_path: Path) -> None:
    rows = "{'loss': 0.5, 'learning_rate': 2e-08}\n{'loss': 0.5, 'learning_rate': 2e-07}\n"
    assert "RLX001" not in {each.problem.id for each in findings(prepared, tmp_path, rows)}


# --- what a few quoted lines show ---

_ROW = "{{'loss': 0.001, 'grad_norm': {norm}, 'learning_rate': {rate}, 'reward': {reward}, 'kl': {kl}, 'entropy': {entropy}, 'completions/mean_length': {length}, 'epoch': {epoch}}}"


def rows(count: int = 6, **courses: tuple[float, float]) -> str:
    """Lines of a trainer, from the middle of a run; each metric goes straight from one value to another."""
    first = {"norm": 0.5, "rate": 1e-6, "reward": 0.4, "kl": 0.01, "entropy": 0.6, "length": 300.0, "epoch": 0.4}
    lines = []
    for place in range(count):
        share = place / (count - 1)
        values = {name: begin + share * (courses[name][1] - begin) if name in courses else begin
                  for name, begin in {**first, **{name: each[0] for name, each in courses.items()}}.items()}  # fmt: skip
        values["reward"] += place % 2 / 50 if "reward" not in courses else 0  # one that stands is trouble, too
        lines.append(_ROW.format(**{**values, "epoch": round(0.4 + 0.02 * place, 3)}))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("courses", "problem", "says"),
    [
        ({"kl": (0.01, 3.0)}, "RLX004", "drifted to 3"),
        ({"entropy": (0.6, 0.02)}, "RLX005", "from 0.6 to 0.02"),
        ({"norm": (0.5, 80.0)}, "NUM008", "160 times"),
        ({"reward": (0.6, 0.1)}, "RLX009", "from 0.6 to 0.1 in the 6 lines"),
        ({"length": (300.0, 90.0), "reward": (0.4, 0.6)}, "RLX012", "from 300 to 90 tokens in 6 lines"),
    ],
)
def test_a_course_that_a_few_lines_show(
    prepared: Prepared, tmp_path: Path, courses: dict[str, tuple[float, float]], problem: str, says: str
) -> None:
    found = findings(prepared, tmp_path, rows(**courses))
    assert found[0].problem.id == problem
    assert says in found[0].words().headline


@pytest.mark.parametrize("courses", [{}, {"kl": (0.01, 0.2)}, {"norm": (0.5, 5.0)}, {"reward": (0.6, 0.4)}])
def test_a_course_that_is_usual(prepared: Prepared, tmp_path: Path, courses: dict[str, tuple[float, float]]) -> None:
    assert findings(prepared, tmp_path, rows(**courses))[0].problem.id == "UNK003"


def test_answers_that_are_cut_as_the_reward_falls(prepared: Prepared, tmp_path: Path) -> None:
    lines = (
        f"step:{n} - reward/mean:{0.6 - n / 100} - response/truncated_ratio:{0.2 + n / 40}\n" for n in range(5, 30, 5)
    )
    found = findings(prepared, tmp_path, "".join(f"{each.rstrip()} - actor/grad_norm:0.2\n" for each in lines))
    assert found[0].problem.id == "RLX011"
    assert "while the reward fell" in found[0].words().headline


@pytest.mark.parametrize(("rate", "finds"), [(5e-7, True), (1e-5, False)])
def test_an_adapter_that_stands(prepared: Prepared, tmp_path: Path, rate: float, *, finds: bool) -> None:
    found = findings(prepared, tmp_path, rows(kl=(4e-5, 5e-5), rate=(rate, rate)), "lora_alpha=16\nlora_r=8\n")
    assert (found[0].problem.id == "RLX001") is finds


@pytest.mark.parametrize(
    ("context", "peak", "finds"),
    [
        ("num_generations=4\nnormalize_rewards=true\n", 953, True),
        ("num_generations=4\nscale_rewards=false\n", 953, False),
        ("num_generations=16\n", 3.1, False),
        ("", 1e6, True),
    ],
)
def test_an_advantage_that_cannot_be(
    prepared: Prepared, tmp_path: Path, context: str, peak: float, *, finds: bool
) -> None:
    found = findings(prepared, tmp_path, f"step 3 advantages stats: min=-{peak}, max=1.2, mean=0.0\n", context)
    assert (found[0].problem.id == "RLX010") is finds


def test_a_table_as_notebooks_show_it(prepared: Prepared, tmp_path: Path) -> None:
    head = "Step | Training Loss | reward | kl | entropy\n-- | -- | -- | -- | --\n"
    body = "".join(f"{n} | 0.0{n} | {0.3 + n % 2 / 10} | {0.01 * 10**n:g} | 0.5\n" for n in range(4))
    rows_read = loose.read("x.log", list(enumerate((head + body).splitlines(), 1))).rows
    assert [each.step for each in rows_read] == [0, 1, 2, 3]
    assert dict(zip(rows_read[1].names, rows_read[1].values, strict=True)) == {
        "loss": 0.01, "reward": 0.4, "kl": 0.1, "entropy": 0.5,
    }  # fmt: skip
    assert findings(prepared, tmp_path, head + body)[0].problem.id == "RLX004"


def test_form_without_content(prepared: Prepared, tmp_path: Path) -> None:
    lines = "".join(
        f"{{'loss': 0.0, 'rewards/format_reward/mean': {0.1 + n / 5:g}, 'rewards/accuracy_reward/mean': 0.00{n},"
        f" 'reward': {0.1 + n / 5:g}, 'reward_std': 0.3, 'epoch': {n / 10}}}\n"
        for n in range(1, 5)
    )
    found = findings(prepared, tmp_path, lines)
    assert found[0].problem.id == "RLX020"
    assert "never gives more than 0.004" in found[0].words().headline


@pytest.mark.parametrize(
    ("low", "estimator", "finds"), [(0.0, "grpo", True), (-0.4, "grpo", False), (0.0, "gae", False)]
)
def test_no_advantage_below_zero(
    prepared: Prepared, tmp_path: Path, low: float, estimator: str, *, finds: bool
) -> None:
    lines = "".join(
        f"step:{n} - critic/score/mean:0.3{n} - critic/advantages/max:1.0 - critic/advantages/min:{low} -"
        f" actor/grad_norm:0.{n}\n"
        for n in range(4, 8)
    )
    found = findings(prepared, tmp_path, lines, f"algorithm.adv_estimator={estimator}\n")
    assert (found[0].problem.id == "RLX010") is finds


def test_what_a_program_says_of_its_labels_beside_a_falling_loss(prepared: Prepared, tmp_path: Path) -> None:
    warning = (
        "The chat template does not include the assistant turn's end-of-turn token in the loss mask; "
        "the model may not learn to stop.\n"
    )
    lines = "".join(f"{{'loss': {1.2 - n / 5}, 'grad_norm': 0.{n + 1}, 'epoch': {n / 10}}}\n" for n in range(4))
    found = findings(prepared, tmp_path, warning + lines)
    assert found[0].problem.id == "LCH8772"
    assert "what is not trained" in found[0].words().headline


AT_FIRST = "".join(
    f"{{'loss': 0.0, 'reward': {reward}, 'kl': {kl}, 'completion_length': {length}}}\n"
    for reward, kl, length in ((1.25, 0.0, 181.3), (0.0, 4.1, 256.0), (0.0, 4.3, 256.0))
)


def test_a_kl_that_leaps_with_the_first_update_is_no_matter_of_the_rate(prepared: Prepared, tmp_path: Path) -> None:
    """https://github.com/unslothai/unsloth/issues/1888"""
    first = findings(prepared, tmp_path, AT_FIRST)[0]
    assert (first.problem.id, first.confidence.value) == ("RLX004", "likely")
    assert "after the first update" in first.words().headline
    words = findings(prepared, tmp_path, AT_FIRST, "learning_rate: 1e-3\n")[0].words().headline
    assert "after the first update" not in words
    words = findings(prepared, tmp_path, AT_FIRST.replace("'reward': 0.0", "'reward': 0.9"))[0].words().headline
    assert "after the first update" not in words


def test_what_ppo_logs_under_its_own_head_is_read(prepared: Prepared, tmp_path: Path) -> None:
    """https://github.com/huggingface/trl/issues/615"""
    text = "".join(f"{{'objective/kl': {kl}, 'ppo/mean_scores': 1.0}}\n" for kl in (0.0, -0.8, -2.4, -4.9))
    assert findings(prepared, tmp_path, text)[0].problem.id == "RLX7581"


@pytest.mark.parametrize(
    ("first", "last", "loss", "finds"),
    [(0.46, 0.37, "0.01", True), (0.46, 0.45, "0.01", False), (0.37, 0.46, "0.01", False), (0.46, 0.37, "nan", False)],
)
def test_a_reward_that_falls_is_a_note(
    prepared: Prepared, tmp_path: Path, first: float, last: float, loss: str, *, finds: bool
) -> None:
    noise = (0.01, -0.012, 0.004, -0.008, 0.011, -0.006)
    rewards = [first + (last - first) * at / 79 + noise[at % 6] for at in range(80)]
    rows = (f"{{'loss': {loss}, 'reward': {each:.4f}, 'epoch': 0.1}}\n" for each in rewards)
    found = findings(prepared, tmp_path, "".join(rows) + "{'train_runtime': 12.5}\n")
    told = [each for each in found if each.problem.id == "RLX009"]
    assert [each.severity.value for each in told] == (["info"] if finds else [])
    if finds:
        assert "in the last third of the run and was 0.44" in told[0].words().headline
