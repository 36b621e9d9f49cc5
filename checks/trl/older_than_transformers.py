"""Transformers is newer than the TRL beside it.

## What it means
Transformers 4.46 gave its Trainer a method `get_batch_samples`, and TRL up to 0.11 has one of the same name in its
preference trainers, which generates samples from a model. The new Trainer calls the old method with its iterator.
## What it does to a run
AttributeError or TypeError before the first step of DPO, KTO, CPO, ORPO or BCO.
## What to do
Upgrade TRL, or pin Transformers below 4.46.
## How it is found
In a log: by what TRL's method asks of the iterator.
## References
https://github.com/huggingface/trl/issues/2275
https://github.com/huggingface/trl/issues/2292
https://github.com/jingyaogong/minimind/issues/141
https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/trainer.py
https://github.com/huggingface/trl/blob/v0.11.4/trl/trainer/dpo_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL073", name="trl-older-than-transformers", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: 'generator' object has no attribute 'generate'$",
        frame=r"Trainer\w{0,20}\.py:get_batch_samples|_trainer\.py:get_batch_samples",
        own_code=True,  # projects copied these trainers
    ),
    Signature(
        r"^TypeError: (?:\w{0,60}Trainer\.)?get_batch_samples\(\) takes 3 positional arguments but [45] were given",
        symptom_of=("TRF030", "TRF011"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Transformers calls `get_batch_samples` of a TRL trainer that is older than 0.12",
        "From 4.46 on the Trainer has a method of this name that draws batches. TRL's preference trainers had one that "
        "generates text from a model; it took the place of the new one. The model is fine.",
        'Upgrade TRL: `pip install -U "trl>=0.12"` (`tokenizer=` is `processing_class=` there), or where a project '
        'pins TRL: `pip install "transformers<4.46"`. In a trainer class of your own rename its `get_batch_samples`.',
    ),
    zh=Words(
        "Transformers 调用了早于 0.12 的 TRL 训练器的 `get_batch_samples`",
        "自 4.46 起 Trainer 有一个同名方法用于取批次;而 TRL 的偏好训练器原有的同名方法用模型生成文本,取代了新的方法。"
        "模型本身没有问题。",
        '升级 TRL:`pip install -U "trl>=0.12"`(其中 `tokenizer=` 改为 `processing_class=`);若项目固定了 TRL:`pip '
        'install "transformers<4.46"`。自己的训练器类请重命名其 `get_batch_samples`。',
    ),
)

LOG_CONFIDENCE = LIKELY
