"""Whether a saved adapter fits its real base model: names and shapes alone, on the meta device, no weight is read.

In a rehearsal the adapter is remade for the tiny model, so that its own file is never loaded there. PEFT's own function
loads what the file's header says into the real architecture: what it renames is renamed, what it misses is missed.
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/utils/save_and_load.py
https://docs.pytorch.org/docs/stable/meta.html
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any, Optional

FILE = "adapter_model.safetensors"
_NAME = "default"
_MOST = 12
#: class that loads the base model, by the adapter's task; any other task is not compared
_CLASSES = {
    None: "AutoModelForCausalLM", "CAUSAL_LM": "AutoModelForCausalLM", "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "SEQ_CLS": "AutoModelForSequenceClassification", "TOKEN_CLS": "AutoModelForTokenClassification",
}  # fmt: skip
#: torch's sentence on a tensor of another size
_SIZE = re.compile(
    r"size mismatch for ([\w.]+): copying a param with shape torch\.Size\(\[([\d, ]*)\]\) from checkpoint, "
    r"the shape in current model is torch\.Size\(\[([\d, ]*)\]\)"
)
#: bytes of a header, of what is told in its first eight
_HEADER_MOST = 100 << 20


def compared(adapter: str, config: Any) -> Optional[dict[str, Any]]:
    """What the real base model would miss of an adapter, and what has another shape there.

    Args:
        adapter: folder that holds it.
        config: its PEFT configuration.

    Returns:
        `folder`, `base`, `missing` (names), `unexpected` and `shapes` (name -> [in the file, in the model]); None where
        that cannot be seen: other files, tasks or programs than those known here.

    """
    path = Path(adapter) / FILE
    owner, base = _owner(config), config.base_model_name_or_path
    if not path.is_file() or owner is None or not base:
        return None
    told = {"folder": adapter, "base": base, "missing": [], "unexpected": [], "shapes": {}}
    try:
        return {**told, **_loaded(path, config, owner)}
    except Exception:  # noqa: BLE001 - a model of its own code, a release without the function: nothing is claimed
        return None


def _owner(config: Any) -> Optional[str]:
    """Name of the class that the base model is of: by the task, or as PEFT noted it where there is none."""
    noted = getattr(config, "auto_mapping", None) or {}
    if config.task_type is None and noted:
        of_transformers = str(noted.get("parent_library", "")).startswith("transformers.")
        return noted.get("base_model_class") if of_transformers else None
    return _CLASSES.get(getattr(config.task_type, "value", config.task_type))


def _loaded(path: Path, config: Any, owner: str) -> dict[str, Any]:
    """What PEFT says when it loads the header's tensors into the model."""
    import torch
    import transformers
    from peft import get_peft_model
    from peft.utils import set_peft_model_state_dict

    with torch.device("meta"):
        real = transformers.AutoConfig.from_pretrained(config.base_model_name_or_path)
        kind = getattr(transformers, owner)
        base = kind.from_config(real) if hasattr(kind, "from_config") else kind(real)
        model = get_peft_model(base, config, adapter_name=_NAME)
        state = {name: torch.empty(each["shape"]) for name, each in _header(path).items()}
    try:
        result = set_peft_model_state_dict(model, state, adapter_name=_NAME, low_cpu_mem_usage=True)
    except RuntimeError as error:
        sizes = _SIZE.findall(str(error))
        if not sizes:
            raise
        return {"shapes": {name: [_numbers(saved), _numbers(here)] for name, saved, here in sizes[:_MOST]}}
    prefix = getattr(model.base_model, "prefix", None)  # "lora_" of LoRA
    missing = [each for each in result.missing_keys if prefix and prefix in each and f".{_NAME}" in each]
    return {"missing": missing[:_MOST], "unexpected": list(result.unexpected_keys)[:_MOST]}


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each.strip()]


def _header(path: Path) -> dict[str, Any]:
    """Tensor -> dtype and shape.

    Raises:
        ValueError: it is no header.

    """
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        if size > _HEADER_MOST:
            raise ValueError(f"a header of {size} bytes")
        header: dict[str, Any] = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return header
