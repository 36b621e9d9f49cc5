"""TRANSFORMERS_CACHE names the cache, and Transformers 5 does not read it.

## What it means
The variable was deprecated in Transformers 4 and is gone in 5.0. The cache is where HF_HUB_CACHE or HF_HOME say.
## What it does to a run
Models are downloaded a second time, into the home folder, which on clusters is small; without a network they are not
found.
## What to do
Set HF_HUB_CACHE to the same folder.
## How it is found
The variable as the run will have it, against the cache that huggingface_hub will use.
## References
https://huggingface.co/docs/transformers/installation#cache-directory
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/utils/hub.py
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/utils/hub.py
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="HUB006", name="transformers-cache-ignored", severity=WARNING, since="0.1", affects={"transformers": ">=5.0"}
)
VARIABLE = "TRANSFORMERS_CACHE"

MESSAGE = Message(
    en=Words(
        "`TRANSFORMERS_CACHE` is not read by Transformers {version}",
        "Models go to `{cache}` instead and are downloaded again; where downloads are not possible they are not found.",
        "Set HF_HUB_CACHE to the same folder.",
    ),
    zh=Words(
        "Transformers {version} 不再读取 `TRANSFORMERS_CACHE`",
        "模型会放到 `{cache}` 并重新下载;无法下载时则找不到模型。",
        "把 HF_HUB_CACHE 设为同一目录。",
    ),
)


@check(PROBLEM)
def transformers_cache_ignored(
    environment: Environment, hub: Hub, packages: Packages, training: Training | None
) -> Judgement:
    """Silent where the other variables lead to the same folder."""
    value = value_of(environment, training, VARIABLE)
    cache = value_of(environment, training, "HF_HUB_CACHE") or hub.cache_dir
    if not value or cache is None or cache.rstrip("/") == value.rstrip("/"):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("transformers"),
        cache=cache,
        where=where_set(training, VARIABLE),
        commands=(f"export HF_HUB_CACHE={value}",),
        evidence=shown(VARIABLE, value),
    )
