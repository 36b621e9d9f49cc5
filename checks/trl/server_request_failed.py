"""The vLLM server answered a request of the trainer with an error.

## What it means
The trainer prints the status only. What went wrong stands in the log of the server.
## What it does to a run
`Exception: Request failed` in the trainer, at generation or at a weight update.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/trl/vllm_integration
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
https://github.com/modelscope/ms-swift/issues/7228
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRL068", name="server-request-failed", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"^Exception: Request failed: (?P<status>5\d\d), ",
        Message(
            en=Words(
                "the vLLM server failed while it answered the trainer (status {status})",
                "An exception was raised in the server's process: a dead engine, no memory, weights whose names "
                "or shapes its model lacks, a prompt that it cannot take. The trainer sees only the status.",
                "Read the log of the server (`trl vllm-serve` or `vllm serve`) at that time: its first traceback "
                "is the cause (`doctor postmortem SERVER_LOG`). Restart the server after it; the same model, TRL "
                "and vLLM on both sides.",
            ),
            zh=Words(
                "vLLM 服务器在回答训练器时出错(状态 {status})",
                "服务器进程中发生了异常:引擎已死、内存不足、其模型没有的权重名或形状、无法处理的提示。训练器只看"
                "到状态码。",
                "查看服务器(`trl vllm-serve` 或 `vllm serve`)当时的日志:第一个 traceback 即原因(`doctor "
                "postmortem SERVER_LOG`)。之后重启服务器;两侧使用相同的模型、TRL 与 vLLM。",
            ),
        ),
    ),
    (
        r"^Exception: Request failed: (?P<status>4(?:0[0-35-9]|[1-9]\d)), ",
        Message(
            en=Words(
                "the vLLM server refused a request of the trainer (status {status})",
                "The text behind the status says why: a prompt longer than the server's `--max-model-len`, a "
                "field that its release does not know (422: trainer and server of different TRL), a sampling "
                "value out of range, a proxy in between (407, 413).",
                "Correct what the text names: start the server with `--max_model_len` of at least prompt plus "
                "completion; the same TRL in both environments; `export no_proxy=SERVER` for the trainer.",
            ),
            zh=Words(
                "vLLM 服务器拒绝了训练器的请求(状态 {status})",
                "状态码后的文本说明原因:提示超过服务器的 `--max-model-len`、其版本不认识的字段(422:两侧 TRL 版本"
                "不同)、超出范围的采样参数、中间的代理(407、413)。",
                "按文本修正:服务器的 `--max_model_len` 至少为提示加回复的长度;两个环境使用相同的 TRL;训练器一侧 "
                "`export no_proxy=SERVER`。",
            ),
        ),
    ),
    (
        r"Exception\('Server (?P<server>\d{1,3}) failed: (?P<status>5\d\d), ",
        Message(
            en=Words(
                "rollout server {server} of ms-swift failed while it answered (status {status})",
                "An exception was raised in the process of `swift rollout`: a dead engine, no memory, weights whose "
                "names or shapes its model lacks, an image or prompt that it cannot take, a scheduler of your own. The "
                "trainer sees only the status.",
                "Read the log of `swift rollout` at that time: its first traceback is the cause (`doctor postmortem "
                "ROLLOUT_LOG`). Restart it afterwards; the same ms-swift, model and vLLM on both sides.",
            ),
            zh=Words(
                "ms-swift 的 rollout 服务器 {server} 在应答时出错(状态 {status})",
                "`swift rollout` 进程中发生了异常:引擎已死、内存不足、其模型没有的权重名或形状、无法处理的图像或提示、"
                "自定义的 scheduler。训练器只看到状态码。",
                "查看 `swift rollout` 当时的日志:第一个 traceback 即原因(`doctor postmortem ROLLOUT_LOG`)。之后重启它;"
                "两侧使用相同的 ms-swift、模型与 vLLM。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], frame=r"trl[\\/](?:extras|generation)[\\/]vllm_client\.py:"),
    Signature(CASES[1][0], frame=r"trl[\\/](?:extras|generation)[\\/]vllm_client\.py:"),
    Signature(CASES[2][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
