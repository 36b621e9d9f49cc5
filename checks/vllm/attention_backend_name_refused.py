"""vLLM does not know the attention backend that was named, or this model cannot run with it.

## What it means
`VLLM_ATTENTION_BACKEND` (up to vLLM 0.14) and `--attention-backend` name a backend, and the names changed: `_VLLM_V1`
was cut off in 0.11, back ends of engine V0 are gone. A variable that is set to nothing is a name that does not exist.
The vision part of some models runs with a few of them only.
## What it does to a run
The engine ends while the model is built.
## What to do
Unset the variable, or name one of the list.
## How it is found
Before launch, `--attention-backend` by the list in the sources of the installed vLLM. In a log: by vLLM's refusals,
which list the names that it takes.
## References
https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/attention/selector.py
https://github.com/vllm-project/vllm/blob/v0.12.0/vllm/attention/backends/registry.py
https://github.com/vllm-project/vllm/blob/v0.10.0/vllm/model_executor/models/qwen2_5_vl.py
https://github.com/johnson7788/RLDecisionAgent/blob/ef60ea920fa09c11ec20f8640099f975f7fb9215/docs/VL/Error.md
"""

from __future__ import annotations

from difflib import get_close_matches

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.choices import Choices
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL099", name="attention-backend-name-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Invalid|Unknown) attention backend: '(?P<name>[^'\n]{0,80})'\. {1,2}"
        r"Valid (?:backends|options) are: \[?(?P<known>[^\]\n]{1,600})"
    ),
    Signature(
        r"RuntimeError: (?P<model>[\w.\-]{2,60}) does not support (?:_Backend\.|AttentionBackendEnum\.)?"
        r"(?P<backend>[A-Z]\w{1,60}) backend now"
    ),
    Signature(
        r"RuntimeError: VLLM batch_invariant mode (?:is not supported for (?P<invariant>\w{2,40})|requires an "
        r"attention backend in \[(?P<invariant_list>[^\]\n]{3,300})\])"
    ),
    Signature(
        r"AssertionError: (?P<only>[A-Z][\w.\- ]{1,40}?) (?:only )?supports? (?:only )?(?P<fitting>[\w, ]{3,160}?)"
        r" attention backends?(?: for now)?, (?:but )?got (?:prefill=)?(?P<chosen>\w{2,40})"
    ),
    Signature(
        r"ValueError: (?:moe_backend='(?P<moe>\w{2,40})' is not supported for (?P<kind>[\w -]{2,40}?)\. Expected one "
        r"of \[(?P<list>[^\]\n]{3,400})\]|(?P<format>\w{2,12}) MoE backend '(?P<backend_moe>\w{2,40})' does not "
        r"support the deployment configuration since kernel does not support (?P<lack>[^\n.]{3,100}))"
    ),
)

NAME = Message(
    en=Words(
        "`{name}` is no attention backend of this vLLM",
        "It comes from `VLLM_ATTENTION_BACKEND` or `--attention-backend`. Names differ between releases (the ending "
        "`_VLLM_V1` fell away in 0.11, back ends of the old engine are gone), and some belong to other platforms or "
        "to a plugin that is not installed.",
        "Unset it, `unset VLLM_ATTENTION_BACKEND`, so that vLLM picks one that fits; or name one of this release: "
        "{known}.",
    ),
    zh=Words(
        "`{name}` 不是该版本 vLLM 的注意力后端",
        "它来自 `VLLM_ATTENTION_BACKEND` 或 `--attention-backend`。不同版本的名称不同(0.11 起去掉了 `_VLLM_V1` 后缀,"
        "旧引擎的后端已移除),有些属于其他平台或未安装的插件。",
        "取消设置:`unset VLLM_ATTENTION_BACKEND`,让 vLLM 自行选择;或使用该版本的名称之一:{known}。",
    ),
)
EMPTY = Message(
    en=Words(
        "`VLLM_ATTENTION_BACKEND` is set to nothing, which vLLM takes as a backend's name",
        "`export VLLM_ATTENTION_BACKEND=` (or an empty variable of a container or script) does not switch the choice "
        "off: it is a name that no backend has.",
        "Take it away, `unset VLLM_ATTENTION_BACKEND` (in Python: `os.environ.pop('VLLM_ATTENTION_BACKEND', None)` "
        "before vllm is imported), or set a valid one: {known}.",
    ),
    zh=Words(
        "`VLLM_ATTENTION_BACKEND` 被设为空,vLLM 把它当作注意力后端的名称",
        "`export VLLM_ATTENTION_BACKEND=`(或容器、脚本中的空变量)并不会关闭选择:没有后端叫这个名称。",
        "取消它:`unset VLLM_ATTENTION_BACKEND`(Python 中在导入 vllm 之前 "
        "`os.environ.pop('VLLM_ATTENTION_BACKEND', None)`),或设为有效名称:{known}。",
    ),
)
VISION = Message(
    en=Words(
        "the vision part of {model} cannot run with the attention backend `{backend}`",
        "`VLLM_ATTENTION_BACKEND` (or `--attention-backend`) chooses for the language and the vision part alike in "
        "this release, and the vision part has code for a few backends only (FLASH_ATTN, TORCH_SDPA, in older releases "
        "XFORMERS).",
        "`unset VLLM_ATTENTION_BACKEND`, or set `VLLM_ATTENTION_BACKEND=FLASH_ATTN`; newer releases choose for the two "
        "parts apart (`--mm-encoder-attn-backend`): `pip install -U vllm`.",
    ),
    zh=Words(
        "{model} 的视觉部分不能使用注意力后端 `{backend}`",
        "该版本中 `VLLM_ATTENTION_BACKEND`(或 `--attention-backend`)同时决定语言与视觉部分,而视觉部分只有少数后端的实现"
        "(FLASH_ATTN、TORCH_SDPA,旧版本还有 XFORMERS)。",
        "`unset VLLM_ATTENTION_BACKEND`,或设 `VLLM_ATTENTION_BACKEND=FLASH_ATTN`;较新版本可分别选择"
        "(`--mm-encoder-attn-backend`):`pip install -U vllm`。",
    ),
)
ENGINE = Message(
    en=Words(
        "{only} cannot run with the attention backend `{chosen}`",
        "The engine has this model's attention for a few of its backends only ({fitting}). `{chosen}` came from "
        "`--attention-backend` or is the default for this GPU.",
        "Start with one of those: `--attention-backend {first}` (on cards that are not of a data centre most often "
        "`triton`).",
    ),
    zh=Words(
        "{only} 不能使用注意力后端 `{chosen}`",
        "引擎只为该模型实现了少数后端({fitting})。`{chosen}` 来自 `--attention-backend`,或是该 GPU 的默认值。",
        "用其中之一启动:`--attention-backend {first}`(非数据中心显卡多为 `triton`)。",
    ),
)
INVARIANT = Message(
    en=Words(
        "batch-invariant mode is on, and this model's attention (`{backend}`) has no such kernels",
        "`VLLM_BATCH_INVARIANT=1` makes results independent of the batch; vLLM has kernels for it in a few attention "
        "backends only. Hybrid models (Qwen3-Next, Qwen3.5 and 3.6 with linear attention GDN, Mamba) use others.",
        "Switch it off, `unset VLLM_BATCH_INVARIANT`, or serve a model with ordinary attention and "
        "`--attention-backend FLASH_ATTN`. For equal log-probabilities of rollout and trainer use truncated importance "
        "sampling instead.",
    ),
    zh=Words(
        "打开了 batch-invariant 模式,而该模型的注意力(`{backend}`)没有相应内核",
        "`VLLM_BATCH_INVARIANT=1` 使结果与批次无关;vLLM 只在少数注意力后端中有此类内核。混合模型(Qwen3-Next、带线性注意"
        "力 GDN 的 Qwen3.5 与 3.6、Mamba)使用其他后端。",
        "关闭它:`unset VLLM_BATCH_INVARIANT`,或使用普通注意力的模型并设 `--attention-backend FLASH_ATTN`。若要让 "
        "rollout 与训练的对数概率一致,可改用截断重要性采样。",
    ),
)
EXPERTS = Message(
    en=Words(
        "the MoE backend `{moe}` cannot run this model's experts on this machine: {reason}",
        "Each backend has kernels for some formats of the weights, layers and GPUs. It was chosen by `--moe-backend` "
        "or a variable such as `VLLM_USE_FLASHINFER_MOE_FP4`, and holds for all layers, also those that are quantized "
        "otherwise.",
        "Leave `--moe-backend` out (`auto` lets vLLM pick for each format), or name one that fits{known}.",
    ),
    zh=Words(
        "MoE 后端 `{moe}` 无法在此机器上运行该模型的专家:{reason}",
        "每个后端只为部分权重格式、层与 GPU 提供内核。它由 `--moe-backend` 或 `VLLM_USE_FLASHINFER_MOE_FP4` 之类的变量"
        "选定,并作用于所有层,包括量化方式不同的层。",
        "去掉 `--moe-backend`(`auto` 让 vLLM 按格式选择),或指定合适的后端{known}。",
    ),
)
SHOWN = 6  # names of the list that are told


ARGUMENT = Message(
    en=Words(
        "`--attention-backend {name}` is no attention backend of the installed vLLM",
        "The engine ends while it reads the configuration. The list is read from the installed vLLM itself.",
        "Leave the option out, so that vLLM picks one that fits, or write one that it has: {known}.",
    ),
    zh=Words(
        "`--attention-backend {name}` 不是已安装 vLLM 的注意力后端",
        "引擎在读取配置时就会退出。列表读自已安装的 vLLM 本身。",
        "去掉该选项,让 vLLM 自行选择,或改为它支持的名称:{known}。",
    ),
)


@check(PROBLEM)
def attention_backend_name_refused(serving: Serving, choices: Choices | None) -> Judgement:
    """Judge an explicit name as vLLM reads it: in capitals, `auto` for none."""
    setting = serving.arguments.get("attention_backend")
    if setting is None or not setting.known or not isinstance(setting.value, str) or "$" in setting.value:
        return
    known = choices.of("vllm.AttentionBackendEnum") if choices is not None else ()
    name = setting.value.upper()
    if not known:
        yield Skip("the attention backends of the installed vLLM are not known")
    elif name not in {*known, "AUTO", "NONE", ""}:
        near = get_close_matches(name, known, 3, 0.5) or known[:SHOWN]
        yield found(
            PROBLEM, ARGUMENT, where=place_of(setting), evidence=(proof(setting),), confidence=CONFIRMED,
            name=setting.value, known=", ".join(f"`{each}`" for each in near),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Nothing, a name that is not there, or one that the model cannot use."""
    if hits.get("invariant") or hits.get("invariant_list"):
        return found(
            PROBLEM, INVARIANT, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
            backend=hits.get("invariant") or "the one that was chosen", commands=("unset VLLM_BATCH_INVARIANT",),
        )  # fmt: skip
    if hits.get("chosen") or hits.get("moe") or hits.get("backend_moe"):
        return _of_engine(hits)
    name = hits.get("name")
    message = VISION if hits.get("backend") else NAME if name else EMPTY
    known = [each.strip(" '") for each in (hits.get("known") or "").split(",")]
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        name=name or "", model=hits.get("model"), backend=hits.get("backend"),
        known=", ".join(f"`{each}`" for each in known[:SHOWN] if each), commands=("unset VLLM_ATTENTION_BACKEND",),
    )  # fmt: skip


def _of_engine(hits: Hits) -> Finding:
    """A model that has its attention, or its experts, for other backends."""
    fitting = [each.removeprefix("or ").strip() for each in (hits.get("fitting") or "").split(",")]
    known = [each.strip(" '") for each in (hits.get("list") or "").split(",")]
    chosen = hits.get("chosen")
    return found(
        PROBLEM, ENGINE if chosen else EXPERTS, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        only=hits.get("only"), chosen=chosen, fitting=", ".join(f"`{each}`" for each in fitting),
        first="triton" if "triton" in fitting else fitting[0].lower(), moe=hits.get("moe") or hits.get("backend_moe"),
        reason=f"no kernels for {hits.get('kind') or hits.get('lack')}",
        known=f": {', '.join(f'`{each}`' for each in known)}" if hits.get("list") else "",
    )  # fmt: skip
