"""An estimator that compares the samples of a prompt gets one sample.

## What it means
RLOO, REINFORCE with a group baseline, GRPO (`group_norm`) and Dr. GRPO subtract what the other samples of
the same prompt got; with one sample every advantage is 0. Dynamic filtering needs several too.
## What it does to a run
OpenRLHF ends with an AssertionError before anything is started.
## What to do
Set the number of samples per prompt to 2 or more.
## How it is found
In a log: by OpenRLHF's assertion.
## References
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py
https://openrlhf.readthedocs.io/en/latest/rl.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="ORL001", name="single-sample-per-prompt", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: (?P<estimator>rloo|reinforce_baseline|group_norm|dr_grpo) requires"
        r" n_samples_per_prompt > 1",
    ),
    Signature(
        r"AssertionError: n_samples_per_prompt must be greater than 1 when using"
        r" (?P<estimator>dynamic filtering)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{estimator}` needs several samples per prompt, and `n_samples_per_prompt` is 1",
        "The advantage is the difference to the other samples of the same prompt; with one there is "
        "nothing to compare.",
        "Set `--n_samples_per_prompt 8` (`--rollout.n_samples_per_prompt` in newer releases), 2 or more, "
        "and see that the batch sizes divide; or choose `--advantage_estimator gae`.",
    ),
    zh=Words(
        "`{estimator}` 需要每个 prompt 多个样本,而 `n_samples_per_prompt` 为 1",
        "优势值是与同一 prompt 其他样本之差;只有一个样本时无从比较。",
        "设置 `--n_samples_per_prompt 8`(新版本为 `--rollout.n_samples_per_prompt`),即 2 或以上,并使批大"
        "小可整除;或选择 `--advantage_estimator gae`。",
    ),
)
