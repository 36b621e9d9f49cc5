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
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF053", name="model-file-not-json", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:OSError|EnvironmentError): It looks like the config file at '(?P<path>[^'\n]{1,250})' is not a"
        r" valid JSON file"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{path}` is not valid JSON",
        "The file is empty, cut off, an LFS pointer or an error page in place of the download, or was edited by hand.",
        "Look at it: `head -c 400 {path}`; `python -m json.tool {path}` tells the place. Download it again "
        "(`hf download "
        "MODEL config.json --force-download`), or copy it from the base model. A checkpoint whose write broke off "
        "(full disk, killed process) is lost: take the one before.",
    ),
    zh=Words(
        "`{path}` 不是合法的 JSON",
        "文件为空、被截断、是 LFS 指针或下载得到的错误页面,或被手工改坏。",
        "查看:`head -c 400 {path}`;`python -m json.tool {path}` 指出出错位置。重新下载(`hf download MODEL config.json "
        "--force-download`),或从基座模型复制。若是写入中断的检查点(磁盘满、进程被杀),用前一个检查点。",
    ),
)
