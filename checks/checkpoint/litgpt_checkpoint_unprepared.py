"""LitGPT is given a model that was not brought into its own form.

## What it means
LitGPT reads `lit_model.pth` and `model_config.yaml` (before 2024: `lit_config.json`), which its download and
conversion make from the files of Hugging Face.
## What it does to a run
The command ends before anything is loaded.
## What to do
Download by LitGPT, or convert the folder.
## How it is found
In a log: by the message about missing files, or the absent file's name.
## References
https://github.com/Lightning-AI/litgpt/blob/main/litgpt/utils.py
https://github.com/Lightning-AI/litgpt/blob/main/tutorials/convert_hf_checkpoint.md
https://github.com/Lightning-AI/litgpt/issues/718
https://github.com/Lightning-AI/litgpt/issues/1352
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP026", name="litgpt-checkpoint-unprepared", severity=ERROR, since="0.1")

_FILE = r"lit_model\.pth|lit_config\.json|model_config\.yaml"

SIGNATURES = (
    Signature(
        rf"checkpoint_dir '?(?P<folder>[^'\n]{{1,250}}?)'? is missing the files: \[[^\]\n]{{0,80}}'(?P<file>{_FILE})'"
    ),
    Signature(r"checkpoint_dir '?(?P<folder>[^'\n]{1,250}?)'? is not a checkpoint directory"),
    Signature(
        r"^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<folder>[^'\n]{0,250}?)/?"
        r"(?P<file>lit_model\.pth|lit_config\.json)'"
    ),
    Signature(
        r"^FileNotFoundError: For '(?P<folder>[^'\n]{1,250})' neither '(?P<file>model_config\.yaml)' nor matching "
        r"config"
    ),
    Signature(  # others have a file of that name, too
        r"^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<folder>[^'\n]{0,250}?)/?"
        r"(?P<file>model_config\.yaml)'",
        frame=r"(?:^|[\\/])litgpt[\\/]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "LitGPT finds no `{file}` in `{folder}`",
        "That is the form of LitGPT, which its download and conversion make; a folder of Hugging Face, or one that an "
        "earlier release of LitGPT converted, has other files.",
        "Download by it: `litgpt download ORG/MODEL` (then `--checkpoint_dir checkpoints/ORG/MODEL`), or convert what "
        "is there: `litgpt convert_to_litgpt {folder}` (before 2024: `python scripts/convert_hf_checkpoint.py "
        "--checkpoint_dir {folder}`). Give the path from the working directory of the command.",
    ),
    zh=Words(
        "LitGPT 在 `{folder}` 中找不到 `{file}`",
        "这是 LitGPT 自己的格式,由其下载和转换生成;Hugging Face 的目录,或由早期 LitGPT 转换的目录中是其他文件。",
        "用它下载:`litgpt download ORG/MODEL`(然后 `--checkpoint_dir checkpoints/ORG/MODEL`),或转换已有文件:`litgpt "
        "convert_to_litgpt {folder}`(2024 年以前:`python scripts/convert_hf_checkpoint.py --checkpoint_dir {folder}`)。"
        "路径相对于命令的工作目录。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The file that is named first, and the folder's last parts."""
    folder = (hits.get("folder") or ".").rstrip("/")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        file=hits.get("file") or "lit_model.pth", folder="/".join(folder.split("/")[-3:]),
    )  # fmt: skip
