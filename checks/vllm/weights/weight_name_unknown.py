"""Judges vllm-weight-name-unknown (VLL036), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_PEFT = TOML["log_peft"]
LOG_MESSAGE_KEY = TOML["log_key"]


_ORIGINAL = (
    (
        "The name is that of the model's original format (`attention.wk`, `feed_forward`, `tok_embeddings`): the "
        "folder holds files of two formats, such as Mistral's `consolidated.safetensors` beside those of "
        "Transformers."
    ),
    (
        "Remove or move `consolidated*.safetensors` (or download again with `--exclude 'consolidated*'`), or load "
        "the original format: `--tokenizer-mode mistral --config-format mistral --load-format mistral`."
    ),
    (
        "该名称属于模型的原始格式(`attention.wk`、`feed_forward`、`tok_embeddings`):文件夹里有两种格式的文件,例如 "
        "Mistral 的 `consolidated.safetensors` 与 Transformers 的文件并存。"
    ),
    (
        "删除或移走 `consolidated*.safetensors`(或下载时使用 `--exclude 'consolidated*'`),或加载原始格式"
        ":`--tokenizer-mode mistral --config-format mistral --load-format mistral`。"
    ),
)
_ORDINARY = (
    (
        "Either the checkpoint is quantized (bitsandbytes 4-bit, AWQ, FP8) and the engine's layer has other names, "
        "or the engine quantizes a layer that the checkpoint brings in full, or the class does not fit the "
        "checkpoint (another architecture, a newer model, an adapter that was not merged, a partial save)."
    ),
    (
        "Look at `quantization_config` and `architectures` in config.json and at the names in "
        "`model.safetensors.index.json`. Quantized by bitsandbytes (Unsloth `merged_4bit`): `--quantization "
        "bitsandbytes --load-format bitsandbytes`, or save in 16 bit (`save_method='merged_16bit'`). A mixture of "
        "experts or a very new model: upgrade vLLM. An adapter: merge it, or serve the base model with "
        "`--enable-lora`."
    ),
    (
        "要么检查点是量化的(bitsandbytes 4 位、AWQ、FP8)而引擎的层使用别的名称,要么引擎量化了检查点中完整保存的层,要"
        "么模型类与检查点不符(其他架构、更新的模型、未合并的适配器、不完整的保存)。"
    ),
    (
        "查看 config.json 的 `quantization_config` 和 `architectures`,以及 `model.safetensors.index.json` 中的名称。"
        "由 bitsandbytes 量化(Unsloth `merged_4bit`):`--quantization bitsandbytes --load-format bitsandbytes`,或以 "
        "16 位保存(`save_method='merged_16bit'`)。专家混合或很新的模型:升级 vLLM。适配器:先合并,或用 "
        "`--enable-lora` 部署基座模型。"
    ),
)


_TIED = (
    (
        "The checkpoint brings the output layer as a weight of its own, and the engine's class ties it to the "
        "embedding (`tie_word_embeddings`, as Gemma, small Qwen and Llama models do), so that it has no place for "
        "it. Trainers that save whole state dicts (DeepSpeed, FSDP) write tied weights twice; older releases of "
        "the engine do not skip the second one."
    ),
    (
        "Upgrade the engine (`pip install -U vllm`; newer releases skip it), or save the model again without it: "
        "load it by `AutoModelForCausalLM.from_pretrained` and `save_pretrained`, which leaves tied weights out; "
        "or delete `lm_head.weight` from the safetensors files and their index. If the layer was trained untied, "
        "set `tie_word_embeddings` to false in config.json."
    ),
    (
        "检查点单独保存了输出层的权重,而引擎的类把它与词嵌入共享(`tie_word_embeddings`,如 Gemma、小尺寸 Qwen 与 "
        "Llama),因此没有位置。保存完整 state dict 的训练端(DeepSpeed、FSDP)会把共享权重写两次;较旧的引擎不会跳过第"
        "二份。"
    ),
    (
        "升级引擎(`pip install -U vllm`;新版会跳过它),或重新保存:用 `AutoModelForCausalLM.from_pretrained` 加载后 "
        "`save_pretrained`,会省去共享权重;或从 safetensors 文件及其索引中删除 `lm_head.weight`。若该层训练时未共享"
        ",请在 config.json 中把 `tie_word_embeddings` 设为 false。"
    ),
)
_SENT = (
    (
        "The weight came from a trainer during a transfer, under a name that this engine does not use for the model: a "
        "prefix too many or too few (`model.`, `language_model.`, `base_model.`), names of an adapter (LoRA) that was "
        "not merged, of Megatron, or of another Transformers release, or tied embeddings that the engine keeps once."
    ),
    (
        "Install the releases of trainer and engine that belong together, or upgrade the trainer: its table of names "
        "is at fault, not your settings. To go on: merge the adapter before the transfer (veRL with Megatron-Bridge: "
        "`actor_rollout_ref.model.lora.merge=True` in releases that have it) or train without LoRA, use the other "
        "way of conversion (a bridge instead of hand-written names), or the rollout engine that its examples use."
    ),
    (
        "该权重在传输时来自训练端,其名称不是此引擎对该模型所用的名称:前缀多了或少了(`model.`、`language_model.`、"
        "`base_model.`),是未合并的适配器(LoRA)、Megatron 或另一 Transformers 版本的名称,或引擎只保存一份的共享词嵌入。"
    ),
    (
        "安装相互配套的训练端与引擎版本,或升级训练端:出错的是它的名称表,而不是你的设置。若要继续:传输前合并适配器"
        "(veRL 配 Megatron-Bridge:在支持的版本中设 `actor_rollout_ref.model.lora.merge=True`)或不用 LoRA,改用另一种"
        "转换方式(桥接代替手写名称),或使用其示例所用的 rollout 引擎。"
    ),
)
_RENAMED = (
    (
        "Transformers 4.52 renamed the parts of vision-language models (`model.visual.`, `model.language_model.` "
        "where `visual.` and `model.` had been). vLLM before 0.9.1 knows the old names only: weights that such a "
        "Transformers saved, or that a trainer with it sends, find no place. A text-only model class that is given a "
        "checkpoint with a vision tower fails likewise."
    ),
    (
        "Upgrade vLLM to 0.9.1 or newer with the trainer that fits it, or go back on both sides: `pip install "
        '"transformers==4.51.3"`. A checkpoint saved under the new names must be saved again by the older release, or '
        "served by the newer vLLM. See that `architectures` in config.json names the vision-language class."
    ),
    (
        "Transformers 4.52 更改了视觉语言模型各部分的名称(原来的 `visual.` 与 `model.` 变为 `model.visual.`、"
        "`model.language_model.`)。vLLM 0.9.1 之前只认识旧名称:由这样的 Transformers 保存、或由使用它的训练端发送的权"
        "重找不到位置。把带视觉塔的检查点交给纯文本模型类也会如此。"
    ),
    (
        '把 vLLM 升级到 0.9.1 或更新,并使用与之配套的训练框架;或两端都退回:`pip install "transformers==4.51.3"`。已用'
        "新名称保存的检查点须用旧版重新保存,或由更新的 vLLM 加载。确认 config.json 的 `architectures` 是视觉语言类。"
    ),
)
#: https://github.com/vllm-project/vllm/pull/19054
_VISION = ("visual.", "model.visual.", "language_model.", "model.language_model.")
_TRANSFER = re.compile(r":(?:_?update_weights?\w{0,40}|update_named_param|update_params|_load_weights_from_\w{1,30})$")


def _of_key(hits: Hits) -> Finding:
    """A name of the original format has one cause, one of a transfer another, any other has several."""
    key = hits.get("key") or ""
    sent = any(_TRANSFER.search(frame) for hit in hits for frame in hit.frames)
    original = any(part in key for part in ("attention.w", "feed_forward.w", "tok_embeddings", "attention_norm"))
    why, what, why_zh, what_zh = (
        _ORIGINAL if original
        else _RENAMED if key.startswith(_VISION) and key.endswith((".weight", ".bias"))
        else _SENT if sent or hits.first.signature == len(SIGNATURES) - 1
        else _TIED if key.endswith("lm_head.weight")
        else _ORDINARY
    )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE_KEY, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        key=key, why=why, what=what, why_zh=why_zh, what_zh=what_zh,
    )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """A PEFT wrapper shows by its prefix."""
    if not hits.of(0):
        return _of_key(hits)
    name = hits.get("name") or ""
    peft = name.startswith("base_model") or "lora_" in name
    return found(
        PROBLEM,
        LOG_MESSAGE_PEFT if peft else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if peft else LIKELY,
        name=name,
        model=hits.get("model"),
    )
