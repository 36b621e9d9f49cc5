"""A configuration file of the model is no valid JSON.

## What it means
`config.json` or one of its kin is empty, cut off, a Git LFS pointer, an error page that was downloaded in its place, or
has been edited by hand with a comma too many.
## What it does to a run
OSError when the model or tokenizer is loaded, on every rank.
## What to do
Look into the file, and fetch it again.
## How it is found
In a log: by the exception of Transformers, which names the file.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/configuration_utils.py
https://github.com/huggingface/tokenizers/issues/1962
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF053", name="model-file-not-json", severity=ERROR, since="0.1")

#: the function that reads -> the file
_READERS = (
    (r"tokenization_auto\.py:get_tokenizer_config$", "tokenizer_config.json"),
    (r"tokenization_utils_base\.py:_from_pretrained$", "tokenizer_config.json"),
    (r"transformers[\\/]\w+(?:[\\/]\w+)?\.py:get_checkpoint_shard_files$", "model.safetensors.index.json"),
    (r"peft[\\/](?:utils[\\/])?config\.py:from_json_file$", "adapter_config.json"),
)

SIGNATURES = (
    Signature(
        r"(?:OSError|EnvironmentError): It looks like the config file at '(?P<path>[^'\n]{1,250})' is not a"
        r" valid JSON file"
    ),
    Signature(
        r"^(?:json\.decoder\.)?JSONDecodeError: (?P<told>Extra data|Expecting [\w' ,]{3,60}|Unterminated string|"
        r"Invalid [\w\\ ]{3,40}): line \d",
        frame="|".join(pattern for pattern, _ in _READERS),
    ),
    # vLLM reads them within a validation, which hides the reader: https://github.com/vllm-project/vllm/issues/26161
    Signature(
        r"^\s{0,8}Value error, (?P<hidden>Expecting value|Extra data|Expecting property name): line \d{1,6} column \d"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{path}` is not valid JSON",
        "The file is empty, cut off, an LFS pointer or an error page in place of the download, or was edited by hand.",
        "Look at it: `head -c 400 {path}`; `python -m json.tool {path}` tells the place. Download it again (`hf "
        "download MODEL config.json --force-download`), or copy it from the base model. A checkpoint whose write broke "
        "off (full disk, killed process) is lost: take the one before.",
    ),
    zh=Words(
        "`{path}` 不是合法的 JSON",
        "文件为空、被截断、是 LFS 指针或下载得到的错误页面,或被手工改坏。",
        "查看:`head -c 400 {path}`;`python -m json.tool {path}` 指出出错位置。重新下载(`hf download MODEL config.json "
        "--force-download`),或从基座模型复制。若是写入中断的检查点(磁盘满、进程被杀),用前一个检查点。",
    ),
)

READ = Message(
    en=Words(
        "`{file}` of the model or checkpoint is not valid JSON",
        "The file is empty, cut off (a write or download that broke off), an LFS pointer or an error page in place of "
        "the download, or was edited by hand. For a name of the Hub the copy in the cache is meant.",
        "Look at it: `python -m json.tool FOLDER/{file}` tells the place. Download it again (`hf download MODEL {file} "
        "--force-download`), or copy it from the base model. A checkpoint whose write broke off is lost: take the one "
        "before.",
    ),
    zh=Words(
        "模型或检查点的 `{file}` 不是合法的 JSON",
        "文件为空、被截断(写入或下载中断)、是 LFS 指针或下载得到的错误页面,或被手工改坏。若给出的是 Hub 上的名称,则指"
        "缓存中的副本。",
        "查看:`python -m json.tool FOLDER/{file}` 指出出错位置。重新下载(`hf download MODEL {file} --force-download`),"
        "或从基座模型复制。写入中断的检查点无法使用:用前一个检查点。",
    ),
)
HIDDEN = Message(
    en=Words(
        "a JSON file of the model cannot be read by the engine",
        "vLLM reads the model's configuration while it checks its own, and a file that should be JSON is empty, cut "
        "off, a Git LFS pointer or an error page. The message does not say which.",
        "Find it: `for f in FOLDER/*.json; do python -m json.tool $f > /dev/null || echo $f; done` (for a name of the "
        "Hub its folder below `~/.cache/huggingface/hub`), and download it again (`hf download MODEL "
        "--force-download`; `git lfs pull` in a clone).",
    ),
    zh=Words(
        "引擎无法读取模型的某个 JSON 文件",
        "vLLM 在检查自身配置时读取模型配置,而其中一个本应为 JSON 的文件为空、被截断、是 Git LFS 指针或错误页面。"
        "消息没有说明是哪一个。",
        "找出它:`for f in FOLDER/*.json; do python -m json.tool $f > /dev/null || echo $f; done`(若给出的是 Hub 上的名"
        "称,则为 `~/.cache/huggingface/hub` 下的目录),并重新下载(`hf download MODEL --force-download`;克隆的仓库用 "
        "`git lfs pull`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Transformers names the file only where it caught the exception of the reader."""
    if path := hits.get("path"):
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), path=path)
    if hits.get("hidden"):
        return found(PROBLEM, HIDDEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    file = next(
        (file for pattern, file in _READERS if any(re.search(pattern, frame) for frame in hits.first.frames)),
        "config.json",
    )
    return found(PROBLEM, READ, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, file=file)
