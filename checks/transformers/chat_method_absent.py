"""Code calls `model.chat`, which Transformers' own model classes do not have.

## What it means
`chat`, `chat_stream` and their kin were written by the makers of single models (Qwen 1, InternVL, ChatGLM, MiniCPM-V)
into the remote code of their checkpoints. Models that Transformers supports itself (Qwen1.5 and newer, Llama, InternVL
in its `-hf` form) have none of these methods.
## What it does to a run
AttributeError at the first answer, for example in an evaluation or a reward that asks a model.
## What to do
Use the chat template and `generate`, or the checkpoint whose remote code has the method.
## How it is found
In a log: by the method and the class in the exception.
## References
https://github.com/QwenLM/Qwen/issues/1212
https://github.com/QwenLM/Qwen3/issues/246
https://github.com/open-compass/VLMEvalKit/issues/1174
https://huggingface.co/docs/transformers/main/en/chat_templating
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF070", name="chat-method-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<model>\w{2,60}(?:Model|ForCausalLM|ForConditionalGeneration))' object has no attribute "
        r"'(?P<method>chat|chat_stream|stream_chat|batch_chat)'"
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "`{model}` has no method `{method}`: only the remote code of some checkpoints has one",
        "The code was written for a checkpoint with classes of its own. Here the model was loaded with a class of "
        "Transformers itself: it is a newer generation (Qwen1.5 and later), the `-hf` form of the checkpoint, or a "
        "name that Transformers supports by now.",
        "Use what every chat model has: `ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, "
        'return_tensors="pt")`, `model.generate(ids)` (for images `processor.apply_chat_template`). Or load the '
        "checkpoint that the code was written for, with `trust_remote_code=True` and the Transformers that its page "
        "names (InternVL: the one without `-hf`).",
    ),
    zh=Words(
        "`{model}` 没有方法 `{method}`:只有某些检查点的远程代码才有",
        "代码是为自带模型类的检查点编写的。此处模型是用 Transformers 自己的类加载的:它是更新的一代(Qwen1.5 及以后)、检"
        "查点的 `-hf` 版本,或 Transformers 现已支持的名称。",
        "使用所有对话模型都有的方式:`ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, "
        'return_tensors="pt")`,`model.generate(ids)`(图像用 `processor.apply_chat_template`)。或加载代码所针对的检查点,'
        "加 `trust_remote_code=True` 并使用其页面所写的 Transformers(InternVL:不带 `-hf` 的那个)。",
    ),
)
