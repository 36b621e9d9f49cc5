"""Unsloth refuses to start on this machine or with this model.

## What it means
It looks for a GPU when it is imported, and for the model's class in the installed Transformers when it loads.
## What it does to a run
NotImplementedError or RuntimeError before the model is there.
## What to do
What the finding says for the message.
## How it is found
In a log: by Unsloth's messages.
## References
https://github.com/unslothai/unsloth/blob/main/unsloth/models/loader.py
https://docs.unsloth.ai/get-started/installing-+-updating
https://github.com/unslothai/unsloth-zoo/blob/main/unsloth_zoo/vision_utils.py
https://github.com/unslothai/unsloth/issues/4202
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF061", name="unsloth-start-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"NotImplementedError: Unsloth(?: Zoo)?:? (?:cannot find any torch accelerator|currently only "
            r"works on NVIDIA(?:, AMD)? (?:and Intel )?GPUs)"
        ),
        Message(
            en=Words(
                "Unsloth sees no GPU",
                "PyTorch in this environment has none to show: a CPU build of torch, no driver or no `--gpus "
                "all` in the container, an empty `CUDA_VISIBLE_DEVICES`, a CPU runtime in Colab.",
                '`python -c "import torch; print(torch.__version__, torch.cuda.is_available())"`; `nvidia-smi`; '
                "install a CUDA build of torch (no `+cpu`), start the container with `--gpus all`, choose a GPU "
                "runtime.",
            ),
            zh=Words(
                "Unsloth 没有找到 GPU",
                "该环境的 PyTorch 看不到 GPU:CPU 版 torch、没有驱动或容器缺少 `--gpus all`、空的 "
                "`CUDA_VISIBLE_DEVICES`,或 Colab 的 CPU 运行时。",
                '`python -c "import torch; print(torch.__version__, torch.cuda.is_available())"`;`nvidia-smi`;安'
                "装 CUDA 版 torch(不带 `+cpu`),用 `--gpus all` 启动容器,选择 GPU 运行时。",
            ),
        ),
    ),
    (
        (
            r"(?:NotImplementedError|RuntimeError): Unsloth: (?P<model>[\w\-./]{2,80}) is not supported in "
            r"your current (?:[Tt]ransformers version|Unsloth version)"
        ),
        Message(
            en=Words(
                "the installed Unsloth or Transformers does not know the model `{model}`",
                "The model is newer than they are.",
                "`pip install -U unsloth unsloth_zoo` and the Transformers that they allow (`pip install -U "
                "transformers`, then `pip check`); restart the notebook and delete `unsloth_compiled_cache`.",
            ),
            zh=Words(
                "所装 Unsloth 或 Transformers 不认识模型 `{model}`",
                "该模型比它们新。",
                "`pip install -U unsloth unsloth_zoo`,以及它们允许的 Transformers(`pip install -U transformers`,"
                "再 `pip check`);重启 notebook 并删除 `unsloth_compiled_cache`。",
            ),
        ),
    ),
    (
        r"^\s{1,16}assert ?\(?type\(target_modules\) in \(list, ?tuple",
        Message(
            en=Words(
                "Unsloth takes `target_modules` only as a list of names, not `all-linear` or other text",
                "`all-linear` is PEFT's; Unsloth's `get_peft_model` patches modules by their names and does not "
                "expand it.",
                "Name them: `target_modules=['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', "
                "'down_proj']` (ms-swift: `--target_modules q_proj k_proj v_proj o_proj gate_proj up_proj down_proj`).",
            ),
            zh=Words(
                "Unsloth 的 `target_modules` 只接受模块名列表,不接受 `all-linear` 或其他文本",
                "`all-linear` 属于 PEFT;Unsloth 的 `get_peft_model` 按名称修补模块,不会展开它。",
                "写出名称:`target_modules=['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', "
                "'down_proj']`(ms-swift:`--target_modules q_proj k_proj v_proj o_proj gate_proj up_proj down_proj`)。",
            ),
        ),
    ),
    (
        r"TypeError: Unsloth: UnslothVisionDataCollator is only for image models",
        Message(
            en=Words(
                "what UnslothVisionDataCollator was given as processor has no image processor",
                "It must be the processor that `FastVisionModel.from_pretrained` returns for a model with images. It "
                "is a plain tokenizer where torchvision is missing (Transformers 5.4 and newer then falls back to the "
                "tokenizer without a word), where a local model folder lacks `preprocessor_config.json` or "
                "`processor_config.json`, with `text_only=True`, or where `FastLanguageModel` loaded the model.",
                "`print(type(tokenizer))`: it should end with `Processor`. `pip install torchvision` in the build of "
                "the installed torch, restart, load with `FastVisionModel`, and copy the missing json files from the "
                "model's page into the folder (an adapter's folder needs them too). A model without images takes a "
                "text collator.",
            ),
            zh=Words(
                "传给 UnslothVisionDataCollator 的 processor 没有图像处理器",
                "它必须是 `FastVisionModel.from_pretrained` 为多模态模型返回的 processor。以下情况得到的只是分词器:"
                "缺少 torchvision(Transformers 5.4 及以上会不作提示地退回分词器),本地模型目录缺少 "
                "`preprocessor_config.json` 或 `processor_config.json`,使用了 `text_only=True`,或用 "
                "`FastLanguageModel` 加载模型。",
                "`print(type(tokenizer))` 应以 `Processor` 结尾。按已装 torch 的构建 `pip install torchvision` 并重启,"
                "用 `FastVisionModel` 加载,并从模型页面把缺少的 json 文件复制到该目录(适配器目录同样需要)。没有图像的"
                "模型应使用文本 collator。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
