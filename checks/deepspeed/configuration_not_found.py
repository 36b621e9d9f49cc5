"""DeepSpeed's configuration is neither a file that exists nor a dictionary.

## What it means
The path of the JSON file is relative to another folder, misspelt, not mounted on this node, or the variable that should
hold it was empty in the launch script.
## What it does to a run
ValueError before anything is loaded, on the ranks that do not see the file.
## What to do
Give a path that exists on every node, best an absolute one.
## How it is found
In a log: by the exceptions of DeepSpeed, accelerate and Transformers, which repeat what they got.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.17.6/deepspeed/runtime/config.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/deepspeed.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP039", name="deepspeed-configuration-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Expected a string path to an existing deepspeed config, or a dictionary[^\n]{0,60}\."
        r" Received: (?P<path>[^\n]{1,200}\S)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the DeepSpeed configuration `{path}` does not exist here",
        "A relative path counts from the folder where the command is started; with several nodes each needs the file.",
        "`ls {path}` in that folder and on every node; pass an absolute path to `--deepspeed` (or to "
        "`deepspeed_config_file` of the accelerate configuration).",
    ),
    zh=Words(
        "此处不存在 DeepSpeed 配置 `{path}`",
        "相对路径从启动命令的目录算起;多节点时每个节点都需要该文件。",
        "在该目录和每个节点上运行 `ls {path}`;给 `--deepspeed`(或 accelerate 配置的 "
        "`deepspeed_config_file`)传入绝对路径。",
    ),
)
