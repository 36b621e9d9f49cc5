"""veRL cannot give the critic (or reward model) a value head.

## What it means
The critic predicts a number for each token. veRL loads the model as Transformers' class for token classification, and,
where that fails, asks TRL for a value head on the plain model. Vision-language models have no such class, and TRL is no
dependency of veRL.
## What it does to a run
The critic's workers end while they build the model.
## What to do
GRPO and its kin need no critic; else install a TRL that has the head, or take a model with the class.
## How it is found
In a log: by veRL's refusal.
## References
https://github.com/verl-project/verl/blob/main/verl/utils/model.py
https://github.com/verl-project/verl/issues/4968
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL044", name="critic-not-loaded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: model\((?P<folder>[^)\n]{1,300})\) is not a value head model, please install trl",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "veRL could not load the critic with a value head, and TRL is not installed",
        "`AutoModelForTokenClassification` failed first; its exception stands above in the whole log. Vision-language "
        "models (Qwen-VL and others) have no such class; a missing folder, too little memory or no flash-attn ends "
        "there as well. Only then veRL looks for TRL's value head.",
        "Without need for a critic take GRPO: `algorithm.adv_estimator=grpo` and no `critic.*` settings. Else read "
        "the first exception; where the class is missing, `pip install 'verl[trl]'` (its setup.py wants `trl<=0.9.6`, "
        "whose value head newer ones lack at that place), or name a text model with the same tokenizer in "
        "`critic.model.path`.",
    ),
    zh=Words(
        "veRL 无法为 critic 加载 value head,且没有安装 TRL",
        "首先失败的是 `AutoModelForTokenClassification`,其异常位于完整日志的上方。视觉语言模型(Qwen-VL 等)没有这样的类;"
        "目录不存在、内存不足或没有 flash-attn 也会在此失败。之后 veRL 才去找 TRL 的 value head。",
        "不需要 critic 时用 GRPO:`algorithm.adv_estimator=grpo`,且不设 `critic.*`。否则先看第一个异常;若缺的是类,`pip "
        "install 'verl[trl]'`(其 setup.py 要求 `trl<=0.9.6`,更新的版本在该处没有 value head),或在 `critic.model.path` "
        "中写同一分词器的文本模型。",
    ),
)
