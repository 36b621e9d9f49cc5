"""veRL got images or videos and the model brings no processor for them.

## What it means
Images, videos and sounds go through the processor that lies beside a multimodal model. A text model has none; so has a
checkpoint whose `preprocessor_config.json` was not saved along, or whose processor could not be loaded.
## What it does to a run
The dataset or the first rollout with an image ends the run.
## What to do
A model with a processor, or data without images.
## How it is found
In a log, by veRL's errors.
## References
https://github.com/verl-project/verl/blob/main/verl/utils/dataset/rl_dataset.py
https://github.com/verl-project/verl/blob/main/verl/experimental/agent_loop/tool_agent_loop.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL035", name="images-without-processor", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: processor is needed to process (?P<what>multimodal data|image and video)",
    ),
    Signature(
        r"Multimedia data can only be processed by `processor`, but the (?P<what>processor) is None",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the data holds images or videos, and veRL has loaded no processor for the model",
        "A column of the dataset (`data.image_key`, `data.video_key`) or an answer of a tool holds images, "
        "and the model is a text model, or its folder lacks the files of the processor. veRL takes a "
        "processor that cannot be loaded for one that is not there, and says so in a warning at the start.",
        "For a vision model copy `preprocessor_config.json` (and `video_preprocessor_config.json`, "
        "`processor_config.json`, `chat_template.json`) from the original model into its folder and check it:"
        ' `python -c "from transformers import AutoProcessor; '
        "print(AutoProcessor.from_pretrained('MODEL'))\"`. For a text model remove the columns, or set "
        "`data.image_key` and `data.video_key` to columns that are not there.",
    ),
    zh=Words(
        "数据中有图像或视频,而 veRL 没有为该模型加载 processor",
        "数据集的列(`data.image_key`、`data.video_key`)或工具的返回含有图像,而模型是文本模型,或其目录"
        "缺少 processor 的文件。veRL 会把加载失败的 processor 当作不存在,仅在启动时给出警告。",
        "视觉模型:从原模型复制 `preprocessor_config.json`(以及 `video_preprocessor_config.json`、`pro"
        "cessor_config.json`、`chat_template.json`)到其目录,并用 AutoProcessor.from_pretrained 检查能"
        "否加载。文本模型:去掉这些列,或把 `data.image_key` 与 `data.video_key` 设为不存在的列名。",
    ),
)
