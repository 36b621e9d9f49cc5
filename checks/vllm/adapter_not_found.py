"""vLLM finds no LoRA adapter at the path it was given.

## What it means
An adapter is a folder with adapter_config.json and adapter_model.safetensors, or the name of one on the Hub.
The path does not exist on the machine (or in the container) that serves, or the file is missing in it.
## What it does to a run
The server does not start, or the request for that adapter fails.
## What to do
Give the absolute path of the folder, as the serving process sees it.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/lora/
https://github.com/vllm-project/vllm/issues/30690
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL053", name="adapter-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Loading lora (?P<name>[^\n]{1,80}?) failed: No adapter found for (?P<path>[^\s'\x22]{1,300})",
    ),
    Signature(
        r"(?P<path>[^\s']{1,300}) doesn't contain tensors",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM found no LoRA adapter at `{path}`",
        "There is no folder with adapter_config.json and adapter_model.safetensors at that path as the "
        "serving process sees it: it was misspelt, is not mounted in the container, holds a full "
        "checkpoint or only a parent folder of it, or carries quotes or brackets of the configuration "
        "that names it.",
        "Check it there with `ls -l PATH/adapter_config.json`, and give the absolute path of the folder: "
        "`--lora-modules NAME=/abs/path`. For a checkpoint of a trainer it is the folder `checkpoint-N` "
        "itself; for veRL and FSDP the adapter must be saved or exported first.",
    ),
    zh=Words(
        "vLLM 在 `{path}` 没有找到 LoRA 适配器",
        "从服务进程看,该路径下没有包含 adapter_config.json 与 adapter_model.safetensors 的文件夹:路径写错"
        "、没有挂载到容器、是完整检查点或其上级目录,或带上了配置中的引号、方括号。",
        "在该环境中用 `ls -l 路径/adapter_config.json` 检查,并给出文件夹的绝对路径:`--lora-modules 名称=/"
        "绝对路径`。训练器的检查点应指向 `checkpoint-N` 本身;veRL 与 FSDP 需先保存或导出适配器。",
    ),
)
