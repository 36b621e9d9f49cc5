"""An engine of several trainer processes is made without a seed.

## What it means
With `distributed_executor_backend="external_launcher"` every training process runs its part of the engine
and samples by itself. From 0.8.0 to 0.8.5 the default seed is None, so that each process draws other
tokens.
## What it does to a run
In 0.8.0 to 0.8.2 the ranks of one engine silently disagree about the text that they generate: outputs are
garbage or the run hangs. From 0.8.3 on vLLM refuses: `Seed must be set when using external launcher
backend`.
## What to do
Give the same `seed` to the ranks of one tensor parallel group.
## How it is found
The call of `LLM(...)` in the training script and the installed vLLM.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/issues/15895
https://github.com/vllm-project/vllm/pull/15980
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.script import Script

PROBLEM = Problem(
    id="VLL028",
    name="external-launcher-without-seed",
    severity=ERROR,
    since="0.1",
    affects={"vllm": ">=0.8,<0.9"},
)

SIGNATURES = (Signature(r"Seed must be set when using external launcher backend"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM inside several trainer processes was made without a seed",
        "The ranks of a tensor parallel group must sample the same tokens, and without a common seed "
        "each draws its own. vLLM 0.8.3 to 0.11.2 refuses that.",
        "Pass the same `seed` to `LLM(...)` on all ranks of a tensor parallel group (TRL 0.18 and newer "
        "do), or install vLLM 0.12 or newer, where the seed is 0 by default.",
    ),
    zh=Words(
        "多个训练进程内的 vLLM 没有设置随机种子",
        "张量并行组内的各 rank 必须采样出相同的 token;没有共同的种子时各自采样。vLLM 0.8.3 至 0.11.2 会拒绝这种情况。",
        "在张量并行组的所有 rank 上给 `LLM(...)` 传入相同的 `seed`(TRL 0.18 及以上会这样做);或安装 vLLM "
        "0.12 及以上版本,默认种子为 0。",
    ),
)

LOG_COMMANDS = ("LLM(..., seed=rank // tensor_parallel_size)",)

MESSAGE = Message(
    en=Words(
        "`LLM(...)` is given `external_launcher` and no `seed`, which vLLM {version} needs",
        "The ranks of one engine must sample alike, and the default seed of this release is None. vLLM "
        "0.8.3 and newer refuse to start; 0.8.0 to 0.8.2 let the ranks generate different texts without a "
        "word.",
        "Pass one seed to all ranks of a tensor parallel group.",
    ),
    zh=Words(
        "`LLM(...)` 使用了 `external_launcher` 却没有给 `seed`,而 vLLM {version} 需要它",
        "同一引擎的各 rank 必须采样一致,而该版本的默认种子是 None。vLLM 0.8.3 及以上会拒绝启动;0.8.0 到 "
        "0.8.2 则会让各 rank 悄悄生成不同的文本。",
        "给同一张量并行组的所有 rank 传入相同的种子。",
    ),
)


@check(PROBLEM)
def external_launcher_seed(script: Script, packages: Packages) -> Judgement:
    """TRL passes a seed itself; this is for scripts that make the engine on their own."""
    for call in script.calls:
        backend = call.arguments.get("distributed_executor_backend")
        if call.name != "LLM" or call.has_star_kwargs or backend is None or backend.value != "external_launcher":
            continue
        if "seed" in call.arguments:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            version=packages.version("vllm"),
            where=Where(file=call.place.file, line=call.place.line, column=call.place.column),
            commands=("seed=0",),
            evidence=(proof(backend),),
        )
