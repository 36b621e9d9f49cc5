"""Trinity-RFT foresees that the GPUs will not hold the training.

## What it means
Before the start it estimates weights, gradients, optimizer states and activations of the trainer against the memory of
the GPUs, prints what would help in a box and stops.
## What it does to a run
The command ends before the first step.
## What to do
Follow one of the suggestions in the box, or bypass the estimate.
## How it is found
In a log, by the error that follows the box.
## References
https://modelscope.github.io/Trinity-RFT/en/main/tutorial/trinity_configs.html
https://github.com/modelscope/Trinity-RFT/blob/main/trinity/common/config_validator.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRI015", name="memory-alert", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Unsafe GPU memory usage\. See alert above",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "Trinity-RFT estimates that the trainer does not fit into the memory of its GPUs",
        "It is an estimate from the model's configuration, the tokens a GPU takes at once, precision, offload"
        " and the number of GPUs; the box that it printed before names the settings. It can be too careful.",
        "Lower `trainer.max_token_len_per_gpu`, raise `trainer.ulysses_sequence_parallel_size` or the number "
        "of GPUs of the trainer, or turn on offload of parameters and optimizer. To go on regardless set "
        "`ignore_validator_suggestions: true`.",
    ),
    zh=Words(
        "Trinity-RFT 估计训练器放不进其 GPU 的显存",
        "这是根据模型配置、每张 GPU 一次处理的 token 数、精度、offload 与 GPU 数得出的估计;此前打印的"
        "方框列出了相关设置。估计可能偏保守。",
        "减小 `trainer.max_token_len_per_gpu`,增大 `trainer.ulysses_sequence_parallel_size` 或训练器"
        "的 GPU 数,或开启参数与优化器的 offload。若要忽略该估计继续运行,设置 `ignore_validator_sugges"
        "tions: true`。",
    ),
)
