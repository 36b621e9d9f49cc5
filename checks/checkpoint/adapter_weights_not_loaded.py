"""The weights of a LoRA adapter were not in the checkpoint that the Trainer loaded.

## What it means
After a checkpoint is loaded the Trainer, and PEFT, name the weights that it did not bring. Names with `lora_A` and
`lora_B` are those of the adapter itself: what was to be resumed, merged or taken as the best model is not there.
## What it does to a run
A warning, and the training goes on, or ends, with the adapter as it was. The saved file is often empty (443 bytes).
## What to do
Look at the size of the adapter's file, and save and load it through PEFT.
## How it is found
In a log: by the Trainer's warning, where it names matrices of LoRA, and by PEFT's own.
## References
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/trainer.py
https://github.com/tloen/alpaca-lora/issues/334
https://github.com/ymcui/Chinese-LLaMA-Alpaca/issues/711
https://github.com/huggingface/peft/pull/2118
https://github.com/huggingface/peft/issues/2566
https://github.com/huggingface/peft/issues/2699
https://github.com/modelscope/ms-swift/issues/6481
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP031", name="adapter-weights-not-loaded", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"There were missing keys in the checkpoint model loaded: \[[^\n]{0,3000}?\.lora_[AB]\.",
        kind="warning",
    ),
    # PEFT tells it only of weights that belong to the adapter, and takes out what it can make again
    Signature(
        r"Found missing adapter keys while loading the checkpoint: \['(?P<missing>[\w.]{1,200}?\.lora_[\w.]{1,60})'",
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

RENAMED = Message(
    en=Words(
        "the adapter's file does not have `{missing}`",
        "PEFT fills what it misses with a fresh adapter, which changes nothing in the base model, and warns only. "
        "Usually the names in the file are others: it was trained on another class (multimodal against text model: "
        "`language_model` in between), on another release of Transformers that names modules otherwise, inside a "
        "wrapper (FSDP, torch.compile), or by other software; or its adapter was named `lora`. Merged or served, it "
        "gives the base model's answers.",
        "List the names, `safetensors.safe_open('DIR/adapter_model.safetensors', 'pt').keys()`: they must be those of "
        "the warning without the adapter's name (`default`). Load the base by the class and the Transformers release "
        "of the training, or rename the keys in the file, and name no adapter `lora`. An empty file: train anew or "
        "take an earlier checkpoint.",
    ),
    zh=Words(
        "适配器文件中没有 `{missing}`",
        "PEFT 用全新的适配器填充缺失部分(不改变基座模型),只给出警告。通常是文件中的名称不同:训练时用的是另一个模型类(多"
        "模态与文本模型:中间多出 `language_model`)、模块命名不同的另一个 Transformers 版本、在包装(FSDP、torch.compile)"
        "下保存,或由其他软件写出;或者适配器被命名为 `lora`。合并或部署后得到的只是基座模型的回答。",
        "列出名称 `safetensors.safe_open('DIR/adapter_model.safetensors', 'pt').keys()`:应与警告中去掉适配器名"
        "(`default`)后的名称一致。用训练时的模型类和 Transformers 版本加载基座模型,或重命名文件中的键,且不要把适配器命"
        "名为 `lora`。文件为空则重新训练或使用更早的检查点。",
    ),
)

LOG_CONFIDENCE = LIKELY


def explain(hits: Hits) -> Finding:
    """The Trainer's list is that of an empty file, PEFT's mostly that of other names."""
    missing = hits.get("missing")
    if missing is None:
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LOG_CONFIDENCE)
    short = ".".join(missing.split(".")[-5:])
    return found(
        PROBLEM, RENAMED, where=hits.where(), evidence=hits.evidence(), confidence=LOG_CONFIDENCE, missing=short
    )
