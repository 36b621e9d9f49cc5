"""The tokenizer, configuration or weights of a model could not be loaded from where they were looked for.

## What it means
Transformers tried the name as a folder and as a repository and got the files from neither: a checkpoint that was saved
without its tokenizer, the folder of an adapter, a path that does not exist on this node, a folder of the same name
in the working directory, or no network and an empty cache.
## What it does to a run
OSError on every rank that loads it.
## What to do
See what lies there, and give the name or folder that holds the files.
## How it is found
In a log: by the exception of Transformers, which names what and from where.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/tokenization_utils_base.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/configuration_utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HUB015", name="files-of-model-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:OSError|EnvironmentError): Can't load (?:the"
        r" )?(?P<what>tokenizer|configuration|model|processor|image processor"
        r"|feature extractor|video processor) (?:for|of) '(?P<name>[^'\n]{1,200})'\. If you were trying to"
        r" load it from",
        symptom_of=("HUB", "CKP", "HST"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no {what} could be loaded from `{name}`",
        "{why}",
        "`ls {name}`: the folder must hold {files}. A checkpoint that lacks the tokenizer: load that from the base "
        "model, or call `tokenizer.save_pretrained(FOLDER)` on it. For a name on the Hub: no folder of that name may "
        "lie where the command starts, and the node needs the network or a filled cache (`hf download {name}`).",
    ),
    zh=Words(
        "无法从 `{name}` 加载 {what}",
        "{why_zh}",
        "`ls {name}`:文件夹中应有 {files}。检查点缺少分词器时,从基座模型加载,或对其调用 "
        "`tokenizer.save_pretrained(FOLDER)`。若是 Hub 上的名称:启动目录中不能有同名文件夹,且节点需要网络或已有缓存"
        "(`hf download {name}`)。",
    ),
)
_FILES = {"tokenizer": "`tokenizer_config.json` and `tokenizer.json`", "configuration": "`config.json`",
          "model": "`config.json` and `model*.safetensors`"}  # fmt: skip
_FOLDER = (
    "It is a path: it is misspelt, is not mounted on this node, or holds something else, such as an adapter.",
    "这是一个路径:拼写有误、在本节点未挂载,或其中是别的内容(例如适配器)。",
)
_NAME = (
    (
        "It is a name: the Hub could not be asked and the cache lacks the files, the repository lacks them, or a "
        "folder of the same name in the working directory was taken for it."
    ),
    "这是一个名称:无法访问 Hub 且缓存中没有文件,或仓库中没有这些文件,或工作目录中有同名文件夹被误用。",
)


def explain(hits: Hits) -> Finding | None:
    """A path and a name fail for other reasons."""
    what, name = hits.get("what") or "", hits.get("name") or ""
    why, why_zh = _FOLDER if name.startswith(("/", ".", "~")) or name.count("/") > 1 else _NAME
    files = _FILES.get(what, "`preprocessor_config.json`")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, what=what, name=name,
        why=why, why_zh=why_zh, files=files,
    )  # fmt: skip
