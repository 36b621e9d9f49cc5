"""The loss scaler of fp16 saw no gradient.

## What it means
`GradScaler.step` asks what the unscaling of the gradients found. Where not one parameter of the optimizer has a
gradient there is no answer: nothing trainable took part in the loss.
## What it does to a run
The first optimizer step raises.
## What to do
See which parameters require a gradient and take part in the loss.
## How it is found
In a log: by torch's assertion.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/amp/grad_scaler.py
https://docs.pytorch.org/docs/stable/notes/amp_examples.html
https://github.com/huggingface/autotrain-advanced/issues/317
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NUM014", name="scaler-saw-no-gradient", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"AssertionError: No inf checks were recorded (?:for this optimizer|prior to update)"),)

LOG_MESSAGE = Message(
    en=Words(
        "no parameter of the optimizer had a gradient when the fp16 scaler stepped",
        "The loss reached no trainable weight: everything is frozen, the adapter is not active or not in "
        "the graph (a quantized base such as GPTQ with gradient checkpointing), the loss was computed from "
        "detached values, or the optimizer holds parameters of another model.",
        "Print what trains: `model.print_trainable_parameters()` and `[n for n, p in "
        "model.named_parameters() if p.requires_grad]`; after one backward some `p.grad` must be set. For "
        "a quantized base call `prepare_model_for_kbit_training(model)` before `get_peft_model`, with "
        "gradient checkpointing `model.enable_input_require_grads()` or "
        '`gradient_checkpointing_kwargs={{"use_reentrant": False}}`. Make the optimizer after the adapter.',
    ),
    zh=Words(
        "fp16 scaler 执行 step 时,优化器中没有任何参数具有梯度",
        "损失没有到达任何可训练的权重:全部被冻结,适配器未激活或不在计算图中(如 GPTQ 量化基座加梯度检查点),"
        "损失由 detach 的值计算,或优化器持有另一个模型的参数。",
        "打印可训练参数:`model.print_trainable_parameters()` 和 `[n for n, p in model.named_parameters() "
        "if p.requires_grad]`;一次反向之后应有 `p.grad`。量化基座在 `get_peft_model` 之前调用"
        " `prepare_model_for_kbit_training(model)`,使用梯度检查点时再加"
        ' `model.enable_input_require_grads()` 或 `gradient_checkpointing_kwargs={{"use_reentrant": '
        "False}}`。在添加适配器之后再创建优化器。",
    ),
)

LOG_CONFIDENCE = LIKELY
