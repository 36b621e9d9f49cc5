"""Weights of another shape are loaded into the model.

## What it means
A state dict carries the shapes of the model that saved it. Another vocabulary (tokens added and the
embedding resized or padded), another LoRA rank, another size or number of heads do not fit.
## What it does to a run
Loading raises RuntimeError with one line for each weight.
## What to do
Make the model as it was when the weights were saved, then load.
## How it is found
In a log: by the first line that names both shapes.
## References
https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
https://huggingface.co/docs/peft/developer_guides/troubleshooting
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/modeling.py
https://github.com/hiyouga/LlamaFactory/issues/4762
https://github.com/open-compass/VLMEvalKit/issues/1047
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP011", name="weights-of-other-shape", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"size mismatch for (?P<weight>[\w.]{1,200}): copying a param with shape"
        r" torch\.Size\(\[(?P<saved>[1-9][\d, ]{0,60})\]\) from checkpoint, the shape in current"
        r" model is torch\.Size\(\[(?P<here>[1-9][\d, ]{0,60})\]\)",
    ),
    Signature(
        r"^ValueError: Trying to set a tensor of shape torch\.Size\(\[(?P<saved>[1-9][\d, ]{0,60})\]\) in "
        r'"(?P<weight>\w{1,60})" \(which has shape torch\.Size\(\[(?P<here>[1-9][\d, ]{0,60})\]\)\), this looks? '
        r"incorrect",
    ),
)

LOG_MESSAGE_VOCABULARY = Message(
    en=Words(
        "the vocabulary differs: `{weight}` is [{saved}] in the file, [{here}] here",
        "Tokens were added and the embedding resized (or padded) before saving and not before loading, "
        "or the other way round.",
        "Before loading call `model.resize_token_embeddings({rows})`, or load the base model and "
        "tokenizer of the checkpoint instead of another release of them.",
    ),
    zh=Words(
        "词表大小不同:`{weight}` 在文件中为 [{saved}],在模型中为 [{here}]",
        "保存之前添加了 token 并调整(或填充)了嵌入大小,而加载之前没有,或相反。",
        "加载之前调用 `model.resize_token_embeddings({rows})`,或使用与检查点一致的基座模型和分词器。",
    ),
)

LOG_MESSAGE_LORA = Message(
    en=Words(
        "the LoRA adapter has another rank or base: `{weight}` is [{saved}], here [{here}]",
        "The adapter was saved with another `r` or for another base model than the one that it is loaded into.",
        "Load it with its own configuration, `PeftModel.from_pretrained(base, PATH)` without a new "
        "`LoraConfig`, on the base model that its `adapter_config.json` names; or set `r` as it says.",
    ),
    zh=Words(
        "LoRA 适配器的秩或基座不同:`{weight}` 为 [{saved}],此处为 [{here}]",
        "该适配器保存时的 `r` 或基座模型与加载时不同。",
        "用它自己的配置加载:`PeftModel.from_pretrained(base, PATH)`,不要新建 `LoraConfig`,并使用其 "
        "`adapter_config.json` 指定的基座模型;或按其中的值设置 `r`。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the weights are of another model: `{weight}` is [{saved}] in the file, [{here}] here",
        "The architecture or its size differs from the one that saved the file: another model, another "
        "number of layers or heads, a changed configuration.",
        "Load with the `config.json` that lies beside the weights (`from_pretrained(CHECKPOINT)` instead "
        "of a path of another model), and compare `hidden_size`, `num_attention_heads` and "
        "`num_key_value_heads`.",
    ),
    zh=Words(
        "权重属于另一个模型:`{weight}` 在文件中为 [{saved}],此处为 [{here}]",
        "架构或其大小与保存该文件的不同:模型不同、层数或头数不同,或配置被改动。",
        "用权重旁边的 `config.json` 加载(`from_pretrained(CHECKPOINT)`,而不是另一个模型的路径),并比较 "
        "`hidden_size`、`num_attention_heads` 和 `num_key_value_heads`。",
    ),
)


#: no other table of a language model has as many rows as its vocabulary
_ROWS = 20_000


def _longer_table(weight: str, saved: str, here: str) -> bool:
    """Whether the vocabulary alone differs; accelerate tells only the last part of a weight's name."""
    if any(part in weight for part in ("embed_tokens", "lm_head", "wte", "word_embeddings", "embed_out")):
        return True
    (rows, *width), (own_rows, *own_width) = saved.split(", "), here.split(", ")
    return weight == "weight" and len(width) == 1 and width == own_width and min(int(rows), int(own_rows)) > _ROWS


def explain(hits: Hits) -> Finding | None:
    """The name of the first weight tells which of the causes it is."""
    weight = hits.get("weight") or ""
    saved = hits.get("saved") or ""
    here = hits.get("here") or ""
    vocabulary = _longer_table(weight, saved, here)
    lora = "lora_" in weight
    return found(
        PROBLEM,
        LOG_MESSAGE_LORA if lora else LOG_MESSAGE_VOCABULARY if vocabulary else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        weight=".".join(weight.split(".")[-3:]),
        saved=saved,
        here=here,
        rows=saved.split(",")[0],
    )
