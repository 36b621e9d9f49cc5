"""TensorBoard cannot store the configuration it was given: a value is a list, a dictionary or None.

## What it means
`accelerator.init_trackers(..., config=vars(args))` hands every argument to the tracker. TensorBoard's table of
hyper-parameters takes numbers, text and truth values only.
## What it does to a run
It ends before the first step, on the main process.
## What to do
Convert the values that are refused, or use another tracker.
## How it is found
In a log: by the words of torch's tensorboard writer.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/utils/tensorboard/summary.py
https://github.com/allenai/open-instruct/issues/211
https://github.com/huggingface/accelerate/issues/3727
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRK010", name="tracker-value-refused", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: value should be one of int, float, str, bool, or torch\.Tensor"),)

LOG_MESSAGE = Message(
    en=Words(
        "TensorBoard refuses the run's configuration: a value is no number, text or truth value",
        "The script hands its arguments to the tracker (`init_trackers(config=...)`, `add_hparams`), and one of "
        "them is a list, a dictionary, a path or None, which TensorBoard's table of hyper-parameters cannot hold.",
        "Convert before the call: `config = {{k: v if isinstance(v, (int, float, str, bool)) else str(v) for k, v in "
        "vars(args).items()}}`; or use another tracker (`--report_to wandb`, `--with_tracking` off, `report_to=none`).",
    ),
    zh=Words(
        "TensorBoard 拒绝本次运行的配置:其中某个值不是数字、文本或布尔值",
        "脚本把其参数交给跟踪器(`init_trackers(config=...)`、`add_hparams`),其中有 list、dict、路径或 "
        "None,TensorBoard 的超参数表无法存放。",
        "调用前转换:`config = {{k: v if isinstance(v, (int, float, str, bool)) else str(v) for k, v in "
        "vars(args).items()}}`;或换用其他跟踪器(`--report_to wandb`、关闭 `--with_tracking`、`report_to=none`)。",
    ),
)
