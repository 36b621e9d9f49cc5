"""The installed Transformers does not know the model's architecture.

## What it means
`config.json` names a `model_type` that came with a newer release of Transformers, or one that only code in
the repository defines.
## What it does to a run
Loading the model raises before its weights are read.
## What to do
Upgrade Transformers; for a model with its own code pass `trust_remote_code=True`.
## How it is found
In a log: by the exception, which names the type.
## References
https://huggingface.co/docs/transformers/model_doc/auto
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/models/auto/configuration_auto.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF012", name="model-type-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError:|Value error,) The checkpoint you are trying to load has model type `(?P<type>[\w.\-]{1,60})`"
        r" but Transformers does not recognize",
    ),
    Signature(
        r"^KeyError: '(?P<type>[a-z][\w\-]{1,40})'$",
        frame=r"transformers/models/auto/configuration_auto\.py:",
    ),
    Signature(r"ValueError: Unrecognized model in (?P<path>[^\s]{1,200})\. Should have a `model_type` key"),
    Signature(
        r"ValueError: Unrecognized (?P<part>image processor|video processor|feature extractor|processing class) in "
        r"(?P<path>[^\s]{1,200})\. (?:Should have a|Can't instantiate a processor)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed Transformers is too old for the architecture `{type}`",
        "The model's `config.json` names an architecture that this release does not have.",
        "Upgrade Transformers: `pip install -U transformers` (with vLLM or TRL of the same age, so that "
        "they fit); for a model that brings its own code pass `trust_remote_code=True`. A newest "
        "architecture may need the main branch.",
    ),
    zh=Words(
        "已安装的 Transformers 对架构 `{type}` 来说太旧",
        "模型的 `config.json` 指定了该版本没有的架构。",
        "升级 Transformers:`pip install -U transformers`(并使 vLLM 或 TRL 的版本与之匹配);若模型自带代码,"
        "传入 `trust_remote_code=True`。最新的架构可能需要主分支。",
    ),
)

LOG_MESSAGE_NONE = Message(
    en=Words(
        "`{path}` has no `model_type` that Transformers knows in its `config.json`",
        "The folder is no model of Transformers: an adapter without its base, a folder of shards or of a "
        "GGUF file, or a `config.json` of another program.",
        "Give the folder with the `config.json` of the model. For a LoRA adapter load the base model "
        "first; for a checkpoint of FSDP or veRL merge its shards into a model first.",
    ),
    zh=Words(
        "`{path}` 的 `config.json` 中没有 Transformers 认识的 `model_type`",
        "该目录不是 Transformers 模型:缺少基座的适配器、分片或 GGUF 文件的目录,或其他程序的 `config.json`。",
        "给出含有模型 `config.json` 的目录。LoRA 适配器需先加载基座模型;FSDP 或 veRL 的检查点需先把分片合并成模型。",
    ),
)

LOG_MESSAGE_PART = Message(
    en=Words(
        "Transformers knows no {part} for `{path}`",
        "The class that `preprocessor_config.json` (`image_processor_type`, `processor_class`) names is not in the "
        "installed release, or the file did not come along: a model newer than this Transformers, one whose "
        "configuration was renamed since, or a folder that a training wrote without it.",
        "Upgrade Transformers (`pip install -U transformers`; a model of these days: `pip install "
        "git+https://github.com/huggingface/transformers`) and, with it, what the script pins beside it. If it is new "
        "enough, copy `preprocessor_config.json` (and `video_preprocessor_config.json`) from the original model, or "
        "download the model again so that its files are of one time.",
    ),
    zh=Words(
        "Transformers 不认识 `{path}` 的 {part}",
        "`preprocessor_config.json`(`image_processor_type`、`processor_class`)所写的类不在已安装的版本中,或该文件缺"
        "失:模型比该 Transformers 新、其配置后来改过名,或是训练写出的目录没有该文件。",
        "升级 Transformers(`pip install -U transformers`;最新的模型用 `pip install "
        "git+https://github.com/huggingface/transformers`)以及脚本同时固定的包。若版本已足够新,从原始模型复制 "
        "`preprocessor_config.json`(及 `video_preprocessor_config.json`),或重新下载模型使其文件属于同一时期。",
    ),
)

MESSAGES = (LOG_MESSAGE, LOG_MESSAGE_NONE, LOG_MESSAGE_PART)


def explain(hits: Hits) -> Finding | None:
    """Tell a type that is too new from a folder without one."""
    known, path, part = hits.get("type"), hits.get("path"), hits.get("part")
    if part and not known:
        return found(
            PROBLEM, LOG_MESSAGE_PART, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, part=part,
            path=path, commands=("pip install -U transformers",),
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE if known else LOG_MESSAGE_NONE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("pip install -U transformers",) if known else (),
        type=known,
        path=path,
    )
