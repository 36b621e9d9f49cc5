"""Accelerate refuses: a precision without its package, settings that came too late, no main process.

## What it means
The state of Accelerate is made once for a process; fp8 needs a backend that is installed apart; `load_state` reads a
folder that `save_state` wrote.
## What it does to a run
ValueError when the Accelerator is made, or when the state is loaded.
## What to do
As the finding says.
## How it is found
In a log: by Accelerate's own words.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/state.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/accelerator.py
https://huggingface.co/docs/accelerate/usage_guides/low_precision_training
https://github.com/huggingface/accelerate/issues/2615
https://github.com/huggingface/transformers/issues/34024
https://github.com/axolotl-ai-cloud/axolotl/issues/760
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="ACC023", name="accelerator-refuses-to-start", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (r"ValueError: Using `?fp8`? precision requires [`\w\-, ]{3,100}? to be installed"),
        "",
        Message(
            en=Words(
                "`fp8` precision, and no backend for it is installed",
                "Accelerate leaves fp8 to TransformerEngine, torchao or MS-AMP, and it needs an H100-class GPU (or "
                "an RTX 40 and newer). Often nobody meant it: an answer in `accelerate config`, the default file of "
                "another project on this machine, or ACCELERATE_MIXED_PRECISION asks for fp8.",
                "Set `mixed_precision: bf16` (`accelerate launch --mixed_precision bf16`). For fp8 in earnest "
                "install one: `pip install --no-build-isolation transformer_engine[pytorch]` (or, with accelerate "
                "1.6 and newer, `pip install torchao`, with `--fp8_backend ao` or `fp8_config: {{backend: AO}}` in "
                "the file).",
            ),
            zh=Words(
                "使用 `fp8` 精度,但没有安装其后端",
                "Accelerate 的 fp8 依靠 TransformerEngine、torchao 或 MS-AMP,并且需要 H100 级(或 RTX 40 及更新)的 "
                "GPU。多半并非有意选择:它来自 `accelerate config` 的回答、本机上其他项目的默认文件,或 "
                "ACCELERATE_MIXED_PRECISION。",
                "设置 `mixed_precision: bf16`(`accelerate launch --mixed_precision bf16`)。确实需要 fp8 时安装其一"
                ":`pip install --no-build-isolation transformer_engine[pytorch]`(或在 accelerate 1.6 及以上用 `pip "
                "install torchao`,并加 `--fp8_backend ao` 或在文件中写 `fp8_config: {{backend: AO}}`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: AcceleratorState has already been initialized and cannot be changed, restart"
            r" your runtime completely and pass `(?P<setting>[^`\n]{1,80})` to"
        ),
        "",
        Message(
            en=Words(
                "an Accelerator exists already, and a second one asks for `{setting}`",
                "The state of Accelerate is one for the whole process: whatever was made first (a Trainer, "
                "`TrainingArguments`, an earlier cell of the notebook) decided on it.",
                "Make one `Accelerator(...)` with all settings, before the model and any `TrainingArguments`; "
                "restart the notebook's kernel. The value may also come from `accelerate config` (`mixed_precision` "
                "there).",
            ),
            zh=Words(
                "已经存在一个 Accelerator,第二个却要求 `{setting}`",
                "Accelerate 的状态整个进程只有一份:最先创建的对象(Trainer、`TrainingArguments`、笔记本中较早的单元)"
                "已经决定了它。",
                "只创建一个带全部设置的 `Accelerator(...)`,并在模型和 `TrainingArguments` 之前;重启笔记本内核。该值"
                "也可能来自 `accelerate config`(其中的 `mixed_precision`)。",
            ),
        ),
    ),
    (
        r"ValueError: Tried to find (?P<folder>[^\n]{1,300}?) but folder does not exist",
        "",
        Message(
            en=Words(
                "`load_state` finds no folder `{folder}`",
                "It reads what `accelerator.save_state(...)` wrote; the path is relative to the working folder, and "
                "with `ProjectConfiguration` it is `checkpoints/checkpoint_N` in the project's folder.",
                "List it: `ls -l {folder}`; give the absolute path of a folder that `save_state` wrote, on every "
                "node; begin without it in a first run.",
            ),
            zh=Words(
                "`load_state` 找不到文件夹 `{folder}`",
                "它读取 `accelerator.save_state(...)` 写出的内容;路径相对于工作目录,使用 `ProjectConfiguration` 时是"
                "项目目录下的 `checkpoints/checkpoint_N`。",
                "列出:`ls -l {folder}`;给出 `save_state` 写出的文件夹的绝对路径,每个节点上都要有;第一次运行不要加载。",
            ),
        ),
    ),
    (
        r"AssertionError: When using multiple machines, you need to specify the main process IP",
        "",
        Message(
            en=Words(
                "several machines, and nobody says where the main process is (`--main_process_ip`)",
                "With `num_machines` above 1 every node has to find the first one; `accelerate launch` has neither "
                "the option nor an entry in its configuration file.",
                "On every node: `accelerate launch --num_machines N --machine_rank R --main_process_ip FIRST_NODE "
                "--main_process_port 29500 --num_processes ALL ...`; for one machine set `--num_machines 1` (it may "
                "come from `accelerate config`).",
            ),
            zh=Words(
                "使用多台机器,但没有指明主进程在哪里(`--main_process_ip`)",
                "`num_machines` 大于 1 时每个节点都要找到第一个节点;`accelerate launch` 既没有该选项,配置文件中也没"
                "有。",
                "在每个节点:`accelerate launch --num_machines N --machine_rank R --main_process_ip 首节点 "
                "--main_process_port 29500 --num_processes 总数 ...`;单机请设 `--num_machines 1`(该值可能来自 "
                "`accelerate config`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: You must pass a model and an optimizer together to `accelerate\.prepare\(\)` when using "
            r"(?P<backend>TransformerEngine|MS-AMP)"
        ),
        "",
        Message(
            en=Words(
                "fp8 with {backend} wants model and optimizer in one `accelerator.prepare` call",
                "The script, or Transformers' Trainer under FSDP, prepares them one after the other, which this kind "
                "of fp8 does not allow.",
                "Set `mixed_precision: bf16`. For fp8 in a script of your own prepare them together: `model, optimizer "
                "= accelerator.prepare(model, optimizer)`; with the Trainer use torchao's: `fp8_config: {{backend: "
                "AO}}`.",
            ),
            zh=Words(
                "使用 {backend} 的 fp8 要求在一次 `accelerator.prepare` 中同时传入模型与优化器",
                "脚本(或 FSDP 下的 Transformers Trainer)先后分别准备它们,而这种 fp8 不允许。",
                "设置 `mixed_precision: bf16`。自己的脚本若要用 fp8,一起准备:`model, optimizer = "
                "accelerator.prepare(model, optimizer)`;使用 Trainer 时改用 torchao:`fp8_config: {{backend: AO}}`。",
            ),
        ),
    ),
    (
        r"ValueError: Unknown mixed precision value: (?P<value>fp8)$",
        "",
        Message(
            en=Words(
                "the installed accelerate knows no `{value}` mixed precision under FSDP",
                "Its FSDP plug-in translates fp16 and bf16 only; fp8 under FSDP came with later releases.",
                "Set `mixed_precision: bf16`, or upgrade: `pip install -U accelerate torchao`, with `fp8_config: "
                "{{backend: AO}}`.",
            ),
            zh=Words(
                "所装 accelerate 在 FSDP 下不支持 `{value}` 混合精度",
                "其 FSDP 插件只支持 fp16 与 bf16;FSDP 下的 fp8 在后来的版本才有。",
                "设置 `mixed_precision: bf16`,或升级:`pip install -U accelerate torchao`,并写 `fp8_config: {{backend: "
                "AO}}`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits)
