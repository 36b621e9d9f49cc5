"""Files of the model are Git LFS pointers instead of content.

## What it means
A repository cloned without Git LFS holds small text files in place of the weights.
## What it does to a run
Loading fails with an error about the file's header ("HeaderTooLarge", "invalid load key, 'v'").
## What to do
Fetch the content with `git lfs pull`, or download the model again.
## How it is found
The first bytes of the files in the model's folder.
In a log: by the exception of Transformers.
## References
https://git-lfs.com/
https://huggingface.co/docs/hub/models-downloading
https://github.com/huggingface/transformers/issues/27923
"""

from __future__ import annotations

import shlex

from doctor.checks.trl._helpers import listing
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.checkpoints import Checkpoints
from doctor.facts.model import Model

PROBLEM = Problem(id="DAT011", name="model-lfs-pointers", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"You seem to have cloned a repository without having git-lfs installed"),)

LOG_MESSAGE = Message(
    en=Words(
        "the weights are Git LFS pointers: the repository was cloned without git-lfs",
        "The files hold a few lines of text that point at the content instead of the weights themselves.",
        "In the cloned folder run `git lfs install` and `git lfs pull`, or download with `hf download "
        "REPO --local-dir DIR` instead of cloning.",
    ),
    zh=Words(
        "权重是 Git LFS 指针:克隆仓库时没有安装 git-lfs",
        "这些文件只有几行指向内容的文本,而不是权重本身。",
        "在克隆的目录中运行 `git lfs install` 和 `git lfs pull`,或不克隆而用 `hf download REPO --local-dir DIR` 下载。",
    ),
)

LOG_COMMANDS = ("git lfs install && git lfs pull",)

MESSAGE = Message(
    en=Words(
        "{count} files of `{model}` are Git LFS pointers: {names}",
        "They hold a reference instead of weights or vocabulary, so loading the model fails.",
        "Fetch their content.",
    ),
    zh=Words(
        "`{model}` 的 {count} 个文件是 Git LFS 指针:{names}",
        "其中只有引用,没有权重或词表,因此加载模型会失败。",
        "获取文件的实际内容。",
    ),
)


@check(PROBLEM)
def model_lfs_pointers(model: Model) -> Judgement:
    """Report them all in one finding."""
    if model.lfs_pointers:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=f"{model.folder}/{model.lfs_pointers[0]}"),
            commands=(f"git -C {shlex.quote(model.folder)} lfs pull",),
            count=len(model.lfs_pointers),
            model=model.name,
            names=listing(model.lfs_pointers[:3]),
        )


@check(PROBLEM)
def checkpoint_lfs_pointers(checkpoints: Checkpoints) -> Judgement:
    """The same in checkpoints that were found by themselves."""
    for each in checkpoints.found:
        if each.pointers:
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=f"{each.folder}/{each.pointers[0]}"),
                commands=(f"git -C {shlex.quote(each.folder)} lfs pull",),
                count=len(each.pointers),
                model=each.folder.rpartition("/")[2],
                names=listing(each.pointers[:3]),
            )
