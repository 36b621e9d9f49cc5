"""Tensors of one batch have sequences of different length, or a mask does not fit its scores.

## What it means
Ids, labels, masks and caches of a batch must be cut and padded alike. Where one is longer, a stack, a loss or an
attention finds it out and names both sizes.
## What it does to a run
RuntimeError or ValueError at the first such batch.
## What to do
Pad and cut in one place, and for all of them alike.
## How it is found
In a log: by PyTorch's messages about sizes in attention, loss and collation.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
https://huggingface.co/docs/transformers/main_classes/data_collator
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR044", name="sequence-shapes-differ", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"RuntimeError: stack expects each tensor to be equal size, but got \[(?P<one>[\d, ]{1,60})\] at "
            r"entry \d{1,6} and \[(?P<two>[\d, ]{1,60})\] at entry"
        ),
        Message(
            en=Words(
                "rows of a batch have different sizes ([{one}] and [{two}]) and nobody padded them",
                "They were stacked as they are: the default collator does not pad, and one of Transformers pads "
                "only the fields that it knows (input_ids, attention_mask; labels by `DataCollatorForSeq2Seq`).",
                "Give the trainer a collator that pads (`DataCollatorForSeq2Seq(tokenizer, padding=True)`, in "
                'TRL its own by leaving `data_collator` out), or pad while tokenizing (`padding="max_length", '
                "truncation=True, max_length=N`); leave columns that it cannot pad out "
                "(`remove_unused_columns=True`).",
            ),
            zh=Words(
                "同一批的行大小不同([{one}] 与 [{two}]),且没有填充",
                "它们被原样堆叠:默认 collator 不填充,Transformers 的 collator 只填充它认识的字段(input_ids、"
                "attention_mask;labels 由 `DataCollatorForSeq2Seq` 填充)。",
                "给训练器一个会填充的 collator(`DataCollatorForSeq2Seq(tokenizer, padding=True)`;TRL 中不传 "
                '`data_collator` 即用其自带的),或在分词时填充(`padding="max_length", truncation=True, '
                "max_length=N`);去掉它不能填充的列(`remove_unused_columns=True`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: Expected input batch_size \((?P<logits>\d{1,9})\) to match target batch_size "
            r"\((?P<labels>\d{1,9})\)"
        ),
        Message(
            en=Words(
                "the loss got {logits} predictions and {labels} labels",
                "Logits and labels were cut or padded differently: image or prompt tokens that the model adds "
                "and the labels lack, a shift done on one of them only, labels of another batch size, or a loss "
                "of your own over a model that returns the last positions only (`logits_to_keep`).",
                "Make the labels from the same ids that go in (`labels = input_ids.clone()`, prompt and padding "
                "to -100), let the collator pad both, and shift both (`logits[:, :-1]`, `labels[:, 1:]`). For a "
                "model with images build labels after the processor has expanded the placeholders.",
            ),
            zh=Words(
                "损失得到 {logits} 个预测和 {labels} 个标签",
                "logits 与标签的截断或填充不一致:模型加入而标签没有的图像或提示 token、只对其中一个做了移位、标签"
                "属于另一批大小,或自己的损失用在只返回最后若干位置的模型上(`logits_to_keep`)。",
                "从输入的同一 ids 生成标签(`labels = input_ids.clone()`,提示和填充设为 -100),由 collator 同时填充"
                ",并同时移位(`logits[:, :-1]`、`labels[:, 1:]`)。含图像的模型请在 processor 展开占位符之后构造标"
                "签。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: Expected attn_mask dtype to be bool or (?:float or )?to match query dtype, but "
            r"got attn_mask\.dtype: (?P<mask>[\w :]{2,24}?) and  ?query\.dtype: (?P<query>[\w:]{2,24})"
        ),
        Message(
            en=Words(
                "the attention mask is {mask} and the query {query}",
                "PyTorch's attention takes a mask of booleans, or one in the dtype of the query. The model was "
                "cast (half precision, quantization, autocast off in evaluation) after the mask was built, or a "
                "mask of integers was handed in by own code.",
                "`attention_mask.bool()` in own code; otherwise `pip install -U transformers` (and the project's "
                "own model code), load and train in one dtype (`dtype=torch.bfloat16`, `bf16=True`), or "
                '`attn_implementation="eager"` (or `flash_attention_2`).',
            ),
            zh=Words(
                "注意力掩码为 {mask},而 query 为 {query}",
                "PyTorch 的注意力需要布尔掩码,或与 query 相同 dtype 的掩码。模型在掩码构造之后被转换(半精度、量化"
                "、评估时关闭 autocast),或自己的代码传入了整数掩码。",
                "自己的代码中用 `attention_mask.bool()`;否则 `pip install -U transformers`(以及项目自带的模型代码"
                '),以同一 dtype 加载和训练(`dtype=torch.bfloat16`、`bf16=True`),或 `attn_implementation="eager"`('
                "或 `flash_attention_2`)。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: The expanded size of the tensor \((?P<scores>\d{1,9})\) must match the existing "
            r"size \((?P<mask>\d{1,9})\) at non-singleton dimension \d\."
        ),
        Message(
            en=Words(
                "the attention mask covers {mask} positions and the scores {scores}",
                "Mask and keys are of different length: a cache of an earlier call, `past_key_values` with a "
                "mask of the new tokens only, a static cache, or ids that were cut or padded after the mask was "
                "made; in model code that came with a checkpoint also another Transformers.",
                "Hand in the mask of all tokens, cached ones included; while training set `use_cache=False` "
                "(gradient checkpointing wants it, too). With `trust_remote_code` take the Transformers that the "
                "model card names, and `pip install -U transformers` otherwise.",
            ),
            zh=Words(
                "注意力掩码覆盖 {mask} 个位置,而分数有 {scores} 个",
                "掩码与键的长度不同:前一次调用的缓存、`past_key_values` 与只含新 token 的掩码、静态缓存,或在掩码"
                "生成后截断或填充的 ids;使用检查点自带的模型代码时也可能是 Transformers 版本不同。",
                "传入包含缓存 token 在内的全部 token 的掩码;训练时设置 `use_cache=False`(梯度检查点也需要)。使用 "
                "`trust_remote_code` 时安装模型卡给出的 Transformers,否则 `pip install -U transformers`。",
            ),
        ),
    ),
    (
        r"RuntimeError: cutlassF: no kernel found to launch",
        Message(
            en=Words(
                "PyTorch has no memory-efficient attention kernel for this GPU and this shape",
                "The kernels of that backend were not built for the GPU's architecture, or for this dtype or "
                "head size on it (bf16 on a T4 or V100).",
                'Use another one: `attn_implementation="eager"`, or '
                "`torch.backends.cuda.enable_mem_efficient_sdp(False)` before the model runs; train in fp16 on "
                "GPUs below compute capability 8.0; or a PyTorch that was built for the GPU (`pip install -U "
                "torch`).",
            ),
            zh=Words(
                "PyTorch 没有适用于该 GPU 和形状的 memory-efficient 注意力内核",
                "该后端的内核没有为该 GPU 架构编译,或不支持其上的这种 dtype 或 head 大小(T4、V100 上的 bf16)。",
                '改用其他后端:`attn_implementation="eager"`,或在运行模型前调用 '
                "`torch.backends.cuda.enable_mem_efficient_sdp(False)`;计算能力低于 8.0 的 GPU 用 fp16 训练;或安"
                "装为该 GPU 编译的 PyTorch(`pip install -U torch`)。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: The size of tensor a \((?P<one>\d{1,9})\) must match the size of tensor b "
            r"\((?P<two>\d{1,9})\) at non-singleton dimension \d"
        ),
        Message(
            en=Words(
                "the ids of a batch are {one} long and their positions {two}",
                "Rotary embedding multiplies both. Position ids were made before padding, before placeholders of "
                "images were put in, or for packed rows that the collator padded once more "
                "(`pad_to_multiple_of`); or a cache of another length is used.",
                "Leave `position_ids` to the model (take them out of the batch) or make them after padding; try "
                "without packing (`packing: false`); `pip install -U` the training framework and Transformers "
                "together.",
            ),
            zh=Words(
                "一批的 ids 长度为 {one},而其位置为 {two}",
                "旋转嵌入把二者相乘。position ids 在填充之前、插入图像占位符之前生成,或属于又被 collator 填充"
                "(`pad_to_multiple_of`)的 packing 行;或使用了另一长度的缓存。",
                "让模型自己生成 `position_ids`(从批次中去掉),或在填充之后生成;尝试不用 packing(`packing: false`);"
                "一起 `pip install -U` 训练框架与 Transformers。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0], frame=r"attention|modeling_\w{2,40}\.py:|masking_utils\.py:"),
    Signature(CASES[4][0]),
    Signature(CASES[5][0], frame=r":apply_(?:\w{1,24}_)?(?:rotary|rope)\w{0,30}$"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
