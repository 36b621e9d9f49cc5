"""Judges sglang-model-unfit (VLL075), whose words stand in the TOML beside it."""

from __future__ import annotations

from math import gcd

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
WORKER = TOML["worker"]
WIDTHS = TOML["widths"]


#: widths of models are multiples of this, lengths of sequences seldom
_WIDTH = 64
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


def explain(hits: Hits) -> Finding | None:
    """A class of vLLM's, a method or a width that the draft needs, a worker that takes no weights."""
    if worker := hits.get("worker"):
        return found(
            PROBLEM, WORKER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, worker=worker,
            call=hits.get("call") or "",
        )  # fmt: skip
    if one := hits.get("one") or hits.get("wide"):
        two = hits.get("two") or hits.get("high") or "1"
        if gcd(int(one), int(two)) < _WIDTH:
            return None
        return found(PROBLEM, WIDTHS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, one=one, two=two)
    of_vllm = bool(hits.of(0))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        model=hits.get("model") or "", name=hits.get("name") or "", reason=_VLLM if of_vllm else _DRAFT,
        reason_zh=_VLLM_ZH if of_vllm else _DRAFT_ZH, draft="" if of_vllm else _PATH,
        draft_zh="" if of_vllm else _PATH_ZH,
    )  # fmt: skip
