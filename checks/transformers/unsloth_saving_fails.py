"""Unsloth could not merge or convert the trained model.

## What it means
`save_pretrained_merged` and `save_pretrained_gguf` rewrite the base model's files shard by shard and build llama.cpp
for the conversion. New architectures, mixtures of experts, an existing folder, a full disk or a newer llama.cpp break
that; the trained adapter itself is whole.
## What it does to a run
RuntimeError after the training.
## What to do
Save the adapter, upgrade, and merge or convert by other means.
## How it is found
In a log: by an exception of Unsloth's own from its saving code.
## References
https://github.com/unslothai/unsloth/issues/3701
https://github.com/unslothai/unsloth/issues/3297
https://github.com/unslothai/unsloth/issues/3932
https://docs.unsloth.ai/basics/running-and-saving-models
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF049", name="unsloth-saving-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: (?:\*{1,4} ?)?Unsloth: (?!Please supply|You must select|Pushing to HF|Merging into 4bit|"
        r"save_method)\S",
        frame=r"unsloth[\\/]save\.py:|unsloth_zoo[\\/](?:saving_utils|llama_cpp)\.py:",
        symptom_of=("HST", "HUB", "CKP"),
    ),
    Signature(
        r"RuntimeError: Unsloth: Saving LoRA finetune failed since # of LoRAs = (?P<given>\d{1,7}) does not match # of "
        r"saved modules = (?P<saved>\d{1,7})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Unsloth could not save the trained model{counts}",
        "The training is not lost: only merging the adapter into the base model, or converting it to GGUF "
        "with llama.cpp, failed. Releases of Unsloth follow new model classes (mixtures of experts above "
        "all) and new llama.cpp with some delay.",
        'Save the adapter first: `model.save_pretrained("adapter"); tokenizer.save_pretrained("adapter")`. '
        "Then upgrade (`pip install -U --no-deps unsloth unsloth_zoo`), restart, and save again into a new "
        "empty folder with room for the whole model in 16 bit (`df -h .`). Without Unsloth: merge with "
        "PEFT (`PeftModel.from_pretrained(base_in_bf16, "
        '"adapter").merge_and_unload().save_pretrained("merged")`) and convert with `python '
        "llama.cpp/convert_hf_to_gguf.py merged`.",
    ),
    zh=Words(
        "Unsloth 无法保存训练好的模型{counts_zh}",
        "训练没有丢失:失败的只是把适配器合并进基座模型,或用 llama.cpp 转换为 GGUF。Unsloth 的版本对新模型类"
        "(尤其是混合专家)和新版 llama.cpp 的支持会有延迟。",
        '先保存适配器:`model.save_pretrained("adapter"); tokenizer.save_pretrained("adapter")`。然后升级'
        "(`pip install -U --no-deps unsloth unsloth_zoo`)、重启,并保存到新的空目录,磁盘需能容纳整个 16 bit "
        "模型(`df -h .`)。不用 Unsloth 时:用 PEFT 合并(`PeftModel.from_pretrained(base_in_bf16, "
        '"adapter").merge_and_unload().save_pretrained("merged")`),再用 `python '
        "llama.cpp/convert_hf_to_gguf.py merged` 转换。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Give both numbers where Unsloth counted what it merged."""
    given, saved = hits.get("given"), hits.get("saved")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        counts=f": {saved} of {given} adapted layers were merged" if given else "",
        counts_zh=f":{given} 个适配层中只合并了 {saved} 个" if given else "",
    )  # fmt: skip
