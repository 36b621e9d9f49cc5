"""The model is of another kind than the class that was to load it.

## What it means
Every `AutoModelFor...` class knows a list of architectures. A model that also sees images or hears (Qwen2.5-VL,
Gemma 3, Mistral 3) has a composite configuration, which `AutoModelForCausalLM` does not take; an encoder has no
causal head; and a trainer that is given a name loads it with the class that it was written for.
## What it does to a run
`from_pretrained` raises ValueError and prints the list of all configurations it would take.
## What to do
Load the model with the class of its kind and hand the object to the trainer, or take the text-only sibling.
## How it is found
In a log: by the exception of the automatic classes, which names both.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/models/auto/auto_factory.py
https://github.com/huggingface/trl/issues/3868
https://github.com/om-ai-lab/VLM-R1/issues/242
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF044", name="model-class-of-another-kind", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Unrecognized configuration class <class '(?:[\w.\-]{1,160}\.)?(?P<config>\w{1,60})'> for"
        r" this kind"
        r" of AutoModel: (?P<auto>\w{1,60})"
    ),
    Signature(
        r"ValueError: Unrecognized configuration class <class '(?:[\w.\-]{1,160}\.)?(?P<config>\w{1,60})'> to build an"
        r" (?P<builder>AutoTokenizer)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{auto}` was to load a model with `{config}`, which is not of its kind",
        "The configuration belongs to {kind}. `{auto}` refuses it before any weights are read.",
        "Load it with {classes} and pass the loaded model to the trainer; where TRL loads it by name, "
        "`pip install -U trl` brings one that chooses the class itself (GRPO takes models with images from 0.21 on). "
        "A model that the class should know is newer than the installed Transformers{version}: upgrade that.",
    ),
    zh=Words(
        "`{auto}` 要加载配置为 `{config}` 的模型,而两者不是同一类",
        "该配置属于{kind_zh}。`{auto}` 在读取权重之前就拒绝了它。",
        "用 {classes} 加载,再把模型对象交给训练器;若由 TRL 按名称加载,`pip install -U trl` 升级到会自行选择类的版本"
        "(GRPO 从 0.21 起支持带图像的模型)。若该类本应认识此模型,则是已安装的 Transformers{version} 太旧:升级它。",
    ),
)

TOKENIZER = Message(
    en=Words(
        "Transformers cannot tell which tokenizer a model with `{config}` has",
        "`AutoTokenizer` reads the class from `tokenizer_config.json`, and goes by the model's configuration only "
        "where that file is absent or names none. `{config}` has no tokenizer of its own in this release: the "
        "folder holds no tokenizer (a training wrote the model alone, or the download is incomplete), or the model "
        "is newer than Transformers or brings its own code.",
        "Copy the tokenizer's files (`tokenizer_config.json`, `tokenizer.json`, `special_tokens_map.json`) from the "
        "original model into the folder, or name that model as tokenizer (`--tokenizer`, `--tokenizer-path`). Else "
        "pass `trust_remote_code=True` (`--trust-remote-code`), or `pip install -U transformers`. In training call "
        "`tokenizer.save_pretrained` beside the model's.",
    ),
    zh=Words(
        "Transformers 无法确定配置为 `{config}` 的模型用哪个 tokenizer",
        "`AutoTokenizer` 从 `tokenizer_config.json` 读取类名,只有该文件缺失或未写明时才依据模型配置。此版本中 "
        "`{config}` 没有对应的 tokenizer:目录中没有 tokenizer(训练只写出了模型,或下载不完整),或模型比 Transformers "
        "新或自带代码。",
        "把原始模型的 tokenizer 文件(`tokenizer_config.json`、`tokenizer.json`、`special_tokens_map.json`)复制到该"
        "目录,或另行指定 tokenizer(`--tokenizer`、`--tokenizer-path`)。否则传入 "
        "`trust_remote_code=True`(`--trust-remote-code`),或 `pip install -U transformers`。训练时在保存模型处同时调"
        "用 `tokenizer.save_pretrained`。",
    ),
)

_IMAGES = ("a model with several modalities", "多模态模型", "`AutoModelForImageTextToText`")
_OTHER = ("another kind of model", "另一类模型", "the `AutoModelFor...` class of its task, or its own class")
_MARKS = ("VL", "Vision", "Llava", "Gemma3Config", "Gemma3nConfig", "Gemma4Config", "Mistral3Config", "Llama4Config",
          "Qwen3_5", "Idefics", "PaliGemma", "Mllama", "InternVL", "Omni")  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Tell models with images by the name of their configuration."""
    config, auto = hits.get("config") or "", hits.get("auto") or ""
    if hits.get("builder") and not auto:
        return found(
            PROBLEM, TOKENIZER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, config=config
        )  # fmt: skip
    seen = any(mark in config for mark in _MARKS)
    kind, kind_zh, classes = _IMAGES if seen else _OTHER
    installed = hits.versions.get("transformers")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), config=config, auto=auto, kind=kind,
        kind_zh=kind_zh, classes=classes, version=f" {installed}" if installed else "",
    )  # fmt: skip
