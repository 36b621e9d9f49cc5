"""How each form of source is read: an iterator of (hub name, configuration, path of the file)."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

Config = dict[str, Any]
Read = Callable[[str], str]
Row = tuple[str, Config, str]

#: LitGPT's names -> those of config.json
_LITGPT = {
    "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_query_groups": "num_key_value_heads",
    "head_size": "head_dim", "n_embd": "hidden_size", "block_size": "max_position_embeddings",
    "intermediate_size": "intermediate_size", "n_expert": "num_experts", "n_expert_per_token": "num_experts_per_tok",
    "moe_intermediate_size": "moe_intermediate_size",
}  # fmt: skip
#: Megatron's options -> names of config.json; what is tied is left out, for the specification may say otherwise
_MEGATRON = {
    "num-layers": "num_hidden_layers", "hidden-size": "hidden_size", "ffn-hidden-size": "intermediate_size",
    "num-attention-heads": "num_attention_heads", "num-query-groups": "num_key_value_heads",
    "kv-channels": "head_dim", "vocab-size": "vocab_size", "num-experts": "num_experts",
    "moe-router-topk": "num_experts_per_tok", "moe-ffn-hidden-size": "moe_intermediate_size",
}  # fmt: skip
#: imports torch for one function and yaml for another; neither is needed to make the table
_RUN_LITGPT = """
import json, sys, types
for name in ("torch", "yaml", "typing_extensions", "litgpt", "litgpt.utils"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["typing_extensions"].Self = object
sys.modules["litgpt.utils"].find_multiple = lambda n, k: n if n % k == 0 else n + k - n % k
module = types.ModuleType("config")
sys.modules["config"] = module
exec(compile(sys.stdin.read(), "config.py", "exec"), module.__dict__)
# a row leaves out what its class takes as default
usual = {name: getattr(module.Config, name) for name in ("n_layer", "n_head", "n_embd")}
json.dump([{**usual, **each} for each in module.configs], sys.stdout, default=str)
"""


def rows(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    """Every model of one source."""
    yield from _FORMS[source["form"]](source, paths, read)


def _configs(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    folder, models, suffix = source["folder"], source.get("models"), source.get("suffix", "")
    for path in paths:
        name = path.removeprefix(f"{folder}/")
        if models is not None and name in models:
            yield models[name], json.loads(read(path)), path
        elif models is None and name.endswith(suffix):
            stem = name.removesuffix(suffix)
            if not any(re.fullmatch(each, stem) for each in source.get("skip", ())):
                yield stem.replace("--", "/", 1), json.loads(read(path)), path


def _dictionaries(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    del paths
    for node in ast.parse(read(source["file"])).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            for key, config in ast.literal_eval(node.value).items():
                if key in source["models"]:
                    yield source["models"][key], config, source["file"]


def _calls(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    """`name = transformers.Qwen2Config(hidden_size=...)` and `name = {...}` of the values that are literals."""
    del paths
    for node in ast.parse(read(source["file"])).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = source["models"].get(node.targets[0].id)
        if name is None:
            continue
        if isinstance(node.value, ast.Dict):
            yield name, _literals(node.value), source["file"]
        elif isinstance(node.value, ast.Call):
            values = {each.arg: each.value for each in node.value.keywords if each.arg}
            yield name, _known(values), source["file"]


def _literals(node: ast.Dict) -> Config:
    """A dictionary without what would have to be computed (`["full"] * 5`)."""
    keys = [each.value if isinstance(each, ast.Constant) else None for each in node.keys]
    return _known({str(key): value for key, value in zip(keys, node.values, strict=True) if key is not None})


def _known(values: Mapping[str, ast.expr]) -> Config:
    known: Config = {}
    for name, node in values.items():
        with suppress(ValueError):
            known[name] = _literals(node) if isinstance(node, ast.Dict) else ast.literal_eval(node)
    return known


def _blocks(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    del paths
    for name, block in re.findall(r"^([\w.\-]+)\s*\n(\{\n.*?^\})", read(source["file"]), re.DOTALL | re.MULTILINE):
        if name in source["models"]:
            yield source["models"][name], json.loads(block), source["file"]


def _litgpt(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    del paths
    command = [sys.executable, "-I", "-c", _RUN_LITGPT]
    done = subprocess.run(command, input=read(source["file"]), capture_output=True, text=True, timeout=60, check=True)
    for row in json.loads(done.stdout):
        hub = row.get("hf_config") or {}
        config = {name: row[key] for key, name in _LITGPT.items() if isinstance(row.get(key), int)}
        vocabulary = row.get("padded_vocab_size") or row.get("vocab_size")
        if isinstance(vocabulary, int):
            config["vocab_size"] = vocabulary
        if hub.get("org") and hub.get("name"):
            yield f"{hub['org']}/{hub['name']}", config, source["file"]


def _megatron(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    """A shell file a model, with Megatron's options in an array; a number may be a sum of variables above it."""
    for path in paths:
        name = source["models"].get(path.removeprefix(f"{source['folder']}/"))
        if name is None:
            continue
        text = read(path)
        variables = {each: int(value) for each, value in re.findall(r"^(\w+)=(\d+)$", text, re.MULTILINE)}
        config = {}
        for option, value in re.findall(r"^\s*--([a-z-]+) (\d+|\$\(\([\w +]+\)\))\s*$", text, re.MULTILINE):
            parts = re.findall(r"\w+", value)
            if option in _MEGATRON and all(each.isdigit() or each in variables for each in parts):
                config[_MEGATRON[option]] = sum(int(each) if each.isdigit() else variables[each] for each in parts)
        yield name, config, path


def _gated(source: Mapping[str, Any], paths: list[str], read: Read) -> Iterator[Row]:
    """Files of storage addresses, with a remark where the hub asks for an agreement first."""
    del source
    for path in paths:
        text = read(path) if path.endswith(".yaml") else ""
        found = re.search(r"^\s*storageUri: hf://(\S+)", text, re.MULTILINE)
        if found and "is gated on HuggingFace" in text:
            yield found[1], {"gated": True}, path


_FORMS: Mapping[str, Callable[[Mapping[str, Any], list[str], Read], Iterator[Row]]] = {
    "config": _configs,
    "dictionaries": _dictionaries,
    "calls": _calls,
    "blocks": _blocks,
    "litgpt": _litgpt,
    "megatron": _megatron,
    "gated": _gated,
}
