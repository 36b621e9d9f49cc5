"""The rollout engine does not have the weights that are trained.

## What it means
Before each generation the trainer pushes its weights into vLLM. Here the engine holds other values than those that
were pushed: they were overwritten afterwards, or the push never wrote them. Or a generation was made with the weights
of an earlier step, because nothing was pushed in between.
## What it does to a run
Nothing fails and the curves look normal, but the samples come from another policy than the one that learns from them.
GRPO becomes off-policy training; in the worst case every rollout comes from the checkpoint on disk.
## What to do
With `vllm_enable_sleep_mode` on TRL 0.25 to 1.9.2 install 1.10 or newer, or switch sleep mode off: these releases throw
the pushed weights away or reload those on disk over them. Elsewhere look at the names and shapes that are pushed.
## How it is found
During the run, where vLLM works inside the trainer's process: a few values of each pushed weight are kept, and compared
with the engine's own behind each generation, in the engine's precision. Where none was ever pushed, weights that both
sides held at the start are followed: moved in the trainer and not in the engine, they are stale.
## References
https://github.com/huggingface/trl/issues/5312
https://github.com/huggingface/trl/pull/5313
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_generation.py
"""

from __future__ import annotations

from doctor.core.finding import Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem

PROBLEM = Problem(id="RLX021", name="rollout-weights-stale", severity=ERROR, since="0.1")

OVERWRITTEN = Message(
    en=Words(
        "vLLM does not hold the weights that were pushed into it at step {step}: {bad} of {all} differ",
        "The completions of this step come from other weights than those that are trained. Either they were "
        "overwritten after the push, as sleep mode of TRL 0.25 to 1.9.2 does, or the push did not write them. Nothing "
        "else in the run tells.",
        "With `vllm_enable_sleep_mode` install TRL 1.10 or newer, or switch sleep mode off. Without it look at names "
        "and shapes of the weights that are pushed, and at anything that reloads the engine.",
    ),
    zh=Words(
        "vLLM 中的权重不是第 {step} 步推送进去的那些:{all} 个中有 {bad} 个不同",
        "这一步的 completion 来自别的权重,而不是正在训练的权重。要么是推送之后被覆盖(TRL 0.25 到 1.9.2 的 sleep "
        "mode 就会如此),要么是推送没有写入。运行中没有其他任何迹象。",
        "如果开启了 `vllm_enable_sleep_mode`,请安装 TRL 1.10 及以上版本或关闭 sleep mode。否则检查所推送权重的名称和形"
        "状,以及任何会重新加载引擎的代码。",
    ),
)
NOT_PUSHED = Message(
    en=Words(
        "the completions of step {step} are made with the weights of step {pushed}",
        "Optimizer steps were made since weights were last pushed into vLLM, and it generates without them. The "
        "samples come from an older policy than the one that learns from them.",
        "Look at what calls the weight sync before a generation; TRL's own trainers do so whenever the step has "
        "changed. Where old samples are meant, correct for it by importance sampling.",
    ),
    zh=Words(
        "第 {step} 步的 completion 是用第 {pushed} 步的权重生成的",
        "自上次把权重推送进 vLLM 以来又执行了优化器步,而生成时没有用上它们。样本来自比正在学习的策略更旧的策略。",
        "检查生成之前由谁调用权重同步;TRL 自带的训练器在步数变化时都会调用。如果本来就打算使用旧样本,请用重要性采"
        "样修正。",
    ),
)


def overwritten(step: int, names: tuple[str, ...], compared: int) -> Finding:
    """Weights that the engine holds with other values than were pushed: `names` of `compared`."""
    evidence = Evidence("guard", f"differ from what was pushed: {', '.join(names[:8])}")
    where = Where(step=step, module=names[0].rpartition(".")[0])
    return found(PROBLEM, OVERWRITTEN, where=where, evidence=(evidence,), step=step, bad=len(names), all=compared)


def not_pushed(step: int, pushed: int, unmoved: tuple[str, ...] = ()) -> Finding:
    """A generation at `step` with the weights of `pushed`, the last push, or the start where there was none.

    Args:
        step: of the generation.
        pushed: of the weights.
        unmoved: weights that have moved in the trainer and not in the engine, where nothing was ever pushed.

    """
    text = f"last load_weights at step {pushed}, generate at step {step}"
    if unmoved:
        text = f"no load_weights until step {step}; moved in the trainer, not in vLLM: {', '.join(unmoved[:8])}"
    where = Where(step=step)
    return found(PROBLEM, NOT_PUSHED, where=where, evidence=(Evidence("guard", text),), step=step, pushed=pushed)
