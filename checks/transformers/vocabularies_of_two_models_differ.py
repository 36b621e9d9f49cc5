"""Logits of two models meet whose vocabularies have different sizes.

## What it means
Distillation, KL to a reference and contrastive decoding compare two models' scores token by token. Models of one
family share the tokenizer and still pad their output layer differently: Qwen2.5 has 151,936 rows up to 3B and
152,064 from 7B on.
## What it does to a run
RuntimeError in the first loss, or a refusal when the trainer is made.
## What to do
Cut both to the smaller size where the tokenizers are the same; otherwise use a method for different tokenizers.
## How it is found
In a log: by two sizes in the exception of which one is that of a known output layer, or by TRL's own refusal.
## References
https://github.com/meta-pytorch/torchtune/issues/2119
https://github.com/microsoft/LMOps/pull/331
https://github.com/QwenLM/Qwen3/issues/466
https://github.com/huggingface/trl/blob/main/trl/experimental/gkd/gkd_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF062", name="vocabularies-of-two-models-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^RuntimeError: The size of tensor a \((?P<one>\d{5,6})\) must match the size of tensor b "
        r"\((?P<two>\d{5,6})\) at non-singleton dimension"
    ),
    Signature(
        r"^RuntimeError: The expanded size of the tensor \((?P<one>\d{5,6})\) must match the existing size "
        r"\((?P<two>\d{5,6})\) at non-singleton dimension"
    ),
    Signature(
        r"^ValueError: The student model has vocab_size (?P<one>\d{2,9}) but the teacher model has vocab_size "
        r"(?P<two>\d{2,9})"
    ),
)

#: rows of output layers as `vocab_size` in `config.json` tells them, without powers of two, which lengths have as well:
#: Qwen, GLM, Llama, Gemma, Mistral, Phi, Yi, InternLM, Baichuan, DeepSeek, GPT-2, OPT, Falcon, Bloom
_KNOWN = frozenset(
    {151936, 152064, 151643, 151646, 151665, 151669, 248320, 150528, 151552, 65024, 59246, 32000, 32001, 32064, 128256,
     128264, 256000, 262208, 51200, 100352, 200064, 64000, 103168, 92544, 92553, 125696, 102400, 129280, 50257, 50265,
     50304, 50272, 50280, 250880, 154880, 49152, 49280, 131584, 100278, 50688}
)  # fmt: skip
#: smaller than this, a size may be a length of text
_LEAST = 30_000

LOG_MESSAGE = Message(
    en=Words(
        "logits over {one} and over {two} tokens meet: the two models have vocabularies of different size",
        "Teacher and student (or policy and reference) are compared token by token, and their output layers differ by "
        "{difference} rows. In one family these are mostly padding that no token uses (Qwen2.5: 151936 up to 3B, "
        "152064 from 7B on); in different families the ids mean different tokens and cannot be compared at all.",
        "Same tokenizer: cut the logits of both to the smaller size before the loss (`logits[..., :{least}]`), or take "
        "a teacher and student of the same vocab_size. Different tokenizers: a method for that (TRL's GOLDTrainer, "
        "universal logit distillation), or train on text that the teacher wrote. After tokens were added to one model, "
        "resize the other alike (`resize_token_embeddings`).",
    ),
    zh=Words(
        "{one} 与 {two} 个 token 的 logits 相遇:两个模型的词表大小不同",
        "教师与学生(或策略与参考模型)逐 token 比较,而它们的输出层相差 {difference} 行。同一系列中这通常是没有 token 使"
        "用的填充(Qwen2.5:3B 及以下为 151936,7B 起为 152064);不同系列中 id 含义不同,根本无法比较。",
        "分词器相同:在计算损失前把两者的 logits 截断到较小的大小(`logits[..., :{least}]`),或选用 vocab_size 相同的教师"
        "与学生。分词器不同:使用相应方法(TRL 的 GOLDTrainer、universal logit distillation),或用教师生成的文本训练。若给"
        "其中一个模型添加过 token,另一个也要同样调整(`resize_token_embeddings`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Two sizes beyond any usual length, one of them that of a known output layer."""
    first = hits.first
    one, two = int(first.groups["one"]), int(first.groups["two"])
    named = first.signature == 2
    if one == two or (not named and (min(one, two) < _LEAST or not {one, two} & _KNOWN)):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if named else LIKELY,
        one=one, two=two, least=min(one, two), difference=abs(one - two),
    )  # fmt: skip
