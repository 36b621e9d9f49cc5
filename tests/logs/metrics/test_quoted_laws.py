"""Laws over what a few quoted lines show beside settings and words: each beside a near miss that breaks none."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine
from tests.prepared import prepared_once

PAIR = "{'loss': %s, 'grad_norm': 1.1, 'logps/chosen': %s, 'logps/rejected': %s, 'epoch': 0.1}\n"
BEGUN = PAIR % ("1.3", "-0.6", "-0.7") * 2
NORMS = "{'loss': %s, 'grad_norm': %s, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
PARTS = "{'loss': 0.0, 'grad_norm': 0.4, 'reward': %s, 'rewards/right/mean': %s, 'rewards/format/mean': %s}\n"
GAP = "step:%d - actor/pg_loss:0.011 - critic/score/mean:0.4 - training/rollout_probs_diff_mean:%s\n"
AGENT = "step: %d - reward/mean:%s - response_length/mean:2210 - tool_calls/empty_fraction:%s\n"
CUT = "step:%d - timing_s/step:%s - response_length/mean:%s\n"
MARGINS = (
    "{'loss': 0.6931, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'rewards/margins': 0.0, 'logps/chosen': %s}\n"
)
KL = "{'loss': %s, 'grad_norm': 0.5, 'reward': %s, 'reward_std': 0.7, 'kl': %s, 'epoch': 0.0}\n"
STOPS = "{'loss': 0.8, 'epoch': 0.5}\n{'loss': 0.7, 'epoch': 0.9}\nThe model %s.\n"
SIZES = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    y = a * b\nRuntimeError: The size of tensor a '
SIZES += "(%d) must match the size of tensor b (%d) at non-singleton dimension 0\n"
JOINED = "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 clients joined.\n"
ROW = (
    "input_ids:\n[151644, 8948, 198, 2610, 151645, 198, 151644, 872, 198, 151645, 198, 151644, 77091, 102150, 104384]\n"
)
ROW += "label_ids:\n[-100, -100, -100, -100, -100, -100, -100, -100, -100, -100, 102150, 101911%s]\n"
NAN = "Iter %d: Train loss nan, Learning Rate 1.000e-05, It/sec 0.512, Tokens/sec 118.330, Trained Tokens 2310\n"
TRAINED = "llamafactory-cli train --stage sft --model_name_or_path %s --template qwen --finetuning_type full\n"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def told(prepared: Prepared, tmp_path: Path, text: str, context: str) -> str:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    paths = [tmp_path / "context.txt"] if context else []
    outcome = examine([str(tmp_path / "train.log")], context=paths, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    first = outcome.findings[0]
    assert first.words("zh").headline != first.words().headline
    return f"{first.problem.id} {first.words().headline}"


@pytest.mark.parametrize(
    ("text", "context", "said"),
    [
        (
            BEGUN + PAIR % ("nan", "-0.6", "nan"),
            "CPOConfig(max_length=512)\n",
            "NUM006 `logps/rejected` is NaN at step 3",
        ),
        (NORMS % ("0.41", "0.0") + NORMS % ("0.36", "0.0") + NORMS % ("0.31", "0.0"), "", "norm is not measured"),
        (
            PARTS % ("0.6", "0.31", "0.2") + PARTS % ("0.9", "0.22", "0.4") + PARTS % ("1.1", "0.1", "0.5"),
            "",
            "RLX016 `reward` rises from 0.6 to 1.1 while `rewards/right` falls",
        ),
        (
            "".join(GAP % (n, "0.032") for n in (1, 2, 3)),
            "async_training.trigger_parameter_sync_step=1 async_training.staleness_threshold=0\n",
            "keeps sampling during the update",
        ),
        (
            AGENT % (1, "0.6", "0.0") + AGENT % (2, "0.2", "0.9") + AGENT % (3, "0.2", "1.0"),
            "",
            "RLX009 `reward` falls from 0.6 to 0.2 as `tool_calls/empty_fraction` goes from 0 to 1",
        ),
        (
            CUT % (1, "212.4", "2210.0") + CUT % (2, "31.0", "301.5") + CUT % (3, "29.8", "296.2"),
            "python3 -m verl.experimental.one_step_off_policy.main_ppo algorithm.adv_estimator=grpo\n",
            "RLX012 Completions fall from 2210 to 296 tokens at once",
        ),
        ("".join(MARGINS % each for each in ("-30.4", "-33.5", "-40.6")), "", "NUM018 All rewards are exactly 0"),
        (
            KL % ("0.0", "0.9", "8e-05") + KL % ("0.0007", "1.1", "0.018") + KL % ("0.0019", "1.4", "0.048"),
            "",
            "RLX8211 The loss begins at 0",
        ),
        (STOPS % "never stops", TRAINED % "Qwen/Qwen2.5-7B", "DAT3984 Answers do not stop: `Qwen2.5-7B`"),
        (
            STOPS % "does not stop generating",
            TRAINED % "Qwen/Qwen2.5-7B-Instruct",
            "DAT3984 The answers do not stop, according to",
        ),
        ("{'loss': 12.6}\n{'loss': 12.2}\n", "The loss increases with the gradient accumulation steps.\n", "NUM1516"),
        (
            SIZES % (16256, 65024),
            "--tensor-model-parallel-size 4 --sequence-parallel\n",
            "TOR052 A whole tensor meets the share of one rank: 65024 is 4 times 16256",
        ),
        (JOINED, "$ python3 -u train.py --lr 1e-5\n", "`python3 -u train.py` starts one process, not 2"),
        (
            "export NCCL_SOCKET_IFNAME=eth9\nDistBackendError: NCCL error\nBootstrap : no socket interface found\n",
            "",
            "its start-up connection (`NCCL_SOCKET_IFNAME=eth9`)",
        ),
        (ROW % ", 104384", "cutoff_len: 100\n", "DAT3984 The printed row ends without its end token: `cutoff_len=100`"),
        (NAN % 10 + NAN % 20 + NAN % 30, "mask_prompt: true\n", "NUM016 The loss is NaN in all 3 logged steps"),
        ("cosine similarity of logits: 0.54\n", "", "NUM1516 Two programs compute a similarity of 0.54"),
    ],
)
def test_a_law_that_quoted_lines_break(prepared: Prepared, tmp_path: Path, text: str, context: str, said: str) -> None:
    assert said in told(prepared, tmp_path, text, context)


@pytest.mark.parametrize(
    ("text", "context", "never"),
    [
        (BEGUN + PAIR % ("nan", "nan", "nan"), "CPOConfig(max_length=512)\n", "without a token"),
        (NORMS % ("0.41", "0.2") + NORMS % ("0.36", "0.3") + NORMS % ("0.31", "0.2"), "", "NUM016"),
        (PARTS % ("0.6", "0.31", "0.2") + PARTS % ("0.9", "0.3", "0.4") + PARTS % ("1.1", "0.3", "0.5"), "", "RLX016"),
        (
            "".join(GAP % (n, "0.032") for n in (1, 2, 3)),
            "async_training.staleness_threshold=0 algorithm.rollout_correction.rollout_is=token\n",
            "keeps sampling",
        ),
        (AGENT % (1, "0.6", "0.9") + AGENT % (2, "0.5", "0.9") + AGENT % (3, "0.5", "1.0"), "", "goes from"),
        (CUT % (1, "212.4", "2210.0") + CUT % (2, "31.0", "301.5") + CUT % (3, "29.8", "296.2"), "", "RLX012"),
        ("".join(MARGINS % "-30.4" for _ in range(3)), "", "policy is reference"),
        (KL % ("0.0", "0.9", "8e-05") + KL % ("0.4", "1.1", "0.018") + KL % ("0.9", "1.4", "0.048"), "", "RLX8211"),
        (STOPS % "stops early", TRAINED % "Qwen/Qwen2.5-7B", "DAT3984"),
        ("{'loss': 12.6}\n{'loss': 12.2}\n", "gradient_accumulation_steps: 4\n", "NUM1516"),
        ("cosine similarity of logits: 0.998\n", "", "NUM1516"),
        (ROW % ", 104384, 151645", "cutoff_len: 100\n", "DAT3984"),
        (ROW % ", 104384", "template: qwen\n", "DAT3984"),
        (NAN % 410 + NAN % 420 + NAN % 430, "mask_prompt: true\n", "NUM016"),
        (NAN % 10 + NAN % 20 + NAN % 30, "batch_size: 1\n", "NUM016"),
        (SIZES % (16256, 65024), "--tensor-model-parallel-size 8\n", "share of one rank"),
        (SIZES % (16256, 65024), "gradient_accumulation_steps: 4\n", "share of one rank"),
        (JOINED, "torchrun --nproc_per_node 2 train.py\npython train.py\n", "starts one process"),
        (JOINED, "RANK=0 WORLD_SIZE=2 python train.py\n", "starts one process"),
        (SIZES % (4, 16), "--tensor-model-parallel-size 4\n", "share of one rank"),
    ],
)
def test_what_breaks_none(prepared: Prepared, tmp_path: Path, text: str, context: str, never: str) -> None:
    assert never not in told(prepared, tmp_path, text, context)


BAD = "Step {step}: loss: 0.012, gen_kl_error: nan, reward: 0.5\n"
WELL = "Step {step}: loss: 0.011, gen_kl_error: 0.0009, reward: 0.5\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # https://github.com/NovaSky-AI/SkyRL
        ("{'policy_loss': -1.08, 'policy_kl': nan, 'final_loss': nan, 'grad_norm': 1.51}\n", "a NaN in what is shown"),
        ("{'policy_loss': -1.08, 'rewards/b/mean': nan, 'grad_norm': 1.51}\n", ""),
        (WELL.format(step=1) + BAD.format(step=2) + WELL.format(step=3), "is NaN in some steps and finite again after"),
        (WELL.format(step=1) + WELL.format(step=2) + BAD.format(step=3), ""),  # it may stay
        (WELL.format(step=1) + BAD.format(step=2).replace("0.012", "nan") + WELL.format(step=3), ""),
    ],
)
def test_a_nan_that_is_not_in_the_weights(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "run.log").write_text(text)
    (tmp_path / "context.txt").write_text("in_flight_weight_updates: true\n")
    outcome = examine(
        [str(tmp_path / "run.log")], context=[tmp_path / "context.txt"], prepared=prepared_once()
    ).diagnosis.outcome
    words = [each.words() for each in outcome.findings]
    assert not outcome.crashed
    assert not told or told in words[0].headline
    assert told or not any("what is shown" in each.headline or "finite again" in each.headline for each in words)
    assert "finite again" not in told or "`in_flight_weight_updates=True`" in words[0].explanation
