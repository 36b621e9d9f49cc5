"""GPU memory was freed by another process while vLLM measured it.

## What it means
vLLM measures free memory before and after a trial run and takes the difference as its own use. When another
process frees memory in between (a run that is ending, a second server that starts, the trainer), the
numbers make no sense.
## What it does to a run
The engine ends with an AssertionError at its start.
## What to do
Start one after another, when the GPU is quiet.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/56830
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL049", name="memory-changed-while-profiling", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Error in memory profiling\. Initial (?:free|used) memory"),)

LOG_MESSAGE = Message(
    en=Words(
        "another process freed GPU memory while vLLM was measuring it",
        "The assertion compares free memory before and after vLLM's trial run. It fails when a run that "
        "was just ended gives its memory back late, two servers start on one GPU at once, or the trainer "
        "works on the same GPU.",
        "Wait until `nvidia-smi` shows the GPU empty and start again; start several engines on one GPU "
        "one after another; end left-over processes first.",
    ),
    zh=Words(
        "vLLM 测量显存时,另一个进程释放了显存",
        "该断言比较 vLLM 试运行前后的空闲显存。刚结束的任务延迟归还显存、两个服务器同时在一张 GPU 上启动,"
        "或训练器在同一张 GPU 上工作时,断言会失败。",
        "等 `nvidia-smi` 显示 GPU 空闲后再启动;在同一张 GPU 上依次启动多个引擎;先结束残留进程。",
    ),
)

LOG_COMMANDS = ("nvidia-smi",)
