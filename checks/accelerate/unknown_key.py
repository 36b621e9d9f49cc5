"""The accelerate configuration holds a key that the installed release does not know.

## What it means
A key is misspelt, belongs under `deepspeed_config` or `fsdp_config`, or came with another release of accelerate.
## What it does to a run
`accelerate launch` ends at once: `The config file at ... had unknown keys`.
## What to do
Correct or remove the key, or install the release that knows it.
## How it is found
Top-level keys of the file against the fields of accelerate's `ClusterConfig`, release by release.
In a log: by the exception of `accelerate launch`.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/commands/config/config_args.py
"""

from __future__ import annotations

import re

from doctor.checks.launch._helpers import proof, unread_config
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="ACC003", name="accelerate-key-unknown", severity=ERROR, since="0.1", affects={"accelerate": ">=0.23"}
)

SIGNATURES = (
    Signature(
        r"ValueError: The config file at (?P<file_named>[^\s]{1,300}) had unknown keys"
        r" \((?P<keys>\[[^\]\n]{1,400}\])\)",
    ),
    Signature(  # accelerate before 0.23 did not compare them
        r"TypeError: (?:\w{1,40}\.)?__init__\(\) got an unexpected keyword argument (?P<keys>'\w{1,80}')",
        frame=r"accelerate[\\/]commands[\\/]config[\\/]config_args\.py:from_(?:yaml|json)_file",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the accelerate configuration has keys that the installed release does not know: {keys}",
        "The file was written by a newer `accelerate config`, often the default file in the cache, or a "
        "key is misspelt. `accelerate launch` reads it before anything starts.",
        "Upgrade with `pip install -U accelerate`, or remove {keys} from `{path}` (or make the file "
        "again with `accelerate config`).",
    ),
    zh=Words(
        "accelerate 配置中有已安装版本不认识的键:{keys}",
        "该文件由更新版本的 `accelerate config` 写成(往往是缓存中的默认文件),或键名拼写有误。`accelerate "
        "launch` 在启动任何东西之前就读取它。",
        "用 `pip install -U accelerate` 升级,或从 `{path}` 中删除 {keys}(或用 `accelerate config` 重新生成)。",
    ),
)

#: fields of ClusterConfig and its base in every release from 0.23.0 to 1.15.0; `fp16` and `dynamo_backend` are old
#: spellings that are converted (https://github.com/huggingface/accelerate/commits/main/src/accelerate/commands/config)
ALWAYS = frozenset({
    "command_file", "commands", "compute_environment", "debug", "deepspeed_config", "distributed_type",
    "downcast_bf16", "dynamo_config", "fsdp_config", "gpu_ids", "machine_rank", "main_process_ip",
    "main_process_port", "main_training_function", "megatron_lm_config", "mixed_precision", "num_machines",
    "num_processes", "rdzv_backend", "same_network", "tpu_env", "tpu_name", "tpu_use_cluster", "tpu_use_sudo",
    "tpu_vm", "tpu_zone", "use_cpu", "fp16", "dynamo_backend",
})  # fmt: skip
#: field -> the releases that have it
SOMETIMES = {
    "mpirun_config": ">=0.28",
    "enable_cpu_affinity": ">=0.29",
    "fp8_config": ">=0.34",
    "parallelism_config": ">=1.10",
    "tp_config": ">=1.4,<1.7",
    "ipex_config": "<1.13",
}
NEWEST_READ = "<=1.15.0"

UNKNOWN = Message(
    en=Words(
        "accelerate knows no key `{key}`",
        "`accelerate launch` ends at once with `The config file had unknown keys (['{key}'])`.",
        "Correct the key (the nearest known one is `{nearest}`), or remove the line.",
    ),
    zh=Words(
        "accelerate 不认识键 `{key}`",
        "`accelerate launch` 会立即以 `The config file had unknown keys (['{key}'])` 退出。",
        "改正该键(最接近的是 `{nearest}`),或删去这一行。",
    ),
)
ELSEWHERE = Message(
    en=Words(
        "accelerate {version} knows no key `{key}`",
        "The key belongs to releases {releases}. `accelerate launch` ends at once with `The config file had unknown "
        "keys (['{key}'])`.",
        "Remove the line, or install a release that knows the key.",
    ),
    zh=Words(
        "accelerate {version} 不认识键 `{key}`",
        "该键属于 {releases} 的版本。`accelerate launch` 会立即以 `The config file had unknown keys "
        "(['{key}'])` 退出。",
        "删去这一行,或安装认识该键的版本。",
    ),
)


@check(PROBLEM)
def unknown_key(launch: Launch, accelerate: AccelerateConfig | None, packages: Packages) -> Judgement:
    """Top-level keys only; SageMaker files have a class of their own."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    where_runs = accelerate.settings.get("compute_environment")
    if launch.kind not in {"accelerate", "trl"} or (where_runs and where_runs.value != "LOCAL_MACHINE"):
        return
    sure = CONFIRMED if packages.matches("accelerate", NEWEST_READ) else LIKELY
    seen = set()
    for setting in accelerate.settings.values():
        key = setting.name.partition(".")[0]
        if key in ALWAYS or key in seen:
            continue
        seen.add(key)
        releases = SOMETIMES.get(key)
        if releases and packages.matches("accelerate", releases):
            continue
        yield from _findings(key, releases, accelerate, packages, sure)


def _findings(
    key: str, releases: str | None, accelerate: AccelerateConfig, packages: Packages, sure: Confidence
) -> Judgement:
    import difflib

    setting = next(each for name, each in accelerate.settings.items() if name.partition(".")[0] == key)
    nearest = (difflib.get_close_matches(key, ALWAYS | SOMETIMES.keys(), 1, 0.5) or ["num_processes"])[0]
    yield found(
        PROBLEM,
        ELSEWHERE if releases else UNKNOWN,
        key=key,
        nearest=nearest,
        releases=releases or "",
        version=packages.version("accelerate"),
        where=place_of(setting),
        confidence=sure,
        evidence=(proof(setting),),
    )


def explain(hits: Hits) -> Finding | None:
    """Name the keys and the file."""
    keys = re.findall(r"'(\w{1,80})'", hits.get("keys") or "")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("pip install -U accelerate",),
        keys=", ".join(f"`{key}`" for key in keys[:4]),
        path=(hits.get("file_named") or "").rpartition("/")[2] or "~/.cache/huggingface/accelerate/default_config.yaml",
    )
