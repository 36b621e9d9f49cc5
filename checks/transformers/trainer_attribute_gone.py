"""A trainer copied from another release of Transformers reads what the Trainer no longer has.

## What it means
Research code copies whole methods of `Trainer` (`_inner_training_loop`, `_save_checkpoint`, `create_optimizer`) into a
class of its own. What these read, `self.deepspeed`, `self.do_grad_scaling`, `self.sharded_ddp`, `self.use_apex`,
`self.tokenizer` and others, comes and goes with releases.
## What it does to a run
AttributeError on the trainer, at the first step or the first checkpoint.
## What to do
Install the Transformers that the project names.
## How it is found
In a log: by an attribute that Transformers' own Trainer once had.
## References
https://github.com/huggingface/transformers/blob/v4.28.1/src/transformers/trainer.py
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
https://github.com/princeton-nlp/MeZO/issues/12
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF042", name="trainer-attribute-gone", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<trainer>\w{0,60}Trainer)' object has no attribute '(?P<name>deepspeed|do_grad_scaling|"
        r"sharded_ddp|fsdp|use_apex|use_cuda_amp|amp_dtype|use_cpu_amp|scaler|hf_deepspeed_config|tokenizer|_past|use_amp)'",
        symptom_of=("TRL", "TRF"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{trainer}` reads `{name}`, which the Trainer of the installed Transformers does not have",
        "The class holds code copied from Transformers' Trainer of another release (often 4.2x to 4.3x): "
        "from 4.30 on Accelerate took over mixed precision, DeepSpeed and FSDP, and the attributes that "
        "older code reads are gone; `tokenizer` is `processing_class` since 4.46.",
        'Install the Transformers that the project was written for: `pip install "transformers==VERSION"` '
        "as its requirements name it (the date of its last commit tells the release), with the accelerate "
        "of that time. Or take the code out of the class: under Accelerate `self.is_deepspeed_enabled` and "
        "`self.is_fsdp_enabled` tell what `deepspeed` and `fsdp` told, `self.accelerator.backward(loss)` "
        "replaces scaler and engine.",
    ),
    zh=Words(
        "`{trainer}` 读取 `{name}`,而已安装的 Transformers 的 Trainer 没有它",
        "该类含有从另一版本(常为 4.2x 至 4.3x)Transformers Trainer 复制的代码:从 4.30 起混合精度、"
        "DeepSpeed 和 FSDP 由 Accelerate 接管,旧代码读取的属性已不存在;`tokenizer` 自 4.46 起为"
        " `processing_class`。",
        '安装该项目所针对的 Transformers:按其 requirements `pip install "transformers==VERSION"`(最后一次提'
        "交的日期可推断版本),并配同期的 accelerate。或修改该类:在 Accelerate 下由"
        " `self.is_deepspeed_enabled` 和 `self.is_fsdp_enabled` 代替 `deepspeed` 和 `fsdp`,由"
        " `self.accelerator.backward(loss)` 代替 scaler 与引擎。",
    ),
)

LOG_CONFIDENCE = LIKELY
