"""The model was called with inputs that it does not take.

## What it means
A causal model takes whole numbers of shape (batch, length), at least one of them, and either ids or embeddings; images
and their grids go to the classes that are made for them.
## What it does to a run
ValueError or RuntimeError in the first forward pass or in `generate`.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/transformers/main_classes/text_generation
https://huggingface.co/docs/transformers/glossary#input-ids
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html
https://github.com/haotian-liu/LLaVA/issues/92
https://github.com/2U1/Qwen-VL-Series-Finetune/issues/142
https://github.com/huggingface/transformers/issues/35838
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF058", name="model-inputs-unfit", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"ValueError: Input length of (?:input_ids|inputs_embeds) is 0, but `max_length` is set to "
            r"(?P<limit>-?\d{1,9})"
        ),
        Message(
            en=Words(
                "`generate` has no room for an answer: `max_length` is {limit} for a call without ids",
                "`generate` compares it with the number of ids. Of a call with `inputs_embeds` alone (images, soft "
                "prompts) it first takes the length of these off, so a prompt longer than `max_length` leaves a "
                "number below 1; a `max_length` of 0 for an empty prompt does the same.",
                "Set `max_new_tokens` instead of `max_length` (in `generation_config` or in the call). Where the "
                'prompt is empty, drop such rows: `dataset.filter(lambda r: len(r["prompt"]) > 0)`.',
            ),
            zh=Words(
                "`generate` 没有生成空间:没有 ids 的调用中 `max_length` 为 {limit}",
                "`generate` 把它与 ids 的个数比较。只传 `inputs_embeds`(图像、软提示)时会先减去其长度,因此提示比 "
                "`max_length` 长就得到小于 1 的数;空提示配 `max_length=0` 也一样。",
                "用 `max_new_tokens` 代替 `max_length`(在 `generation_config` 或调用中)。若提示为空,去掉这些行:"
                '`dataset.filter(lambda r: len(r["prompt"]) > 0)`。',
            ),
        ),
    ),
    (
        (
            r"ValueError: You (?:must specify exactly one of|cannot specify both|have to specify(?: either)?) "
            r"(?:decoder_)?input_ids\b"
        ),
        Message(
            en=Words(
                "the model was called with no ids, or with ids and embeddings at once",
                "The batch holds no `input_ids` (columns under other names, `remove_unused_columns`, a collator "
                "of your own), `inputs_embeds` was added beside them, or an encoder-decoder model got no "
                "`labels` or `decoder_input_ids`.",
                "Print `batch.keys()` before the call: exactly one of `input_ids` and `inputs_embeds`. For an "
                "encoder-decoder model use `DataCollatorForSeq2Seq(tokenizer, model=model)`; take a model class "
                "that fits the trainer (`AutoModelForCausalLM`).",
            ),
            zh=Words(
                "调用模型时没有 ids,或同时给了 ids 与 embeddings",
                "批次中没有 `input_ids`(列名不同、`remove_unused_columns`、自己的 collator),在其旁又加了 "
                "`inputs_embeds`,或编码器-解码器模型没有 `labels` 或 `decoder_input_ids`。",
                "调用前打印 `batch.keys()`:`input_ids` 与 `inputs_embeds` 只能有一个。编码器-解码器模型用 "
                "`DataCollatorForSeq2Seq(tokenizer, model=model)`;使用适合训练器的模型类(`AutoModelForCausalLM`)"
                "。",
            ),
        ),
    ),
    (
        r"ValueError: not enough values to unpack \(expected 2, got 1\)$",
        Message(
            en=Words(
                "the model got ids without a batch dimension",
                "It unpacks `batch, length` from the shape, and the tensor has one dimension: a single row was "
                "passed, squeezed, or the collator did not stack.",
                '`input_ids.unsqueeze(0)`, or let the tokenizer make it: `tokenizer(text, return_tensors="pt")`. '
                "In a loop over a dataset use a `DataLoader`.",
            ),
            zh=Words(
                "模型得到了没有批维度的 ids",
                "它从形状中取 `batch, length`,而张量只有一维:传入了单行、被 squeeze,或 collator 没有堆叠。",
                '`input_ids.unsqueeze(0)`,或由分词器生成:`tokenizer(text, return_tensors="pt")`。遍历数据集时使用'
                " `DataLoader`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar "
            r"types: Long, Int; but got (?P<dtype>[\w.]{3,40}) instead"
        ),
        Message(
            en=Words(
                "the embedding was asked with numbers of type `{dtype}` instead of whole ids",
                "An empty list became a float tensor (`torch.tensor([])`), a collator or DeepSpeed's fp16 cast "
                "changed the ids, or what was passed are features and no ids.",
                "`torch.tensor(ids, dtype=torch.long)`; drop empty rows; do not cast the batch (`batch.half()`), "
                "only the model.",
            ),
            zh=Words(
                "嵌入层得到的是 `{dtype}` 而不是整数 id",
                "空列表变成了浮点张量(`torch.tensor([])`),collator 或 DeepSpeed 的 fp16 转换改变了 ids,或传入的是"
                "特征而不是 ids。",
                "`torch.tensor(ids, dtype=torch.long)`;去掉空行;只转换模型,不要转换批次(`batch.half()`)。",
            ),
        ),
    ),
    (
        (
            r"^TypeError: (?:(?P<owner>\w{1,80})\.)?(?P<function>\w{0,60}forward)\(\) got an unexpected keyword "
            r"argument '(?P<input>images|pixel_values\w{0,20}|image_\w{1,30}|video_\w{1"
            r",30}|second_per_grid_ts|input_features|feature_attention_mask|token_type_ids|num_items_in_batch)'"
        ),
        Message(
            en=Words(
                "`{input}` is handed to the model, and its `{function}` does not take it",
                "Either the class that was loaded is not the one for this data (a text-only class for rows with "
                "images, another generation of the model), a project replaces the model's `forward` with one that was "
                "written for another release of Transformers, or the batch holds more than the model wants "
                "(`remove_unused_columns=False`, a tokenizer of another model).",
                "Look at `type(model)` and at the function that the message names. A replaced `forward`: install the "
                "Transformers that the project pins, or pull its newest commit. Another class: load the one that "
                "`architectures` in config.json names. `num_items_in_batch`: set `model.accepts_loss_kwargs = False` "
                "before the Trainer is made, or upgrade Transformers and PEFT. Otherwise drop it from the batch.",
            ),
            zh=Words(
                "向模型传入了 `{input}`,而其 `{function}` 不接受它",
                "要么加载的类与数据不符(含图像的数据用了纯文本类,或另一代模型),要么项目用为另一版本 Transformers 编写"
                "的函数替换了模型的 `forward`,要么批次中的内容多于模型所需(`remove_unused_columns=False`,或用了其他模"
                "型的分词器)。",
                "查看 `type(model)` 与消息中的函数。若 `forward` 被替换:安装项目所固定的 Transformers,或拉取其最新提"
                "交。若类不对:加载 config.json 中 `architectures` 给出的类。`num_items_in_batch`:在创建 Trainer 之前"
                "设置 `model.accepts_loss_kwargs = False`,或升级 Transformers 与 PEFT。否则从批次中去掉它。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(
        CASES[2][0],
        frame=r"[\\/]transformers[\\/](?:models[\\/]\w+[\\/]modeling_\w+|modeling_\w+|generation[\\/]utils)\.py:",
    ),
    Signature(CASES[3][0]),
    Signature(CASES[4][0], symptom_of=("TRF030", "VLL", "TRL"), frame=r"module\.py:_call_impl$|:forward$"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
