"""The dataset has several configurations and none, or a wrong one, was named.

## What it means
Many datasets hold several subsets (`main` and `socratic` of GSM8K) under one name; one of them must be
chosen as the second argument.
## What it does to a run
`load_dataset` raises ValueError before anything is downloaded.
## What to do
Pass the name of the configuration as the second argument of `load_dataset`, or `--dataset_config` to TRL's
scripts.
## How it is found
In a log: by the exception of the builder.
## References
https://huggingface.co/docs/datasets/load_hub#configurations
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/builder.py
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT017", name="dataset-config-unnamed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Config name is missing\."),
    Signature(
        r"ValueError: BuilderConfig '(?P<config>[^'\n]{1,80})' not found\. Available:"
        r" (?P<configs>\[[^\]\n]{1,600}\])",
    ),
    Signature(r"^Please pick one among the available configs: (?P<configs>\[[^\]\n]{1,600}\])", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no configuration of the dataset was named; it has {configs}",
        "The dataset holds several subsets under one name, and none is the default.",
        'Name one as the second argument, `load_dataset(NAME, "{first}")`, or with `--dataset_config` in '
        "TRL's scripts.",
    ),
    zh=Words(
        "未指定数据集的配置;可用的有 {configs}",
        "该数据集在一个名称下有多个子集,且没有默认项。",
        '把其中之一作为第二个参数,`load_dataset(NAME, "{first}")`,或在 TRL 脚本中用 `--dataset_config`。',
    ),
)

LOG_MESSAGE_WRONG = Message(
    en=Words(
        "the dataset has no configuration `{config}`; it has {configs}",
        "The second argument of `load_dataset` names a subset that the dataset does not have.",
        "Use one of {configs} as the second argument of `load_dataset` (`--dataset_config` in TRL's "
        "scripts), or leave it out for `default`.",
    ),
    zh=Words(
        "数据集没有配置 `{config}`;可用的有 {configs}",
        "`load_dataset` 的第二个参数指定了数据集没有的子集。",
        "把 {configs} 之一作为 `load_dataset` 的第二个参数(TRL 脚本中为 `--dataset_config`);若为 `default` 则可省略。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the configurations that exist."""
    names = re.findall(r"'([^']{1,80})'", hits.get("configs") or "")
    config = hits.get("config")
    return found(
        PROBLEM,
        LOG_MESSAGE_WRONG if config else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        config=config,
        configs=", ".join(f"`{name}`" for name in names[:6]) or "several",
        first=names[0] if names else "CONFIG",
    )
