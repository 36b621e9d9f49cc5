"""`generate` divides image patches among samples, and the trainer's patches have a dimension too many.

## What it means
Qwen2-VL keeps the patches of all images in one long tensor. To make several completions of a prompt `generate` cuts it
into the images of each sample by `image_grid_thw`. Here the tensor has one row: a batch dimension stands before the
patches. Trainers of R1-V's family meet it, which were written with a development build of Transformers 4.49.
## What it does to a run
RuntimeError at the first generation.
## What to do
Install the Transformers that the project names, or take the added dimension out.
## How it is found
In a log: by the refused split inside of Transformers' preparation of `generate`, or of the vision part.
## References
https://github.com/StarsfieldAI/R1-V/issues/99
https://github.com/StarsfieldAI/R1-V/issues/123
https://github.com/Liuziyu77/Visual-RFT/issues/17
https://github.com/Liuziyu77/Visual-RFT/issues/103
https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/models/qwen2_vl/modeling_qwen2_vl.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF073", name="images-split-before-generate", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^RuntimeError: split_with_sizes expects split_sizes to sum exactly to 1 \(input tensor's size at dimension "
        r"0\), but got split_sizes=\[(?P<patches>\d{1,8})",
        frame=r"transformers[\\/]models[\\/]qwen\w{1,20}[\\/]\S{1,60}:(?:_repeat_interleave_samples|"
        r"_expand_dict_for_generation\w{0,12})$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`generate` cannot divide the image: {patches} patches by the grid, 1 row in the tensor",
        "`pixel_values` comes with a batch dimension before the patches. Trainers of R1-V's family were written with a "
        "development build of Transformers 4.49, whose `generate` left the tensor whole; the installed one divides it.",
        "Install the Transformers that the project's setup names, by commit where it does (R1-V and its kin: `pip "
        "install --force-reinstall git+https://github.com/huggingface/transformers.git@COMMIT`; `4.49.0.dev0` is not "
        "one build). Or take the added dimension out where its grpo_trainer.py calls `generate` "
        "(`[None]`, `unsqueeze(0)` behind `pixel_values`).",
    ),
    zh=Words(
        "`generate` 无法切分图像:网格表明有 {patches} 个 patch,而张量只有 1 行",
        "`pixel_values` 在 patch 之前多了一个批维度。R1-V 一类的训练器是用 Transformers 4.49 的某个开发版编写的,其 "
        "`generate` 不切分该张量;而所装版本会切分。",
        "安装项目 setup 所指定的 Transformers,若给出了 commit 则按 commit 安装(R1-V 及同类项目:`pip install "
        "--force-reinstall git+https://github.com/huggingface/transformers.git@COMMIT`;`4.49.0.dev0` 并非同一个构建)。"
        "或在其 grpo_trainer.py 调用 `generate` 处去掉多出的维度(`pixel_values` 后面的 `[None]`、`unsqueeze(0)`)。",
    ),
)

LOG_CONFIDENCE = LIKELY
