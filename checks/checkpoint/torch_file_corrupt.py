"""A file of `torch.save` cannot be read.

## What it means
The file is not whole: the process was killed or the disk full while it was saved, or a download was cut
off. A file of the wrong kind (a Git LFS pointer, HTML) fails in the same place.
## What it does to a run
Loading or resuming raises.
## What to do
Resume from the checkpoint before it, or fetch the file again.
## How it is found
By the last bytes of the file: an archive that does not end as one was cut off.
In a log: by the exception of torch's reader.
## References
https://pytorch.org/docs/stable/generated/torch.load.html
https://github.com/pytorch/pytorch/issues/31620
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.checkpoints import Checkpoints

PROBLEM = Problem(id="CKP006", name="torch-file-corrupt", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: PytorchStreamReader failed (?:reading zip archive|reading file|locating file)"),
    Signature(r"^EOFError: Ran out of input", frame=r"torch/serialization\.py:"),
    Signature(
        r"UnpicklingError: (?:invalid load key, |pickle data was truncated|unpickling stack underflow)",
        frame=r"torch/serialization\.py:|transformers/modeling_utils\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a checkpoint file of torch is incomplete or is something else",
        "A `.pt`, `.pth` or `.bin` file ends too early or does not begin as one: the save was "
        "interrupted (killed, disk full), the download was cut off, or it is a Git LFS pointer.",
        "Find the file in the traceback and compare its size with its neighbours (`ls -l`); resume from "
        "the `checkpoint-N` before it, or download it again (`hf download`, `git lfs pull`). To lose "
        "less next time check `df -h` and keep `save_total_limit` at 2 or more.",
    ),
    zh=Words(
        "某个 torch 检查点文件不完整或不是该格式",
        "`.pt`、`.pth` 或 `.bin` 文件过早结束,或开头不对:保存被中断(被杀、磁盘满)、下载中断,或它是 Git LFS 指针。",
        "在 traceback 中找到该文件,与相邻文件比较大小(`ls -l`);从它之前的 `checkpoint-N` 恢复,或重新下载"
        "(`hf download`、`git lfs pull`)。为减少以后的损失,检查 `df -h` 并把 `save_total_limit` 保持在 2 "
        "以上。",
    ),
)

LOG_CONFIDENCE = LIKELY

MESSAGE = Message(
    en=Words(
        "`{name}` is cut off after {size} bytes",
        "It begins as an archive of `torch.save` and does not end as one: the process was killed or the disk full "
        "while it was written, or it still is being written. Loading it raises.",
        "Resume from the checkpoint before it, or fetch the file again; check `df -h`, and keep `save_total_limit` at "
        "2 or more.",
    ),
    zh=Words(
        "`{name}` 在 {size} 字节处被截断",
        "文件以 `torch.save` 的归档开头,却没有相应的结尾:写入时进程被杀或磁盘已满,或者仍在写入。加载它会抛出异常。",
        "从之前的检查点恢复,或重新获取该文件;检查 `df -h`,并把 `save_total_limit` 保持在 2 以上。",
    ),
)


@check(PROBLEM)
def torch_file_cut_off(checkpoints: Checkpoints) -> Judgement:
    """One finding a folder; told by the files' ends alone, and a save that is under way looks the same."""
    for each in checkpoints.found:
        cut = [file for file in each.cut_off if not file.name.endswith(".safetensors")]
        if cut:
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                where=Where(file=f"{each.folder}/{cut[0].name}", step=each.step),
                evidence=tuple(
                    Evidence(f"{each.folder}/{file.name}", f"{file.size_bytes} bytes, no end of archive")
                    for file in cut[:4]
                ),
                name="/".join((each.folder.rpartition("/")[2], cut[0].name)),
                size=f"{cut[0].size_bytes:,}",
            )
