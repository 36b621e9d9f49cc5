"""TRL is newer than the Transformers beside it.

## What it means
From 0.12 TRL hands `processing_class` to the Trainer, which takes it from Transformers 4.46; later releases
of TRL use other things that came with later releases of Transformers. TRL 0.12.2 does not name that least release.
## What it does to a run
The trainer raises TypeError when it is made, after the model was loaded.
## What to do
Upgrade Transformers, or pin TRL to a release of the same time.
## How it is found
In a log: by the argument that Transformers' Trainer refuses from TRL.
## References
https://github.com/huggingface/trl/blob/v0.12.0/trl/trainer/dpo_trainer.py
https://github.com/huggingface/trl/blob/v0.13.0/setup.py
https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/trainer.py
https://github.com/shibing624/MedicalGPT/issues/444
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL045", name="trl-newer-than-transformers", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TypeError: (?:Trainer\.)?__init__\(\) got an unexpected keyword argument '(?P<name>processing_class)'",
        frame=r"trl[\\/]trainer[\\/]",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "TRL hands `{name}` to a Trainer of Transformers that is too old to take it",
        "The two packages are of different times: TRL 0.12 and newer need Transformers 4.46 or "
        "newer for this argument.",
        'Upgrade Transformers: `pip install -U "transformers>=4.46"` (newest TRL: see `pip show '
        'trl` for what it requires), or pin an older TRL such as `pip install "trl<0.12"` if '
        "Transformers must stay; it has no GRPO.",
    ),
    zh=Words(
        "TRL 把 `{name}` 传给了过旧、无法接受它的 Transformers Trainer",
        "两个包不属于同一时期:TRL 0.12 及以上需要 Transformers 4.46 或更新才能接受该参数。",
        '升级 Transformers:`pip install -U "transformers>=4.46"`(最新 TRL 的要求见 `pip show '
        'trl`);若 Transformers 不能动,则固定旧版 `pip install "trl<0.12"`,但它没有 GRPO。',
    ),
)
