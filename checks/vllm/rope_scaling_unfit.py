"""The engine does not understand `rope_scaling` of the model.

## What it means
Transformers renamed the key `type` to `rope_type` (4.43), added kinds (llama3, yarn, mrope) and moved the
setting to `rope_parameters` (5). A config.json of one era and an engine of another do not fit.
## What it does to a run
The engine ends while it reads the configuration.
## What to do
An engine and transformers that fit the checkpoint, or the key written as they want it.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/huggingface/transformers/blob/v4.43.0/src/transformers/modeling_rope_utils.py
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/modeling_rope_utils.py
https://github.com/vllm-project/vllm/issues/9481
https://github.com/vllm-project/vllm/issues/6897
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL066", name="rope-scaling-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"rope_scaling (?:should|must) have a (?P<wanted>[^\n]{4,40}?) key",
    ),
    Signature(
        r"^\s{1,12}(?:if |assert |rope_type = |scaling_factor ="
        r" )[^\n]{0,60}rope_scaling\[\x22(?P<key>\w{1,40})\x22\]",
    ),
    Signature(
        r"^\s{1,12}assert \x22(?P<key>\w{1,40})\x22 in rope_scaling",
    ),
    Signature(
        r"Unknown RoPE scaling type (?P<kind>\w{1,40})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the engine does not understand `rope_scaling` of the model's config.json",
        "The key of its kind was called `type` and is `rope_type` since transformers 4.43 "
        "(`rope_parameters` since 5), and newer kinds (llama3, yarn, mrope) are unknown to older "
        "engines. A checkpoint that was saved by another transformers release than the engine expects, "
        "or a `--rope-scaling` argument without the key, ends here.",
        "Upgrade the engine and transformers together (`pip install -U vllm transformers`), or save the "
        'checkpoint with the release that the engine uses. Else write the key by hand: `"rope_scaling": '
        '{{"rope_type": "llama3", "type": "llama3", "factor": 8.0, ...}}` in config.json (copy it from '
        "the base model), or the same by `--hf-overrides`.",
    ),
    zh=Words(
        "引擎不理解模型 config.json 中的 `rope_scaling`",
        "表示其类型的键原名 `type`,自 transformers 4.43 起为 `rope_type`(5 起为 `rope_parameters`),较新的"
        "类型(llama3、yarn、mrope)旧引擎不认识。检查点由与引擎所期望不同的 transformers 版本保存,或 "
        "`--rope-scaling` 参数缺少该键,都会在此终止。",
        "一起升级引擎与 transformers(`pip install -U vllm transformers`),或用引擎所用的版本保存检查点。否"
        '则手动补上该键:在 config.json 中写 `"rope_scaling": {{"rope_type": "llama3", "type": "llama3", '
        '"factor": 8.0, ...}}`(从基础模型复制),或用 `--hf-overrides` 给出。',
    ),
)

LOG_CONFIDENCE = LIKELY
