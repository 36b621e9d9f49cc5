"""A server cannot send its answer: a number in it is not finite.

## What it means
JSON has no NaN and no infinity, and the web frameworks of vLLM, SGLang and reward services refuse to write them.
Minus infinity is the log-probability of a token that sampling excludes; NaN is what a broken model computes.
## What it does to a run
The request ends with 500; rollouts that ask for log-probabilities miss samples or stop.
## What to do
Tell which of both it is: clip or ask for less where it is minus infinity, look at the model where it is NaN.
## How it is found
In a log: by the message of Python's JSON writer.
## References
https://github.com/vllm-project/vllm/issues/10234
https://github.com/sgl-project/sglang/pull/20323
https://github.com/THUDM/slime/issues/1790
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL108", name="answer-not-finite", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Out of range float values are not JSON compliant(?:: (?P<value>-?\w{1,8}))?",
        symptom_of=("NUM",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "an answer could not be sent: it holds NaN or an infinite number, which JSON does not allow",
        "The server answers such a request with 500. In answers with `logprobs` it is mostly `-inf`, the "
        "log-probability of tokens that sampling excludes (`top_k`, `top_p`, `echo`, a grammar), which older engines "
        "do not clip. NaN means that the model itself computed it: an overflow in fp16, a quantization or kernel that "
        "is wrong on this GPU, or weights that training has spoiled before they were sent to the engine.",
        "For `-inf` upgrade the engine (vLLM clips log-probabilities to -9999), or ask for fewer `logprobs` and leave "
        "out `echo` and `top_k`. For NaN (all outputs are `!!!!` or empty) start with `--dtype bfloat16`, another "
        "attention backend or the checkpoint without quantization, and look for NaN in the weights of the last "
        "synchronisation. In a service of your own make the numbers finite before they are returned: "
        "`torch.nan_to_num`, `math.isfinite`.",
    ),
    zh=Words(
        "应答无法发送:其中含有 NaN 或无穷大,JSON 不允许",
        "服务器对该请求返回 500。带 `logprobs` 的应答中多半是 `-inf`:被采样设置(`top_k`、`top_p`、`echo`、语法约束)"
        "排除的 token 的对数概率,旧版引擎不作截断。NaN 则是模型自己算出的:fp16 溢出、在此 GPU 上有误的量化或 "
        "kernel,或训练已损坏的权重被送入引擎。",
        "若为 `-inf`:升级引擎(vLLM 把对数概率截断到 -9999),或减少 `logprobs` 并去掉 `echo`、`top_k`。若为 NaN(输出"
        "全是 `!!!!` 或为空):用 `--dtype bfloat16`、其他注意力后端或未量化的检查点启动,并检查最近一次同步的权重是否"
        "含 NaN。自己的服务:返回前用 `torch.nan_to_num`、`math.isfinite` 使数值有限。",
    ),
)

LOG_CONFIDENCE = LIKELY
