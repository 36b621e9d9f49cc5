"""Makes the tiny folder of one model or adapter: a program, run as a child of the interpreter that will load it.

A process of its own, without the variables of a launcher, because inside of the training `zero.Init` would partition
what is made here. It reads a wish as JSON and prints one line of JSON: what was made, or why nothing was.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

#: files that come along as they are: configuration, tokenizer, processor, template, the model's own code
_ALONG = (".json", ".txt", ".model", ".jinja", ".py", ".tiktoken", ".vocab", ".merges")
_MOST_BYTES = 128 << 20
#: weights, and what says where they are
_NOT_ALONG = ("model.safetensors.index.json", "pytorch_model.bin.index.json", "trainer_state.json", "optimizer.pt")
_SEED = 20260
_HEADER_MOST = 100 << 20


def main() -> None:
    """Make what the wish on standard input says; it may hold a token, which a command line would show."""
    wish = json.load(sys.stdin)
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != Path(__file__).resolve().parent]
    sys.path.append(wish["library"])
    into = Path(wish["into"])
    made = into.with_name(f"{into.name}.part")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    answer = (_adapter if wish["kind"] == "adapter" else _model)(wish, made)
    made.rename(into)
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


def _model(wish: dict[str, Any], into: Path) -> dict[str, Any]:
    import torch

    from doctor.monitors.rehearse.shrink import group_of, shrink

    where = {name: wish[name] for name in ("revision", "cache_dir", "token") if wish.get(name) is not None}
    config, real, folder = _config(wish, where)
    told: dict[str, Any] = {"parameters": None, "quantised": None, "missing": [], "unexpected": []}
    small = shrink(real, wish.get("parallel", 1), group_of(real))
    if "quantization_config" in small:
        told["quantised"] = str(small.pop("quantization_config").get("quant_method", "quantised"))
    target = into / wish["subfolder"] if wish.get("subfolder") else into
    target.mkdir(parents=True, exist_ok=True)
    _along(folder, target)
    tiny = _as_config(small, config, target)
    torch.manual_seed(seed_of(wish["name"]))
    model = _built(tiny, real, wish)
    _fill_padding(model)
    told["parameters"] = sum(each.numel() for each in model.parameters())
    saved = {"variant": wish["variant"]} if wish.get("variant") else {}
    model.save_pretrained(target, **saved)
    _with_keys_of(folder, target, real, small, told)
    _keep_config(target, small, real)
    return told


def seed_of(name: str) -> int:
    """The seed of a model's weights: a student and a teacher of one size are two models, also when both are tiny."""
    return _SEED + zlib.crc32(name.rstrip("/").encode())


def _config(wish: dict[str, Any], where: dict[str, Any]) -> tuple[Any, dict[str, Any], Optional[Path]]:
    """The real configuration as an object and as its file has it, and the folder that the file lies in."""
    from transformers import AutoConfig
    from transformers.configuration_utils import PretrainedConfig
    from transformers.utils import cached_file

    subfolder = {"subfolder": wish["subfolder"]} if wish.get("subfolder") else {}
    real, _ = PretrainedConfig.get_config_dict(wish["name"], **where, **subfolder)
    real = {name: each for name, each in real.items() if name != "_commit_hash"}
    config = AutoConfig.from_pretrained(
        wish["name"], trust_remote_code=bool(wish.get("trust_remote_code")), **where, **subfolder
    )
    file = cached_file(wish["name"], "config.json", **where, **subfolder)
    return config, real, None if file is None else Path(file).parent


def _along(folder: Optional[Path], target: Path) -> None:
    for each in [] if folder is None else sorted(folder.iterdir()):
        fit = each.suffix in _ALONG and each.name not in _NOT_ALONG and not each.name.endswith(".index.json")
        if fit and each.is_file() and each.stat().st_size <= _MOST_BYTES and not each.name.startswith("checkpoint"):
            shutil.copyfile(each, target / each.name)


def _as_config(small: dict[str, Any], config: Any, target: Path) -> Any:
    """The tiny configuration as the library reads it from its file."""
    (target / "config.json").write_text(json.dumps(small, indent=1), encoding="utf-8")
    return type(config).from_pretrained(str(target))


def _built(config: Any, real: dict[str, Any], wish: dict[str, Any]) -> Any:
    """A model with random weights, of the class that the configuration names."""
    import torch
    import transformers

    name = (real.get("architectures") or [None])[0]
    dtype = real.get("torch_dtype") or real.get("dtype")
    wanted = getattr(torch, str(dtype), None) if isinstance(dtype, str) else None
    owner = getattr(transformers, name, None) if name else None
    before = torch.get_default_dtype()
    if wanted is not None and wanted.is_floating_point and wanted.itemsize > 1:
        torch.set_default_dtype(wanted)
    try:
        if owner is not None:
            return owner(config)
        auto = _auto_class(real)
        return auto.from_config(config, trust_remote_code=bool(wish.get("trust_remote_code")))
    finally:
        torch.set_default_dtype(before)


def _fill_padding(model: Any) -> None:
    """Give the padding's row of embeddings values, as trained models have them; a new model's is zeros.

    Behind RMSNorm the gradient at a row of zeros is 1/sqrt(eps) times larger in every layer, and soon infinite, where a
    trainer does not mask the padding.
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
    https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html
    """
    import torch

    for each in model.modules():
        if isinstance(each, torch.nn.Embedding) and each.padding_idx is not None:
            with torch.no_grad():
                spread = float(each.weight.detach().float().std())
                each.weight[each.padding_idx] = torch.randn(each.embedding_dim).to(each.weight.dtype) * spread


def _auto_class(real: dict[str, Any]) -> Any:
    """The automatic class that the model's own code declares, else that of causal models."""
    import transformers

    declared = [each for each in real.get("auto_map", {}) if each.startswith("AutoModel")]
    wanted = "AutoModelForCausalLM" if "AutoModelForCausalLM" in declared or not declared else declared[0]
    return getattr(transformers, wanted)


def _keep_config(target: Path, small: dict[str, Any], real: dict[str, Any]) -> None:
    """Let the file have the names and the dtype that the real one has: code reads them."""
    path = target / "config.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    for name in ("architectures", "auto_map", "torch_dtype", "dtype"):
        if name in real:
            written[name] = real[name]
        elif name in ("torch_dtype", "dtype"):
            written.pop(name, None)
    for name, value in small.items():
        written.setdefault(name, value)
    path.write_text(json.dumps(written, indent=1), encoding="utf-8")


def headers(folder: Path) -> Optional[dict[str, dict[str, Any]]]:
    """Tensor -> what its header says (dtype, shape) of all safetensors files of a folder; None where there are none."""
    found: dict[str, dict[str, Any]] = {}
    files = sorted(each for each in folder.glob("*.safetensors"))
    for path in files:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > _HEADER_MOST:
                return None
            header = json.loads(file.read(size))
        header.pop("__metadata__", None)
        found.update(header)
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        listed = json.loads(index.read_text(encoding="utf-8")).get("weight_map", {})
        for name in listed:
            found.setdefault(name, {})
    return found if files or index.is_file() else None


def _with_keys_of(
    folder: Optional[Path], target: Path, real: dict[str, Any], small: dict[str, Any], told: dict[str, Any]
) -> None:
    """Give the tiny weights the keys of the real ones: what is missing or superfluous there is so here, too."""
    from doctor.monitors.rehearse.shrink import size_of

    theirs = None if folder is None else headers(folder)
    own = target / "model.safetensors"
    if not theirs or not own.is_file() or told["quantised"]:
        return
    from safetensors.torch import load_file, save_file

    weights = load_file(own)
    missing = sorted(set(weights) - set(theirs))
    unexpected = sorted(set(theirs) - set(weights))
    if _renumbered(missing, unexpected) or not (missing or unexpected):
        return
    import torch

    told["missing"], told["unexpected"] = missing, unexpected
    kept = {name: each for name, each in weights.items() if name in theirs}
    for name in unexpected:
        shape = size_of(list(theirs[name].get("shape") or [1]), real, small)
        kept[name] = torch.zeros([min(each, 1024) for each in shape])
    save_file(kept, own, metadata={"format": "pt"})


def _renumbered(missing: list[str], unexpected: list[str]) -> bool:
    """Whether keys differ because experts were left out or another release names tensors otherwise: not the user's."""
    experts = [each for each in (*missing, *unexpected) if "expert" in each]
    return bool(experts) or (len(missing) > 4 and len(unexpected) > 4)


def _adapter(wish: dict[str, Any], into: Path) -> dict[str, Any]:
    """The adapter of that configuration for the tiny base model, with fresh weights."""
    import torch
    from peft import PeftConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from doctor.monitors.rehearse.adapter_keys import compared

    config = PeftConfig.from_pretrained(wish["name"])
    torch.manual_seed(_SEED)
    model = AutoModelForCausalLM.from_pretrained(wish["base"])
    made = get_peft_model(model, config)
    made.save_pretrained(str(into))
    path = into / "adapter_config.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    written["base_model_name_or_path"] = config.base_model_name_or_path
    path.write_text(json.dumps(written, indent=1), encoding="utf-8")
    for each in _tokenizer_files(Path(wish["name"])):
        shutil.copyfile(each, into / each.name)
    keys = compared(wish["name"], PeftConfig.from_pretrained(wish["name"]))  # anew: PEFT writes into one that is used
    return {"parameters": None, "quantised": None, "missing": [], "unexpected": [], "adapter": keys}


def _tokenizer_files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (each for each in folder.iterdir() if "token" in each.name and each.suffix in _ALONG)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
