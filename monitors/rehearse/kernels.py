"""What only a GPU runs, replaced on a machine that has none: attention, quantised loading, kernels, optimizers, Adam.

The run itself is another machine's then, and the package may well be there: what is replaced is told, and so is what
this interpreter lacks. On a machine with a GPU nothing is replaced, and the libraries say what they miss.
https://huggingface.co/docs/transformers/attention_interface  https://huggingface.co/docs/transformers/quantization/overview
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/modeling_utils.py
https://www.deepspeed.ai/docs/config-json/#optimizer-parameters
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from collections.abc import Mapping
from typing import Any, Optional

from doctor.monitors.rehearse import journal

#: attention of FlashAttention's, by the names of Transformers and of the hub's kernels -> package that has it
_FLASH = "flash"
_FLASH_PACKAGES = {"flash_attention_2": "flash_attn", "flash_attention_3": "flash_attn_interface"}
#: `optim` of bitsandbytes' and Apex's optimizers: https://huggingface.co/docs/transformers/optimizers
_OPTIMIZERS = re.compile(r"paged_|_8bit|_bnb|_apex_|_4bit")
_PLAIN_OPTIMIZER = "adamw_torch"
#: arguments by which trainers use Liger's kernels, with its loss or without
_LIGER = ("use_liger_kernel", "use_liger_loss")
#: arguments of loaders that ask for kernels and for quantised weights
_QUANTISED = ("quantization_config", "load_in_4bit", "load_in_8bit")
#: optimizers of DeepSpeed that torch has too: https://github.com/deepspeedai/DeepSpeed/blob/v0.16.8/deepspeed/runtime/engine.py
_ADAM = ("adam", "adamw")


def has_gpu() -> bool:
    """Whether torch, where this process has it, can use a card."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return False
    try:
        return bool(torch.cuda.is_available())
    except Exception:  # noqa: BLE001 - whatever a driver raises
        return False


def lacks(package: str) -> bool:
    """Whether this interpreter has no such package, which is told then: the machine that trains needs it."""
    try:
        there = importlib.util.find_spec(package) is not None
    except Exception:  # noqa: BLE001 - ImportError, ValueError, and whatever a finder of the program's raises
        there = package in sys.modules
    if not there:
        journal.left_out(package, "not_here", package=package)
    return not there


@journal.shielded
def loading(keywords: dict[str, Any]) -> None:
    """Change the keywords of a loader of models: attention and quantised weights that need a card, and its number."""
    if has_gpu():
        return
    asked = keywords.get("attn_implementation")
    if _is_flash(asked):
        del keywords["attn_implementation"]  # the library chooses among what the model has here
        _attention(asked)
    configured(keywords.get("config"))
    if keywords.pop("use_kernels", False):
        journal.left_out("kernels", "hub_kernels")
    _plain_weights(keywords)
    if keywords.get("device_map") is not None:
        keywords["device_map"] = _without_cards(keywords["device_map"])


@journal.shielded
def configured(config: Any) -> None:
    """Let a model's configuration ask for no attention that needs a card; it keeps what was asked of its loader."""
    asked = getattr(config, "_attn_implementation", None)
    if _is_flash(asked) and not has_gpu():
        config._attn_implementation = None  # noqa: SLF001 - the name by which the library sets it
        _attention(asked)


def _is_flash(asked: Any) -> bool:
    values = asked.values() if isinstance(asked, Mapping) else (asked,)
    return any(isinstance(each, str) and _FLASH in each.lower() for each in values)


def _attention(asked: Any) -> None:
    values = asked.values() if isinstance(asked, Mapping) else (asked,)
    name = next(str(each) for each in values if _is_flash(each))
    journal.left_out("attention", "attention", asked=name)
    if name in _FLASH_PACKAGES:
        lacks(_FLASH_PACKAGES[name])


def _plain_weights(keywords: dict[str, Any]) -> None:
    """Load plain weights in the place of those that are quantised as they are loaded."""
    for name in _QUANTISED:
        asked = keywords.get(name)
        if asked is None or asked is False:
            continue
        method = _method(asked) if name == _QUANTISED[0] else "bitsandbytes"
        del keywords[name]
        journal.left_out("model", "quantised_loading", method=method)
        if method == "bitsandbytes":
            lacks(method)


def _method(config: Any) -> str:
    """The method of a quantisation, as the library names it."""
    if isinstance(config, Mapping):
        found = config.get("quant_method") or ("bitsandbytes" if {"load_in_4bit", "load_in_8bit"} & set(config) else "")
    else:
        found = getattr(config, "quant_method", "")
    return str(getattr(found, "value", found)) or type(config).__name__


def _without_cards(device_map: Any) -> Any:
    """The same map with the processor in the place of cards, which are numbers or begin with `cuda`."""
    if isinstance(device_map, Mapping):
        return {name: _without_cards(each) for name, each in device_map.items()}
    number = isinstance(device_map, int) and not isinstance(device_map, bool)
    return "cpu" if number or str(device_map).startswith("cuda") else device_map


def configurations(module: Any) -> None:
    """Let the configuration of bitsandbytes be made where that package is missing: it asks for its release at once.

    https://github.com/huggingface/transformers/blob/v4.52.3/src/transformers/utils/quantization_config.py
    """
    owner = module.BitsAndBytesConfig
    original = owner.post_init

    @functools.wraps(original)
    def post_init(self: Any) -> Any:
        try:
            return original(self)
        except ImportError:  # PackageNotFoundError is one
            if has_gpu() or not lacks("bitsandbytes"):
                raise
            return None

    owner.post_init = post_init


@journal.shielded
def training(args: Any) -> None:
    """Change arguments of a training, which its own classes have judged before."""
    if has_gpu():
        return
    for name in _LIGER:
        if getattr(args, name, False):
            setattr(args, name, False)
            journal.left_out("kernels", "liger")
            lacks("liger_kernel")
    asked = getattr(args, "optim", None)
    name = str(getattr(asked, "value", asked))
    if asked is not None and _OPTIMIZERS.search(name):
        args.optim = type(asked)(_PLAIN_OPTIMIZER)
        journal.left_out("optimizer", "optimizer_of_gpu", asked=name, used=_PLAIN_OPTIMIZER)
        lacks("apex" if "apex" in name else "bitsandbytes")
    for each in _deepspeed(args):
        _adam(each)


def _deepspeed(args: Any) -> list[dict[str, Any]]:
    """Configurations of DeepSpeed: the arguments' own, and the one that Accelerate's launcher names."""
    plugin = getattr(args, "deepspeed_plugin", None)
    owners = (getattr(args, "hf_deepspeed_config", None), getattr(plugin, "hf_ds_config", None))
    found = [getattr(each, "config", None) for each in owners]
    return [each for each in (*found, getattr(plugin, "deepspeed_config", None)) if isinstance(each, dict)]


def _adam(config: dict[str, Any]) -> None:
    """Have torch's Adam in the place of DeepSpeed's own, which is compiled at its first use."""
    optimizer: Optional[Any] = config.get("optimizer")
    if not isinstance(optimizer, dict) or str(optimizer.get("type", "")).lower() not in _ADAM:
        return
    parameters = optimizer.setdefault("params", {})
    if isinstance(parameters, dict) and not parameters.get("torch_adam"):
        parameters["torch_adam"] = True
        config["zero_force_ds_cpu_optimizer"] = False
        journal.left_out("optimizer", "optimizer_of_gpu", asked="FusedAdam", used="torch.optim.AdamW")
