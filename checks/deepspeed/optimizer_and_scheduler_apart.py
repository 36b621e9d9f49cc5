"""Optimizer and scheduler are not both in the DeepSpeed file or both in the code.

## What it means
What the DeepSpeed file configures, DeepSpeed makes, and the code must leave it alone; a scheduler of the code cannot
drive an optimizer that does not exist yet. Accelerate and older Transformers refuse the mixtures.
## What it does to a run
ValueError when training is prepared.
## What to do
Both in the file, or none.
## How it is found
In a log: by the words of Accelerate or Transformers.
## References
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/accelerator.py
https://huggingface.co/docs/accelerate/usage_guides/deepspeed#deepspeed-config-file
https://github.com/zjunlp/KnowLM/issues/30
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP035", name="optimizer-and-scheduler-apart", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Found `(?P<there>optimizer)` configured in the DeepSpeed config, but no `(?P<missing>scheduler)`"
    ),
    Signature(
        r"ValueError: Found `(?P<there>scheduler)` configured in the DeepSpeed config but a (?P<missing>HF optimizer|"
        r"\w{2,12} optimizer)"
    ),
    Signature(
        r"ValueError: You cannot create a `?Dummy(?:Optim|Scheduler)`? without specifying an? (?P<missing>optimizer|"
        r"scheduler) in the config file"
    ),
    Signature(
        r"ValueError: (?:Either specify a (?P<missing>scheduler) in the config file or pass in the "
        r"`lr_scheduler_callable`|"
        r"You can only specify `accelerate\.utils\.Dummy(?P<missing_too>Scheduler)` in the code when using)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "optimizer and scheduler are configured in different places under DeepSpeed: {what}",
        "What the DeepSpeed JSON names is made by DeepSpeed, and what it does not name by the code; the "
        "two cannot be mixed, because a scheduler needs the optimizer that it drives.",
        "Simplest: delete both blocks, `optimizer` and `scheduler`, from the DeepSpeed JSON; the Trainer "
        "then makes AdamW and the scheduler of its arguments (`optim`, `lr_scheduler_type`). Or write both "
        'into it, with "auto" for the values (`"scheduler": {{"type": "WarmupDecayLR", "params": '
        '{{"total_num_steps": "auto", "warmup_min_lr": "auto", "warmup_max_lr": "auto", '
        '"warmup_num_steps": "auto"}}}}`), and in a loop of your own take `DummyOptim` and '
        "`DummyScheduler` of accelerate. An upgrade (`pip install -U transformers accelerate`) takes an "
        "optimizer alone.",
    ),
    zh=Words(
        "DeepSpeed 下优化器和调度器配置在不同的地方:{what_zh}",
        "DeepSpeed JSON 中写明的由 DeepSpeed 创建,没写的由代码创建;两者不能混用,因为调度器需要它所驱动的优化器。",
        "最简单:从 DeepSpeed JSON 中删除 `optimizer` 和 `scheduler` 两块,由 Trainer 按参数(`optim`、"
        '`lr_scheduler_type`)创建。或两块都写上,值用 "auto"(`"scheduler": {{"type": "WarmupDecayLR", '
        '"params": {{"total_num_steps": "auto", "warmup_min_lr": "auto", "warmup_max_lr": "auto", '
        '"warmup_num_steps": "auto"}}}}`),自写循环时使用 accelerate 的 `DummyOptim` 和 `DummyScheduler`。升'
        "级(`pip install -U transformers accelerate`)后可以只写优化器。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Say which of the two is missing."""
    missing = (hits.get("missing") or hits.get("missing_too") or "scheduler").lower().split()[-1]
    what, what_zh = f"the file lacks the {missing}", f"文件中没有 {missing}"
    if hits.get("missing_too"):
        what, what_zh = "`DummyOptim` beside a real scheduler", "`DummyOptim` 与真实的调度器同时使用"
    elif hits.get("there") == "scheduler":
        what, what_zh = "the file has the scheduler, the code the optimizer", "文件中有调度器,而优化器在代码中"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), what=what, what_zh=what_zh)
