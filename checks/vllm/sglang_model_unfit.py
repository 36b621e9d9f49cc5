"""SGLang calls a model class that is not made for it.

## What it means
Older SGLang took a model that it did not know, or whose own module failed to import, from the vLLM beside it, whose
`forward` wants `kv_caches` and `attn_metadata`. Speculative decoding asks the target model for its embedding and head,
which not every model of a release offers.
## What it does to a run
The scheduler dies on its start or at the first request.
## What to do
Take the SGLang that serves the model, with the vLLM that it names.
## How it is found
In a log: by the argument or method that is missing, below SGLang's frames.
## References
https://github.com/sgl-project/sglang/issues/1065
https://github.com/sgl-project/sglang/issues/4092
https://docs.sglang.ai/supported_models/generative_models.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL075", name="sglang-model-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^TypeError: (?P<model>\w{1,80})\.forward\(\) missing \d required positional arguments?: [^\n]{0,40}'(?P<name>"
        r"attn_metadata|kv_caches)'",
        frame=r"sglang[\\/]srt[\\/]",
    ),
    Signature(
        r"^AttributeError: '(?P<model>\w{1,80})' object has no attribute '(?P<name>(?:get|set)_embed\w{0,30}|"
        r"set_eagle3_layers_to_capture|capture_aux_hidden_states)'",
        frame=r"sglang[\\/]srt[\\/]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "SGLang cannot use `{model}` here: `{name}` does not fit",
        "{reason}",
        'Upgrade SGLang to a release that lists the model (`pip install -U "sglang[all]"`), and bring the '
        "packages beside it to what it names: `pip check`; releases before 0.4.7 name a vLLM version, with "
        "another one their own model file does not import (the warning at start says which).{draft} Without "
        "speculative decoding (`--speculative-algorithm` left out) the model serves in the meantime.",
    ),
    zh=Words(
        "SGLang 无法在此使用 `{model}`:`{name}` 不匹配",
        "{reason_zh}",
        '升级到支持该模型的 SGLang(`pip install -U "sglang[all]"`),并使旁边的包符合其要求:`pip '
        "check`;0.4.7 之前的版本限定了 vLLM 版本,版本不同时其自带的模型文件无法导入(启动时的警告会说明)。{draft_zh}在"
        "此期间可去掉推测解码(不带 `--speculative-algorithm`)提供服务。",
    ),
)


_VLLM = (
    "Its `forward` has the signature of vLLM's class: SGLang's own file of the model was not there or failed to "
    "import, so the class of the installed vLLM was taken."
)
_VLLM_ZH = "其 `forward` 是 vLLM 类的签名:SGLang 自己的模型文件不存在或导入失败,于是用了已安装 vLLM 的类。"
_DRAFT = (
    "Speculative decoding shares embedding and head with the draft; this release offers that for other models only."
)
_DRAFT_ZH = "推测解码需要与草稿模型共享嵌入层和输出层;此版本只对其他模型提供。"


_PATH = (
    " EAGLE3 wants a draft checkpoint of its own: without `--speculative-draft-model-path` the model itself is taken "
    "as the draft, and fails like this."
)
_PATH_ZH = "EAGLE3 需要单独的草稿检查点:不写 `--speculative-draft-model-path` 时会把模型本身当作草稿,从而如此失败。"


def explain(hits: Hits) -> Finding:
    """A class of vLLM's, or a method that the draft model needs."""
    of_vllm = bool(hits.of(0))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        model=hits.get("model") or "", name=hits.get("name") or "", reason=_VLLM if of_vllm else _DRAFT,
        reason_zh=_VLLM_ZH if of_vllm else _DRAFT_ZH, draft="" if of_vllm else _PATH,
        draft_zh="" if of_vllm else _PATH_ZH,
    )  # fmt: skip
