"""Judges accelerate-key-unknown (ACC003), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.spelling import nearest
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof, unread_config
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNKNOWN = TOML["unknown"]
STRANGE = TOML["strange"]
ELSEWHERE = TOML["elsewhere"]


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
    setting = next(each for name, each in accelerate.settings.items() if name.partition(".")[0] == key)
    near = nearest(key, ALWAYS | SOMETIMES.keys())
    yield found(
        PROBLEM,
        ELSEWHERE if releases else UNKNOWN if near else STRANGE,
        key=key,
        nearest=near or "",
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
