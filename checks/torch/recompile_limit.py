"""torch.compile gave up on a function that it had to compile again and again.

## What it means
Each new shape or value that a compiled function depends on makes another version. After eight (by default)
torch runs the function uncompiled.
## What it does to a run
The run goes on, slower than without torch.compile for a while and then as slow as without.
## What to do
Mark what changes as dynamic, or do not compile it.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR023", name="recompile-limit", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"torch\._dynamo hit config\.(?P<limit>recompile_limit|cache_size_limit|accumulated_\w{1,30})"
        r" \((?P<number>\d{1,5})\)",
        kind="warning",
    ),
    Signature(r"torch\._dynamo\.exc\.(?:Unsupported: Dynamo recompile limit exceeded|FailOnRecompileLimitHit)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "torch.compile gave up on a function after {number} versions of it",
        "Lengths that differ from batch to batch, or Python values that change, make each call a new "
        "version. From here on the function runs uncompiled.",
        "Use `torch.compile(..., dynamic=True)` or `mark_dynamic`, pad to a few lengths, or switch it "
        "off (`torch_compile=False`). TORCH_LOGS=recompiles prints what changed.",
    ),
    zh=Words(
        "torch.compile 在编译了 {number} 个版本后放弃了某个函数",
        "批次之间长度不同,或 Python 值变化,都会让每次调用成为新版本。此后该函数不再编译执行。",
        "使用 `torch.compile(..., dynamic=True)` 或 `mark_dynamic`,填充到少数几种长度,或关闭"
        "(`torch_compile=False`)。TORCH_LOGS=recompiles 可打印变化的内容。",
    ),
)

FULLGRAPH = Message(
    en=Words(
        "torch.compile recompiled one function too often and gave up: the recompile limit",
        "Lengths that differ from batch to batch, module or Python values that change (a step counter, a scale, LoRA "
        "weights that are swapped), make each call a new version. With `fullgraph=True` or where compiling must not "
        "fail, the limit ends the run.",
        "`TORCH_LOGS=recompiles` prints what changed from call to call. Use `torch.compile(..., dynamic=True)` or "
        "`mark_dynamic`, pad to a few lengths, leave `fullgraph=True` out, raise the limit "
        "(`torch._dynamo.config.recompile_limit = 64`, before 2.6 `cache_size_limit`), or switch it off "
        "(`TORCHDYNAMO_DISABLE=1`).",
    ),
    zh=Words(
        "torch.compile 对同一函数重新编译次数过多而放弃:recompile limit",
        "批次之间长度不同,或模块、Python 值变化(步数、缩放系数、被替换的 LoRA 权重),都会让每次调用成为新版本。"
        "在 `fullgraph=True` 或不允许编译失败时,达到上限会结束运行。",
        "`TORCH_LOGS=recompiles` 可打印每次变化的内容。使用 `torch.compile(..., dynamic=True)` 或 `mark_dynamic`,"
        "填充到少数几种长度,去掉 `fullgraph=True`,提高上限(`torch._dynamo.config.recompile_limit = 64`,2.6 之前为 "
        "`cache_size_limit`),或关闭编译(`TORCHDYNAMO_DISABLE=1`)。",
    ),
)

LOG_COMMANDS = ("TORCH_LOGS=recompiles",)


def explain(hits: Hits) -> Finding:
    """A limit that ends the run, or one that only slows it."""
    ends = bool(hits.of(1))
    return found(
        PROBLEM,
        FULLGRAPH if ends else LOG_MESSAGE,
        severity=ERROR if ends else WARNING,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=LOG_COMMANDS,
        number=hits.get("number") or "",
    )
