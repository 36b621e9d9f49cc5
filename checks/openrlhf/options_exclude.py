"""Options of OpenRLHF are combined that exclude each other.

## What it means
Some switches need another one, or cannot be used with it: packing and ring attention, async training and
vLLM's sleep, partial rollouts, evaluation without a remote reward.
## What it does to a run
OpenRLHF ends with an AssertionError before anything is started.
## What to do
Add the option that is missing, or take the other one out.
## How it is found
In a log: by OpenRLHF's assertion.
## References
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py
https://openrlhf.readthedocs.io/en/latest/async_rl.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ORL004", name="options-exclude", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: (?P<sleep>Async RLHF is not supported with --)"),
    Signature(r"AssertionError: (?P<packing>packing_samples must be enabled when using ring attention)"),
    Signature(r"AssertionError: (?P<vllm>Only support `--packing_samples` with vLLM)"),
    Signature(r"AssertionError: --train\.partial_rollout_enable requires (?P<partial>--train\.async_enable)"),
    Signature(r"AssertionError: (?P<eval>`--eval_dataset` requires either `--remote_rm_url`)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "OpenRLHF was started with options that do not go together",
        "{why}",
        "{fix}",
    ),
    zh=Words(
        "OpenRLHF 的启动选项互相冲突",
        "{why_zh}",
        "{fix_zh}",
    ),
)

#: group of the pattern -> why and what to do, English and Chinese
_PAIRS = {
    "sleep": (
        "Async training keeps vLLM busy all the time, so it cannot be put to sleep.",
        "Take `--vllm_enable_sleep` out, or train synchronously (without `--async_train`).",
        "异步训练使 vLLM 一直忙碌,因此不能休眠。",
        "去掉 `--vllm_enable_sleep`,或同步训练(不加 `--async_train`)。",
    ),
    "packing": (
        "Ring attention splits packed sequences over GPUs.",
        "Add `--packing_samples`, or set `--ring_attn_size 1`.",
        "Ring attention 把打包后的序列切分到多张 GPU。",
        "加上 `--packing_samples`,或设置 `--ring_attn_size 1`。",
    ),
    "vllm": (
        "Packed samples are made from the output of vLLM engines, and there are none.",
        "Set `--vllm_num_engines` to 1 or more, or take `--packing_samples` out.",
        "打包样本由 vLLM 引擎的输出生成,而当前没有引擎。",
        "把 `--vllm_num_engines` 设为 1 或以上,或去掉 `--packing_samples`。",
    ),
    "partial": (
        "Unfinished rollouts can only be carried on while training runs beside generation.",
        "Add `--train.async_enable`, or take `--train.partial_rollout_enable` out.",
        "只有训练与生成并行时才能续写未完成的 rollout。",
        "加上 `--train.async_enable`,或去掉 `--train.partial_rollout_enable`。",
    ),
    "eval": (
        "Evaluation scores completions with a remote reward or an agent function, and none is given.",
        "Add `--remote_rm_url` or `--agent_func_path`, or take `--eval_dataset` out.",
        "评估用远程奖励或 agent 函数为生成打分,而两者都没有给出。",
        "加上 `--remote_rm_url` 或 `--agent_func_path`,或去掉 `--eval_dataset`。",
    ),
}


def explain(hits: Hits) -> Finding | None:
    """Words of the pair that was refused."""
    name = next((key for key in _PAIRS if hits.get(key)), "sleep")
    why, fix, why_zh, fix_zh = _PAIRS[name]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        why=why,
        fix=fix,
        why_zh=why_zh,
        fix_zh=fix_zh,
    )
