"""A placeholder of Accelerate stands where DeepSpeed's optimizer should be.

## What it means
Where the DeepSpeed configuration has an `optimizer` or `scheduler` of its own, Trainer or script put a `DummyOptim` or
`DummyScheduler` in their place, and Accelerate's `prepare` replaces them by those of the engine, if it runs in its
DeepSpeed mode. Here the placeholder itself was used.
## What it does to a run
AttributeError at the first step, or before it where a scheduler is built upon the placeholder.
## What to do
Start so that Accelerate knows of DeepSpeed, or take `optimizer` and `scheduler` out of the configuration.
## How it is found
In a log: by the AttributeError that names the placeholder.
## References
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/utils/deepspeed.py
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/accelerator.py
https://github.com/huggingface/transformers/issues/24640
https://github.com/QwenLM/Qwen-VL/issues/127
https://github.com/modelscope/ms-swift/issues/1775
https://github.com/determined-ai/determined-examples/issues/24
https://github.com/bghira/SimpleTuner/issues/759
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC024", name="dummy-optimizer-left", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"'(?P<owner>Dummy(?:Optim|Scheduler))' object has no attribute '(?P<name>step|get_last_lr|zero_grad)'"),
    Signature(r"'(?P<owner>DummyOptim)' object has no attribute '(?P<early>param_groups|defaults|state)'"),
    Signature(r"^TypeError: (?P<owner>DummyOptim) is not an Optimizer$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{owner}`, the placeholder for DeepSpeed's own, was used in the training step",
        "The DeepSpeed configuration is read, so the placeholder was made, but no engine was: Accelerate did not run "
        "in its DeepSpeed mode. Usual reasons: a plain `python` start or a single GPU without a launcher, a "
        "transformers that is older than the installed accelerate (or the reverse), or a training loop that calls the "
        "optimizer it had before `prepare`.",
        "Start with a launcher, for one GPU too: `deepspeed --num_gpus 1 train.py ...`, `torchrun --nproc_per_node 1` "
        "or `accelerate launch`. On one GPU without need for offloading drop `--deepspeed`. Otherwise `pip install -U "
        "transformers accelerate deepspeed` together, or take `optimizer` and `scheduler` out of the DeepSpeed JSON, "
        "so that a real one is made.",
    ),
    zh=Words(
        "训练步中使用了 DeepSpeed 优化器的占位对象 `{owner}`",
        "已读取 DeepSpeed 配置,因此创建了占位对象,但没有创建引擎:Accelerate 没有处于 DeepSpeed 模式。常见原因:直接用 "
        "`python` 启动或单卡未用 launcher,transformers 比已安装的 accelerate 旧(或相反),或训练循环使用了 `prepare` 之前"
        "的优化器。",
        "用 launcher 启动,单卡也一样:`deepspeed --num_gpus 1 train.py ...`、`torchrun --nproc_per_node 1` 或 "
        "`accelerate launch`。单卡且不需要卸载时去掉 `--deepspeed`。否则一起升级 `pip install -U transformers "
        "accelerate deepspeed`,或从 DeepSpeed JSON 中去掉 `optimizer` 与 `scheduler`,以创建真正的优化器。",
    ),
)
EARLY = Message(
    en=Words(
        "a scheduler was built upon `{owner}`, the placeholder for DeepSpeed's optimizer",
        "The DeepSpeed configuration brings its own optimizer, so until `prepare` there is only a placeholder without "
        "parameters. A scheduler of torch, transformers or diffusers needs the real one.",
        "Use `accelerate.utils.DummyScheduler(optimizer, ...)` where DeepSpeed's configuration has a `scheduler`, or a "
        "callable: `DummyScheduler(optimizer, lr_scheduler_callable=make)`; or take `optimizer` out of the DeepSpeed "
        "configuration and make a real one.",
    ),
    zh=Words(
        "在 DeepSpeed 优化器的占位对象 `{owner}` 上创建了调度器",
        "DeepSpeed 配置自带优化器,因此在 `prepare` 之前只有不含参数的占位对象。torch、transformers、diffusers 的调度器"
        "需要真正的优化器。",
        "若 DeepSpeed 配置含有 `scheduler`,使用 `accelerate.utils.DummyScheduler(optimizer, ...)`,或传入函数:"
        "`DummyScheduler(optimizer, lr_scheduler_callable=make)`;或从 DeepSpeed 配置中去掉 `optimizer` 并创建真正的优化"
        "器。",
    ),
)

MESSAGES = (LOG_MESSAGE, EARLY)


def explain(hits: Hits) -> Finding:
    """A scheduler meets the placeholder before the first step."""
    early = hits.first.signature > 0
    return found(
        PROBLEM, EARLY if early else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        owner=hits.get("owner"),
    )  # fmt: skip
