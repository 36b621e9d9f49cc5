"""SGLang calls a model class that is not made for it.

## What it means
Older SGLang took a model that it did not know, or whose own module failed to import, from the vLLM beside it, whose
`forward` wants `kv_caches` and `attn_metadata`. Speculative decoding asks the target model for its embedding and head,
which not every model of a release offers, and hands it hidden states of the width that the draft's config.json implies;
its workers take the updates of weights, if they can.
## What it does to a run
The scheduler dies on its start or at the first request.
## What to do
Take the SGLang that serves the model, with the vLLM that it names.
## How it is found
In a log: by the argument or method that is missing, below SGLang's frames.
## References
https://github.com/sgl-project/sglang/issues/1065
https://github.com/sgl-project/sglang/issues/4092
https://github.com/sgl-project/sglang/issues/24343
https://github.com/sgl-project/sglang/issues/32226
https://docs.sglang.ai/supported_models/generative_models.html
"""

from __future__ import annotations

from math import gcd

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
    Signature(
        r"^AttributeError: '(?P<worker>\w{0,20}(?:NGRAM|EAGLE|Eagle|Draft|Speculative|Standalone|MTP|Lookahead|DFlash)"
        r"\w{0,20}Worker\w{0,20})' object has no attribute '(?P<call>\w{0,30}weights_\w{1,40})'",
        frame=r"sglang[\\/]srt[\\/]",
    ),
    Signature(
        r"^RuntimeError: (?:The size of tensor a \((?P<one>\d{3,6})\) must match the size of tensor b \("
        r"(?P<two>\d{3,6})\) at non-singleton dimension [12]\b|mat1 and mat2 shapes cannot be multiplied "
        r"\(\d{1,9}x(?P<wide>\d{3,6}) and "
        r"(?P<high>\d{3,6})x\d{1,9}\))",
        frame=r"(?:sglang|vllm)[\\/][^\n]{0,80}(?:[\\/](?:speculative|spec_decode)[\\/]|eagle\w{0,20}\.py)",
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

WORKER = Message(
    en=Words(
        "SGLang's `{worker}` cannot take new weights: it has no `{call}`",
        "With speculative decoding the scheduler hands an update of weights to the worker of the algorithm, and in "
        "this release that one lacks the call: a trainer cannot bring its weights into an engine that speculates this "
        "way.",
        "Start the engine without `--speculative-algorithm`, or with one whose worker has the call (EAGLE), until a "
        "newer release of SGLang has it: `pip install -U sglang`.",
    ),
    zh=Words(
        "SGLang 的 `{worker}` 无法接收新权重:没有 `{call}`",
        "使用投机解码时,调度器把权重更新交给该算法的 worker,而此版本的这个 worker 没有该方法:训练器无法把权重同步到以"
        "此方式投机解码的引擎。",
        "启动引擎时去掉 `--speculative-algorithm`,或改用 worker 支持该方法的算法(EAGLE),直到较新的 SGLang 提供:"
        "`pip install -U sglang`。",
    ),
)

WIDTHS = Message(
    en=Words(
        "hidden states of two widths meet in the engine's speculative decoding: {one} and {two}",
        "A draft is made for one target: it takes hidden states of that model's width, EAGLE3 those of several layers "
        "side by side (three mostly). A draft of another model, or a `config.json` of the draft that names another "
        "number of layers than the engine reads, gives widths that do not fit; so does a release that reads that "
        "file in another way.",
        "Compare in both `config.json` `hidden_size`, and in the draft's `eagle_aux_hidden_state_layer_ids` (how many "
        "layers) and `target_hidden_size`; take the draft and the release of the engine that the draft's page names. "
        "Without speculation the model serves in the meantime.",
    ),
    zh=Words(
        "引擎的投机解码中遇到两种宽度的隐藏状态:{one} 与 {two}",
        "草稿模型只为一个目标模型而作:它接收该模型宽度的隐藏状态,EAGLE3 则接收若干层(多为三层)拼接后的。若草稿属于其他"
        "模型,或其 `config.json` 写明的层数与引擎读取的不同,宽度就不匹配;以另一种方式读取该文件的版本也会如此。",
        "比较两个 `config.json` 的 `hidden_size`,以及草稿的 `eagle_aux_hidden_state_layer_ids`(层数)和 "
        "`target_hidden_size`;使用草稿说明页所写的草稿与引擎版本。在此期间可不用投机解码提供服务。",
    ),
)


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
