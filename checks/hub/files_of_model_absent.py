"""Judges files-of-model-absent (HUB015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
