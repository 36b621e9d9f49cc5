"""Sleep mode makes vLLM sample from the checkpoint on disk for ever.

## What it means
With `vllm_enable_sleep_mode=True` TRL 0.28.0 to 1.9.2 reload vLLM's weights from disk after they pushed the
trained ones, so every rollout comes from the model as it was before training.
## What it does to a run
Nothing fails and the curves look normal, but the policy that is trained is never the one that samples: GRPO
becomes badly off-policy training. `sampling/sampling_logp_difference/mean` grows from step to step.
## What to do
Install TRL 1.10.0 or newer, or switch sleep mode off.
## How it is found
GRPO uses vLLM in colocate mode with sleep mode on, and the installed TRL is in the broken range.
## References
https://github.com/huggingface/trl/issues/5312
https://github.com/huggingface/trl/pull/5313
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, quoted, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL017", name="sleep-mode-stale-weights", severity=ERROR, since="0.1", affects={"trl": ">=0.28,<1.10"}
)

MESSAGE = Message(
    en=Words(
        "sleep mode of TRL {version} samples from the untrained checkpoint in every step",
        "This is a bug of TRL {version}: vLLM wakes, gets the trained weights and then reloads those on "
        "disk. Nothing fails, and no rollout ever comes from the model that is being trained.",
        "Install TRL 1.10.0 or newer, or switch sleep mode off.",
    ),
    zh=Words(
        "TRL {version} 的 sleep mode 在每一步都用未训练的检查点采样",
        "这是 TRL {version} 的缺陷:vLLM 唤醒并得到训练后的权重之后,又从磁盘重新加载原权重。不会报错,但没有"
        "任何 rollout 来自正在训练的模型。",
        "安装 TRL 1.10.0 及以上版本,或关闭 sleep mode。",
    ),
)


@check(PROBLEM)
def sleep_stale_weights(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch; it is off by default."""
    version = installed(packages, "trl")
    setting = training.get("vllm_enable_sleep_mode")
    if not is_grpo(training) or setting is None:
        return
    mode = vllm_mode(training, version)
    if not setting.known or mode is None:
        yield Skip("`vllm_enable_sleep_mode` or the mode of vLLM could not be read without running the script")
        return
    if truth(setting.value) and mode == "colocate":
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=('pip install "trl>=1.10"', "vllm_enable_sleep_mode=False"),
            version=version,
        )
