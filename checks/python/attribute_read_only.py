"""Code sets an attribute that the installed release computes by itself.

## What it means
An attribute that could be assigned in one release is a property without a setter in another: the value is derived from
others, or kept under another name.
## What it does to a run
AttributeError at the assignment.
## What to do
Set what it is derived from, or install the release that the code was written for.
## How it is found
In a log: by the interpreter's words for a property without a setter.
## References
https://docs.python.org/3/library/functions.html#property
https://github.com/zhshgmail/easyr1-npu
"""

from __future__ import annotations

from doctor.checks.python._api_history import asker_of
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT044", name="attribute-read-only", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: property '(?P<name>\w{1,80})' of '(?P<owner>\w{1,80})' object has no setter$",
        symptom_of=("TRL", "TRF", "VLL", "DSP", "PFT", "VRL"),
    ),
    Signature(r"^AttributeError: can't set attribute '(?P<name>\w{1,80})'$", symptom_of=("TRL", "TRF", "VLL", "PFT")),
)

LOG_MESSAGE = Message(
    en=Words(
        "{asker} sets `{name}`{owner}, which is read-only in the installed release",
        "In the release that the code was written for it was a plain attribute; here it is a property that is derived "
        "from other values, so it cannot be assigned.",
        "Do not set it: pass the value when the object is made, or set what it is derived from (look at the property's "
        "code or the release notes). Or install the release that the code was written for, as its requirements name "
        "it. Code that copies settings in a loop should skip properties: `if not "
        "isinstance(getattr(type(obj), key, None), property)`.",
    ),
    zh=Words(
        "{asker_zh}设置了`{name}`{owner_zh},而它在所装版本中是只读的",
        "在代码所针对的版本中它是普通属性;这里它是由其他值推导的 property,不能赋值。",
        "不要设置它:在创建对象时传入该值,或设置它所依据的值(查看该 property 的源码或发布说明)。或安装代码 requirements "
        "所指的版本。在循环中复制设置的代码应跳过 property:`if not isinstance(getattr(type(obj), key, None), "
        "property)`。",
    ),
)


#: class -> the library it belongs to, where its name alone tells
_LIBRARIES = {
    "SamplingParams": "vLLM", "LoRARequest": "vLLM", "VllmConfig": "vLLM", "ModelConfig": "vLLM",
    "GenerationConfig": "Transformers", "TrainingArguments": "Transformers", "DynamicCache": "Transformers",
    "AcceleratorState": "Accelerate", "Accelerator": "Accelerate", "DeepSpeedEngine": "DeepSpeed",
}  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Who sets it, and of which class it is where the interpreter tells."""
    asker = asker_of(hits.first.frames)
    owner = hits.get("owner")
    library = _LIBRARIES.get(owner or "", "")
    shown = f"{library}'s `{owner}`" if library else f"`{owner}`"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
        asker=f"`{asker}`" if asker else "the code", asker_zh=f"`{asker}`" if asker else "代码",
        owner=f" of {shown}" if owner else "", owner_zh=f"({library} `{owner}`)" if owner else "",
    )  # fmt: skip
