"""Judges options-exclude (ORL004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
