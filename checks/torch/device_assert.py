"""A check inside a CUDA kernel failed.

## What it means
Kernels check indices and values on the GPU. The check fails while Python is already elsewhere, so the
traceback shows a later call, and the CUDA context of the process is dead from then on.
## What it does to a run
`CUDA error: device-side assert triggered`; every later CUDA call of the process fails too.
## What to do
Read which check it was; run once with CUDA_LAUNCH_BLOCKING=1 to see the line.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
https://github.com/pytorch/pytorch/blob/v2.9.0/aten/src/ATen/native/cuda/Indexing.cu
https://github.com/sgl-project/sglang/issues/15638
https://github.com/sgl-project/sglang/issues/15399
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR012", name="cuda-device-assert", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\.(?:cu|cuh|h):\d{1,6}: (?P<kernel>[\w:<>, ()\[\]=\-]{1,400}?): block:"
        r" \[\d{1,9},\d{1,9},\d{1,9}\], thread: \[\d{1,5},\d{1,5},\d{1,5}\] Assertion"
        r" `(?P<assertion>[^\n]{1,200}?)` failed",
    ),
    Signature(
        r"CUDA error: device-side assert triggered|cuda runtime error \(\d{1,3}\) : device-side assert triggered"
        r"|cudaErrorAssert: device-side assert triggered"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a check inside a CUDA kernel failed (device-side assert)",
        "Most often an index is out of range: token ids beyond the embedding table, labels beyond the "
        "vocabulary, positions beyond the window. Kernels run later than the Python line that starts "
        "them, so the traceback need not show the place; the process cannot use CUDA any more.",
        "Run once more with CUDA_LAUNCH_BLOCKING=1 (or a batch on the CPU) to see the real line, then "
        "compare the largest token id with `model.config.vocab_size` and the embedding's rows, and the "
        "length with `max_position_embeddings`.",
    ),
    zh=Words(
        "CUDA 内核中的检查失败(device-side assert)",
        "最常见的是索引越界:token id 超出 embedding 表,标签超出词表,位置超出窗口。内核晚于启动它的 "
        "Python 行执行,因此调用栈未必显示真正的位置;该进程此后无法再使用 CUDA。",
        "用 CUDA_LAUNCH_BLOCKING=1(或在 CPU 上跑一个批次)再运行一次以看到真正的行,然后比较最大的 token "
        "id 与 `model.config.vocab_size`、embedding 行数,以及长度与 `max_position_embeddings`。",
    ),
)

LOG_MESSAGE_TABLE = Message(
    en=Words(
        "token ids or indices outside of the embedding table were looked up on the GPU",
        "The kernel checks that an index is smaller than the table's rows, and it was not: input ids "
        "that do not match the model's vocabulary (tokens added without `resize_token_embeddings`, "
        "another tokenizer, image placeholder or padding ids such as -100 among the input ids), or "
        "positions beyond the window. The line in the traceback is only where it surfaced; the process "
        "cannot use CUDA any more.",
        "Restart, and compare the largest input id with the embedding: `max(input_ids) < "
        "model.get_input_embeddings().num_embeddings`. Use the tokenizer of the model, call "
        "`model.resize_token_embeddings(len(tokenizer))` after adding tokens, and keep lengths within "
        "`max_position_embeddings`. CUDA_LAUNCH_BLOCKING=1 shows the line.",
    ),
    zh=Words(
        "GPU 上查找的 token id 或索引超出了 embedding 表",
        "内核检查索引必须小于表的行数,而实际超出:输入 id 与模型词表不匹配(新增 token 后没有 "
        "`resize_token_embeddings`、使用了别的分词器、输入 id 中混有图像占位符或 -100 之类的填充 id),或位"
        "置超出窗口。调用栈中的行只是错误浮现之处;该进程此后无法再使用 CUDA。",
        "重启,并比较最大的输入 id 与 embedding:`max(input_ids) < "
        "model.get_input_embeddings().num_embeddings`。使用模型自己的分词器,新增 token 后调用 "
        "`model.resize_token_embeddings(len(tokenizer))`,并使长度不超过 `max_position_embeddings`。"
        "CUDA_LAUNCH_BLOCKING=1 可显示真正的行。",
    ),
)

LOG_MESSAGE_LABELS = Message(
    en=Words(
        "labels outside of the vocabulary reached the loss",
        "The loss kernel checks that each label is smaller than the number of classes. A padding id "
        "other than -100, or a vocabulary that was extended without resizing the model, breaks that.",
        "Replace padding in the labels with -100, and call "
        "`model.resize_token_embeddings(len(tokenizer))` after adding tokens. CUDA_LAUNCH_BLOCKING=1 "
        "shows the line.",
    ),
    zh=Words(
        "损失函数收到了超出词表的标签",
        "损失内核检查每个标签必须小于类别数。填充使用了 -100 以外的 id,或扩展词表后没有调整模型,都会违反该检查。",
        "把标签中的填充替换为 -100,新增 token 后调用 `model.resize_token_embeddings(len(tokenizer))`。"
        "CUDA_LAUNCH_BLOCKING=1 可显示真正的行。",
    ),
)

LOG_MESSAGE_SAMPLING = Message(
    en=Words(
        "sampling met NaN, infinite or negative probabilities",
        "The model's logits are not finite: NaN weights after a diverged step, overflow in fp16, or a "
        "broken mask. The device-side assert is only how the GPU says it.",
        "Find the first NaN: loss and gradient norm of the steps before; load the last good checkpoint. "
        "Use bf16 instead of fp16, a lower learning rate, and `torch.isfinite(logits).all()` before "
        "sampling.",
    ),
    zh=Words(
        "采样时遇到 NaN、无穷或负的概率",
        "模型的 logits 不是有限值:某一步发散后权重变为 NaN、fp16 溢出,或掩码有误。device-side assert 只是"
        " GPU 的表达方式。",
        "找出最早的 NaN:之前各步的 loss 和梯度范数;加载最后一个正常的检查点。用 bf16 代替 fp16,降低学习率"
        ",并在采样前检查 `torch.isfinite(logits).all()`。",
    ),
)

LOG_MESSAGE_DRAFT = Message(
    en=Words(
        "an index was out of range on the GPU, inside the engine's speculative decoding",
        "The step that lets a draft propose tokens looked up a row that a table does not have. Prompts and tokenizer "
        "are rarely to blame there: releases of the engines had such faults in the graphs of the draft and in "
        "SGLang's second worker (`SGLANG_ENABLE_SPEC_V2`); a draft made for another model, vocabulary or a shorter "
        "window does the same.",
        "Start once without speculation (no `--speculative-...` in SGLang, no `--speculative-config` in vLLM): if that "
        "runs, upgrade the engine, leave `SGLANG_ENABLE_SPEC_V2` unset, or run without graphs "
        "(`--disable-cuda-graph`, `--enforce-eager`). Compare `vocab_size` and `max_position_embeddings` of draft and "
        "model.",
    ),
    zh=Words(
        "GPU 上的索引越界,发生在引擎的投机解码之中",
        "草稿模型提出 token 的那一步查找了表中不存在的行。此处很少是 prompt 或分词器的问题:引擎的某些版本在草稿的 "
        "CUDA graph 以及 SGLang 的第二版 worker(`SGLANG_ENABLE_SPEC_V2`)中有这类缺陷;草稿若是为其他模型、词表或更短窗"
        "口制作的,也会如此。",
        "先不用投机解码启动一次(SGLang 去掉 `--speculative-...`,vLLM 去掉 `--speculative-config`):若能运行,则升级引擎、"
        "不设 `SGLANG_ENABLE_SPEC_V2`,或不用 graph(`--disable-cuda-graph`、`--enforce-eager`)。比较草稿与模型的 "
        "`vocab_size` 和 `max_position_embeddings`。",
    ),
)

_DRAFTING = re.compile(r"[\\/](?:speculative|spec_decode)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """The text of the check tells the kind, the traceback whether it was a draft of the engine."""
    assertion = hits.get("assertion") or ""
    kernel = hits.get("kernel") or ""
    sampling = "nan" in assertion or "element < 0" in assertion or "multinomial" in kernel.lower()
    labels = "n_classes" in assertion or "nll_loss" in kernel.lower()
    table = "srcSelectDimSize" in assertion or "vectorized_gather" in kernel
    drafting = any(_DRAFTING.search(frame) for hit in hits for frame in hit.frames[-6:])
    return found(
        PROBLEM,
        LOG_MESSAGE_SAMPLING
        if sampling
        else LOG_MESSAGE_DRAFT
        if drafting and not labels
        else LOG_MESSAGE_LABELS
        if labels
        else LOG_MESSAGE_TABLE
        if table
        else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if sampling or labels else LIKELY,
        commands=("CUDA_LAUNCH_BLOCKING=1",),
    )
