"""Builds models without memory from configurations read from standard input, and prints how many parameters they have.

In: a list of configurations (the content of `config.json`). Out: a list of {parameters, largest_layer}.
"""

from __future__ import annotations

import json
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText


def counted(config: dict) -> dict[str, int]:
    kind = config.pop("model_type")
    built = AutoConfig.for_model(kind, **config)
    auto = AutoModelForImageTextToText if getattr(built, "vision_config", None) is not None else AutoModelForCausalLM
    with torch.device("meta"):
        model = auto.from_config(built)
    model.tie_weights()
    lists = [each for each in model.modules() if isinstance(each, torch.nn.ModuleList)]
    layers = max(lists, key=lambda each: sum(one.numel() for one in each.parameters()))
    return {
        "parameters": sum(each.numel() for each in model.parameters()),
        "largest_layer": max(sum(one.numel() for one in layer.parameters()) for layer in layers),
    }


print(json.dumps([counted(each) for each in json.load(sys.stdin)]))
