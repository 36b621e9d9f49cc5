"""`--max-model-len` is longer than the model's window.

## What it means
The server is to take sequences longer than `max_position_embeddings` of the model's config.json. vLLM
refuses that, because positions which the model never saw give nan or nonsense.
## What it does to a run
`ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len` before anything
is loaded.
## What to do
Lower the length. A model whose documentation names a RoPE scaling gets it by `--hf-overrides`.
`VLLM_ALLOW_LONG_MAX_MODEL_LEN=1` silences the error and leaves its reason.
## How it is found
The option against the model's local config.json, for model types and RoPE kinds whose window is that
number.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/model.py
https://docs.vllm.ai/en/latest/configuration/engine_args/
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.checks.vllm._helpers import overridden
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.model import Model
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL014", name="max-model-len-beyond-window", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError: |Value error, )User-specified max_model_len \((?P<asked>\d{1,9})\) is"
        r" greater than the derived max_model_len \((?P<key>\w{1,60})=(?P<window>[\d.]{1,12})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`max_model_len` of {asked} is longer than the model's window of {window}",
        "`{key}` in the model's config.json says {window}. Positions beyond it were never trained: "
        "answers turn to garbage, and some models read outside of their tables.",
        "Set `--max-model-len {window}` or less (`vllm_max_model_length` in TRL, prompt plus response in "
        "veRL), take a model with a longer window, or extend it on purpose with rope scaling "
        "(`--hf-overrides`).",
    ),
    zh=Words(
        "`max_model_len` 为 {asked},超过了模型的窗口 {window}",
        "模型 config.json 中的 `{key}` 为 {window}。超出的位置从未训练过:输出会变成乱码,有的模型甚至会越界读取。",
        "把 `--max-model-len` 设为 {window} 或更小(TRL 中为 `vllm_max_model_length`,veRL 中为 prompt 与 "
        "response 长度之和);或换窗口更长的模型;或有意用 rope scaling 扩展(`--hf-overrides`)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`--max-model-len {length}` is beyond the window of `{model}`, {window} tokens",
        "vLLM ends with `User-specified max_model_len ({length}) is greater than the derived max_model_len` before it "
        "loads anything.",
        "Use at most {window}, or give the RoPE scaling that the model's documentation names by `--hf-overrides`.",
    ),
    zh=Words(
        "`--max-model-len {length}` 超出 `{model}` 的窗口({window} 个 token)",
        "vLLM 在加载之前就会以 `User-specified max_model_len ({length}) is greater than the derived max_model_len` 退"
        "出。",
        "最多使用 {window},或用 `--hf-overrides` 给出模型文档中的 RoPE scaling。",
    ),
)


#: model types whose window is `max_position_embeddings`, as long as no scaling changes it
PLAIN = {"llama", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "mistral"}


@check(PROBLEM)
def length_beyond_window(serving: Serving, model: Model, environment: Environment | None) -> Judgement:
    """YaRN and its like stretch the window and are left alone."""
    length, window = serving.max_model_len, model.max_position_embeddings
    setting = serving.arguments.get("max_model_len")
    if length is None or window is None or length <= window or setting is None or overridden(serving):
        return
    if model.model_type not in PLAIN or model.rope_type not in {None, "default", "llama3"}:
        return
    if environment is None:
        yield Skip("the environment of the command, which may allow this length, is not known")
        return
    if environment.flag("VLLM_ALLOW_LONG_MAX_MODEL_LEN"):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        length=length,
        window=window,
        model=model.name,
        where=place_of(setting),
        commands=(f"--max-model-len {window}",),
        evidence=(proof(setting), Evidence(f"{model.folder}/config.json", f"max_position_embeddings: {window}")),
    )


def explain(hits: Hits) -> Finding | None:
    """Name both lengths, and the window as a whole number."""
    window = (hits.get("window") or "").partition(".")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"--max-model-len {window}",),
        asked=hits.get("asked"),
        window=window,
        key=hits.get("key"),
    )
