"""The weights of a LoRA adapter were not in the checkpoint that the Trainer loaded.

## What it means
After a checkpoint is loaded the Trainer names the weights that it did not bring. Names with `lora_A` and `lora_B` are
those of the adapter itself: what was to be resumed, or to be taken as the best model, is not there.
## What it does to a run
A warning, and the training goes on, or ends, with the adapter as it was. The saved file is often empty (443 bytes).
## What to do
Look at the size of the adapter's file, and save and load it through PEFT.
## How it is found
In a log: by the Trainer's warning, where it names matrices of LoRA.
## References
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/trainer.py
https://github.com/tloen/alpaca-lora/issues/334
https://github.com/ymcui/Chinese-LLaMA-Alpaca/issues/711
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CKP031", name="adapter-weights-not-loaded", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"There were missing keys in the checkpoint model loaded: \[[^\n]{0,3000}?\.lora_[AB]\.",
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the checkpoint that was loaded has no LoRA weights (`lora_A`, `lora_B`)",
        "The Trainer lists them as missing: the adapter's file is empty or carries other names, so that the adapter "
        "stayed as it was. Scripts that replace `model.state_dict` (alpaca-lora and what was copied from it) save an "
        "empty adapter with newer releases of PEFT; under ZeRO-3 one that was not gathered is empty, too.",
        "`ls -l` the adapter_model file: a few hundred bytes are an empty one, and that training is lost unless a "
        "whole checkpoint lies beside it. Remove the lines that replace `model.state_dict`, save by "
        "`model.save_pretrained(DIR)` and resume by `trainer.train(resume_from_checkpoint=DIR)` with Transformers "
        "4.31 or newer, which loads adapters through PEFT; or begin with `PeftModel.from_pretrained(base, DIR, "
        "is_trainable=True)`.",
    ),
    zh=Words(
        "所加载的检查点中没有 LoRA 权重(`lora_A`、`lora_B`)",
        "Trainer 把它们列为缺失:适配器文件为空或名称不同,因此适配器保持原样。替换 `model.state_dict` 的脚本"
        "(alpaca-lora 及由其复制的代码)在较新的 PEFT 下会保存空的适配器;ZeRO-3 下未聚合的适配器也是空的。",
        "用 `ls -l` 查看 adapter_model 文件:只有几百字节即为空,除非旁边有完整的检查点,否则该次训练的结果已丢失。删除替"
        "换 `model.state_dict` 的几行,用 `model.save_pretrained(DIR)` 保存,并用 Transformers 4.31 及以上的 "
        "`trainer.train(resume_from_checkpoint=DIR)` 恢复(它通过 PEFT 加载适配器);或从 "
        "`PeftModel.from_pretrained(base, DIR, is_trainable=True)` 开始。",
    ),
)

LOG_CONFIDENCE = LIKELY
