"""A safetensors file cannot be read.

## What it means
The file is not whole: a download or a save was cut off, the disk was full, or it is a Git LFS pointer (some
hundred bytes of text), whose first bytes are taken for an enormous header.
## What it does to a run
Loading the model or resuming raises SafetensorError.
## What to do
Fetch or save the file again.
## How it is found
By the length that the file's own header states, against the size of the file.
In a log: by the exception of safetensors, whose kind tells a pointer from a cut file.
## References
https://huggingface.co/docs/safetensors/index
https://github.com/codefuse-ai/MFTCoder/issues/20
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.checkpoints import Checkpoints

PROBLEM = Problem(id="CKP005", name="safetensors-unreadable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"SafetensorError: Error while deserializing(?: header)?: (?P<kind>HeaderTooLarge|header too"
        r" large|HeaderTooSmall|header too small|MetadataIncompleteBuffer|incomplete"
        r" metadata|InvalidHeader\w{0,24}|invalid \w{1,12} in header|invalid JSON in"
        r" header|InvalidOffset|InvalidHeaderLength)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a safetensors file is no weights file: most likely a Git LFS pointer",
        "Its first bytes make an impossible header length, as the text of a Git LFS pointer (about 130 "
        "bytes) or of an error page does.",
        "Compare sizes with `ls -l *.safetensors`; fetch the real files with `git lfs install && git lfs "
        "pull`, or delete them and download again: `hf download REPO --local-dir DIR`.",
    ),
    zh=Words(
        "某个 safetensors 文件不是权重文件:很可能是 Git LFS 指针",
        "其开头的字节构成了不可能的头长度,Git LFS 指针(约 130 字节的文本)或错误页面就是如此。",
        "用 `ls -l *.safetensors` 比较大小;用 `git lfs install && git lfs pull` 取得真实文件,或删除后重新"
        "下载:`hf download REPO --local-dir DIR`。",
    ),
)

LOG_MESSAGE_CUT = Message(
    en=Words(
        "a safetensors file is incomplete: a download or a save of it was cut off",
        "The header promises more bytes than the file has. A full disk, a killed process or an "
        "interrupted download leave such a file; two processes that write the same file do, too.",
        "Delete the file and get it again (`hf download REPO --local-dir DIR`); for a checkpoint resume "
        "from the one before it (`checkpoint-N` with smaller N) and check `df -h`.",
    ),
    zh=Words(
        "某个 safetensors 文件不完整:下载或保存被中断",
        "文件头声明的字节多于文件实际拥有的。磁盘满、进程被杀或下载中断都会留下这种文件;两个进程同时写同一文件也会。",
        "删除该文件并重新获取(`hf download REPO --local-dir DIR`);若是检查点,从之前的一个(N 更小的 "
        "`checkpoint-N`)恢复,并检查 `df -h`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` is cut off: it has {size} of {needed} bytes",
        LOG_MESSAGE_CUT.en.explanation,
        LOG_MESSAGE_CUT.en.remedy,
    ),
    zh=Words(
        "`{name}` 不完整:{needed} 字节中只有 {size} 字节",
        LOG_MESSAGE_CUT.zh.explanation if LOG_MESSAGE_CUT.zh else "",
        LOG_MESSAGE_CUT.zh.remedy if LOG_MESSAGE_CUT.zh else "",
    ),
)


@check(PROBLEM)
def safetensors_cut_off(checkpoints: Checkpoints) -> Judgement:
    """One finding a folder; a file that is still being written looks the same."""
    for each in checkpoints.found:
        cut = [file for file in each.cut_off if file.name.endswith(".safetensors")]
        if cut:
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                where=Where(file=f"{each.folder}/{cut[0].name}", step=each.step),
                evidence=tuple(Evidence(f"{each.folder}/{file.name}", f"{file.size_bytes} bytes") for file in cut[:4]),
                name="/".join((each.folder.rpartition("/")[2], cut[0].name)),
                size=f"{cut[0].size_bytes:,}",
                needed=f"{cut[0].needed_bytes or 8:,}",
            )


def explain(hits: Hits) -> Finding | None:
    """Text read as a length makes an enormous header; everything else is a cut or damaged file."""
    pointer = "arge" in (hits.get("kind") or "")
    message = LOG_MESSAGE if pointer else LOG_MESSAGE_CUT
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
