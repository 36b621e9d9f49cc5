"""Weights that a trainer sends are processed where vLLM's configuration is not set.

## What it means
After new weights are loaded, layers of vLLM (mixtures of experts, FP8, quantized ones) rebuild their kernels and ask
for the current configuration. vLLM sets it while it loads a model. In an update of weights it does so since June 2026;
before that the caller must, and trainers with a worker extension of their own often do not.
## What it does to a run
The first transfer of weights to the rollout engine fails.
## What to do
Install the trainer's release for this vLLM, or the vLLM that the trainer names.
## How it is found
In a log: by vLLM's assertion.
## References
https://github.com/vllm-project/vllm/pull/45989
https://github.com/NVIDIA-NeMo/RL/pull/3168
https://github.com/verl-project/verl/issues/6563
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL112", name="weights-outside-config-context", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"(?:AssertionError|update|refit|reload)[^\n]{0,80}: Current vLLM config is not set\b"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM's configuration was asked for where the caller had not set it",
        "vLLM sets its configuration while it builds a model. When a trainer loads new weights into the running "
        "engine, layers that rebuild their kernels (mixtures of experts, FP8) ask for it again, and this pair of "
        "trainer and vLLM does not set it there. The network between them is not at fault.",
        "Upgrade the trainer to a release for this vLLM, or install the vLLM that it names; vLLM itself sets it in "
        "weight updates since the summer of 2026. In a worker extension of your own: `with "
        "set_current_vllm_config(self.vllm_config):` around `load_weights` and `process_weights_after_loading`.",
    ),
    zh=Words(
        "在调用方没有设置 vLLM 配置的地方请求了该配置",
        "vLLM 在构建模型时设置自己的配置。训练框架向运行中的引擎加载新权重时,需要重建内核的层(混合专家、FP8)会再次请求"
        "它,而这对训练框架与 vLLM 没有在该处设置。两者之间的网络没有问题。",
        "把训练框架升级到支持此 vLLM 的版本,或安装它所指明的 vLLM;vLLM 自 2026 年夏起在权重更新中自行设置。若是自己的 "
        "worker 扩展:在 `load_weights` 与 `process_weights_after_loading` 外加 `with "
        "set_current_vllm_config(self.vllm_config):`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """One cause: who calls and what is called are of different ages."""
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
