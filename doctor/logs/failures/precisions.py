"""Two precisions that meet in a message, and the settings by which parts of a run have one of their own."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.patterns import later

TYPE = later(
    r"(?i)(?<![\w.])(?:torch\.)?(?P<type>b?float(?:16|32|64)|bf16|fp16|fp32|half|double)\b"
    r"|\bc10::(?P<c10>Half|BFloat16)"
)
#: both are named because they differ
_DIFFER = later(r"(?i)mismatch|\bbut\b|change the dtype|same dtype|dtype|expected|!=|differ|instead of")
_ONE_NAME = {"half": "float16", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "double": "float64"}
_MIXED = later(
    r"(?i)^(?:bf16|fp16|tf32|dtype|torch_dtype|mixed_precision|model_dtype|amp|precision|autocast\w*|load_in_[48]bit)$"
)
_ADAPTER = later(r"(?i)lora|adapter|target_parameters|peft")
_OFF = (None, False, 0, "no", "none", "None")


def read(message: str) -> tuple[str, str] | None:
    """The two precisions of a message, in its order; None where it names one, or more than two."""
    if not _DIFFER.search(message):
        return None
    named = [(match["type"] or match["c10"]).lower() for match in TYPE.finditer(message)]
    types = list(dict.fromkeys(_ONE_NAME.get(each, each) for each in named))
    return (types[0], types[1]) if len(types) == 2 else None


def settings(made: Mapping[str, object]) -> tuple[str, ...]:
    """Settings of precision first, then those of an adapter, whose weights have their own."""
    on = [(name, value) for name, value in made.items() if value not in _OFF and isinstance(value, bool | int | str)]
    mixed = [f"{name}={value}" for name, value in on if _MIXED.search(name.rpartition(".")[2])]
    adapters = [f"{name}={value}" for name, value in on if _ADAPTER.search(name.rpartition(".")[2])]
    return tuple(dict.fromkeys((*mixed, *adapters)))
