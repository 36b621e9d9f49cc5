"""A text is read or written in another encoding than it has.

## What it means
Python opens files and the terminal in the encoding of the locale: UTF-8 on most machines, ASCII where `LANG` is `C`
(containers, cron, ssh), GBK or cp1252 on Windows. A binary file opened as text fails in the same way.
## What it does to a run
The first character outside of that encoding ends the run.
## What to do
Name UTF-8, or look what kind of file it is.
## How it is found
In a log: by Python's exceptions.
## References
https://docs.python.org/3/library/os.html#python-utf-8-mode
https://docs.python.org/3/library/functions.html#open
https://docs.python.org/3/howto/unicode.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="PYT048", name="text-encoding-differs", severity=ERROR, since="0.1")

DECODE = Message(
    en=Words(
        "a file is read as {codec}, and byte {byte} in it is none of that encoding",
        "The file has another encoding (GBK, Latin-1, UTF-16 with the mark 0xff 0xfe), is opened in the locale's "
        "instead of UTF-8, or is no text at all: 0x80 begins a pickle or `.pt`, 0x1f 0x8b gzip, 0x50 a zip, "
        "parquet or safetensors.",
        "`file PATH` tells what it is, `head -c 16 PATH | xxd` its first bytes. Read text with `open(path, "
        'encoding="utf-8")` (or its own: `iconv -f gbk -t utf-8 old > new`), and start Python with '
        "`PYTHONUTF8=1` (Windows, C locale). Take files that are no text out of the folder that is loaded.",
    ),
    zh=Words(
        "文件按 {codec} 读取,而其中的字节 {byte} 不属于该编码",
        "文件使用其他编码(GBK、Latin-1、带 0xff 0xfe 标记的 UTF-16),按系统区域而不是 UTF-8 打开,或根本不是文"
        "本:0x80 开头是 pickle 或 `.pt`,0x1f 0x8b 是 gzip,0x50 是 zip、parquet,或是 safetensors。",
        '`file PATH` 可判断类型,`head -c 16 PATH | xxd` 查看开头字节。用 `open(path, encoding="utf-8")` 读'
        "取文本(或其自身编码:`iconv -f gbk -t utf-8 old > new`),并以 `PYTHONUTF8=1` 启动 Python(Windows、C "
        "locale)。把非文本文件移出要加载的目录。",
    ),
)
ENCODE = Message(
    en=Words(
        "text is printed or written in {codec}, which lacks one of its characters",
        "The locale of this process (`LANG=C`, `POSIX`, or a Windows code page) is not UTF-8: Chinese, emoji or "
        "quotation marks of a completion cannot be written to the terminal, a log or a file.",
        "`export PYTHONUTF8=1 PYTHONIOENCODING=utf-8 LANG=C.UTF-8 LC_ALL=C.UTF-8` before the start (in the "
        'container or job script; with Ray for its workers, too), and `open(path, "w", encoding="utf-8")` in '
        "your own code.",
    ),
    zh=Words(
        "文本以 {codec} 打印或写入,而该编码缺少其中的字符",
        "该进程的区域设置(`LANG=C`、`POSIX` 或 Windows 代码页)不是 UTF-8:回答中的中文、表情或引号无法写到终"
        "端、日志或文件。",
        "启动前 `export PYTHONUTF8=1 PYTHONIOENCODING=utf-8 LANG=C.UTF-8 LC_ALL=C.UTF-8`(写入容器或作业脚本"
        ';Ray 的 worker 也要),自己的代码中用 `open(path, "w", encoding="utf-8")`。',
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"^UnicodeDecodeError: '(?P<codec>[\w\-]{2,20})' codec can't decode byte (?P<byte>0x[0-9a-f]{2})",
            symptom_of=("CKP", "HUB", "DAT", "TRF"),
        ),
        DECODE,
        LIKELY,
    ),
    (
        Signature(r"^UnicodeEncodeError: '(?P<codec>ascii|latin-1|charmap|gbk|gb2312|cp\d{3,5})' codec can't encode"),
        ENCODE,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
