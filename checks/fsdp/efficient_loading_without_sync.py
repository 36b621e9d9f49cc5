"""FSDP is to load the model on one rank only and not to hand it to the others.

## What it means
`fsdp_sync_module_states` is false while `fsdp_cpu_ram_efficient_loading` is true, which it also is where the file
does not mention it. All ranks but the first would train random weights.
## What it does to a run
The launcher refuses: `When using --fsdp_cpu_ram_efficient_loading set --fsdp_sync_module_states to True`.
## What to do
Set `fsdp_sync_module_states: true`, or turn `fsdp_cpu_ram_efficient_loading` off.
## How it is found
The two keys, with the launcher's defaults. Run with accelerate 1.15.0, for FSDP1 and FSDP2.
In a log: by the exception of the launcher.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/launch.py
"""

from __future__ import annotations

from doctor.checks.fsdp._helpers import fsdp_setting, uses_fsdp
from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

PROBLEM = Problem(
    id="FSD003",
    name="fsdp-efficient-loading-without-sync",
    severity=ERROR,
    since="0.1",
    affects={"accelerate": ">=0.24"},
)

SIGNATURES = (
    Signature(
        r"ValueError: When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states`"
        r" to `True`",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP loads the model on rank 0 only, and `sync_module_states` is off",
        "With `fsdp_cpu_ram_efficient_loading` the other ranks start with empty weights and get them "
        "from rank 0 only where module states are synchronized.",
        "Set `fsdp_sync_module_states: true` in the accelerate configuration, or "
        "`fsdp_cpu_ram_efficient_loading: false`.",
    ),
    zh=Words(
        "FSDP 只在 rank 0 上加载模型,而 `sync_module_states` 已关闭",
        "启用 `fsdp_cpu_ram_efficient_loading` 时,其他 rank 以空权重开始,只有同步模块状态才能从 rank 0 得到权重。",
        "在 accelerate 配置中设置 `fsdp_sync_module_states: true`,或 `fsdp_cpu_ram_efficient_loading: false`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`fsdp_sync_module_states` is false while `fsdp_cpu_ram_efficient_loading` is on",
        "Only the first rank loads the weights, and nothing would bring them to the others. The launcher refuses: "
        "`When using --fsdp_cpu_ram_efficient_loading set --fsdp_sync_module_states to True`.",
        "Set `fsdp_sync_module_states: true`.",
    ),
    zh=Words(
        "`fsdp_cpu_ram_efficient_loading` 打开,而 `fsdp_sync_module_states` 为 false",
        "只有第一个 rank 加载权重,其他 rank 得不到它们。启动器会拒绝:`When using --fsdp_cpu_ram_efficient_loading set "
        "--fsdp_sync_module_states to True`。",
        "设置 `fsdp_sync_module_states: true`。",
    ),
)


@check(PROBLEM)
def efficient_loading_without_sync(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """Booleans of the file: text on the command line always counts as true there."""
    if not uses_fsdp(launch, accelerate):
        return
    sync = fsdp_setting(launch, accelerate, "sync_module_states")
    loading = fsdp_setting(launch, accelerate, "cpu_ram_efficient_loading")
    if sync is None or sync.value is not False or (loading is not None and not loading.value):
        return
    commands = ("fsdp_sync_module_states: true",)
    place, proof = place_of(sync, loading), proofs(sync, loading)
    yield found(PROBLEM, MESSAGE, where=place, commands=commands, evidence=proof)
