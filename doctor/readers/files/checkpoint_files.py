"""Recognises checkpoints by file names, and tells cut files by their first and last bytes. Opens no pickle.

- veRL and Trinity-RFT with FSDP: `model_world_size_<n>_rank_<k>.pt`, in newer releases with `fsdp_config.json`;
  weights for everybody in `huggingface/` when asked for
  https://github.com/volcengine/verl/blob/main/verl/utils/checkpoint/fsdp_checkpoint_manager.py
- veRL with Megatron: `dist_ckpt/` beside `huggingface/`
  https://github.com/volcengine/verl/blob/main/verl/utils/checkpoint/megatron_checkpoint_manager.py
- DeepSpeed: `<tag>/[bf16_]zero_pp_rank_<k>_mp_rank_<m>_optim_states.pt`, `latest` and `zero_to_fp32.py` above it
  https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/utils/zero_to_fp32.py
- PEFT: `adapter_config.json`, which names the base model
  https://github.com/huggingface/peft/blob/main/src/peft/config.py
- Accelerate with FSDP and SHARDED_STATE_DICT: `pytorch_model_fsdp_0/__<k>_<n>.distcp` and `.metadata`
  https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/fsdp_utils.py
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from doctor.base.patterns import later
from doctor.facts.checkpoints import ADAPTER, MEGATRON, RANK_SHARDS, SHARDED_STATE, WEIGHTS, ZERO, Checkpoint, CutFile
from doctor.readers.files import model_weights
from doctor.readers.script.python_source import SourceNotReadable, read_regular

_RANK_SHARD = later(r"model_world_size_(\d{1,6})_rank_(\d{1,6})\.pt")
_PARTITION = later(r"(?:bf16_)?zero_pp_rank_(\d{1,6})_mp_rank_(\d{1,4})_optim_states\.pt")
_STEP = later(r"(?:global_step_?|checkpoint[-_]|iter_)(\d{1,11})")
_FOR_ALL = later(r"(?:model|pytorch_model|adapter_model)(?:-\d{5}-of-\d{5})?\.(?:safetensors|bin)")
_MOST_FILES = 8_192
_MISSING_SHOWN = 64
_TRINITY_FILES = ("latest_state_dict_iteration.txt", "buffer/trainer_meta.json", "buffer/explorer_meta.json")
_SCRIPT_BYTES = 1 << 20
_LONGEST_PATH = 4_096
_HEADER_LIMIT_BYTES = 32 << 20
_ZIP_BEGIN, _ZIP_END, _ZIP_END_BYTES = b"PK\x03\x04", b"PK\x05\x06", 22


def read(folder: Path) -> list[Checkpoint]:
    """The checkpoints that lie in a folder itself; those in folders below are not looked for."""
    names = _names(folder)
    if names is None:
        return []
    found = [_rank_shards(folder, names), _megatron(folder, names), _zero(folder, names), _sharded(folder, names)]
    pieces = [each for each in found if each is not None]
    return pieces or [each for each in (_weights(folder, names), _adapter(folder, names)) if each is not None]


def _names(folder: Path) -> set[str] | None:
    try:
        with os.scandir(folder) as entries:
            return {entry.name for _, entry in zip(range(_MOST_FILES), entries, strict=False)}
    except OSError:
        return None


def _for_all(folder: Path) -> bool:
    """Whether a folder holds weights that `from_pretrained` reads; a pointer or an empty file is none."""
    names = _names(folder) or set()
    return any(_FOR_ALL.fullmatch(each) and _size(folder / each) > 1024 for each in names)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _step(folder: Path) -> int | None:
    for name in reversed(folder.parts[-4:]):
        if match := _STEP.fullmatch(name):
            return int(match[1])
    return None


def _rank_shards(folder: Path, names: set[str]) -> Checkpoint | None:
    shards = [match for each in names if (match := _RANK_SHARD.fullmatch(each))]
    if not shards:
        return None
    world = max(int(each[1]) for each in shards)
    there = {int(each[2]) for each in shards if int(each[1]) == world}
    job = folder.parent.parent
    return Checkpoint(
        folder=str(folder), kind=RANK_SHARDS, files=len(there), step=_step(folder), world_size=world,
        missing=_listed(f"model_world_size_{world}_rank_{rank}.pt" for rank in range(world) if rank not in there),
        whole_weights=_for_all(folder / "huggingface") or _for_all(folder),
        trinity=any((job / each).exists() for each in _TRINITY_FILES),
        described="fsdp_config.json" in names,
        cut_off=cut_off(folder, (each[0] for each in shards)),
    )  # fmt: skip


def _listed(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for _, name in zip(range(_MISSING_SHOWN), names, strict=False))


def _megatron(folder: Path, names: set[str]) -> Checkpoint | None:
    if "dist_ckpt" not in names:
        return None
    pieces = [each for each in _names(folder / "dist_ckpt") or () if each.endswith(".distcp")]
    if not pieces:
        return None
    return Checkpoint(
        folder=str(folder), kind=MEGATRON, files=len(pieces), step=_step(folder),
        whole_weights=_for_all(folder / "huggingface"),
        missing=() if (folder / "dist_ckpt" / ".metadata").exists() else ("dist_ckpt/.metadata",),
        trinity=any((folder.parent.parent / each).exists() for each in _TRINITY_FILES),
    )  # fmt: skip


def _zero(folder: Path, names: set[str]) -> Checkpoint | None:
    """The checkpoint whose partitions lie in one of the folders here: `latest` says in which, else the newest."""
    latest = _text(folder / "latest").strip() if "latest" in names else ""
    likely = (each for each in names if each.startswith("global_step") or each == latest)
    tags = sorted((each for each in likely if _partitions(folder / each)), key=lambda each: _step(Path(each)) or 0)
    if not tags:
        return None
    tag = latest if latest in tags else tags[-1]
    found = _partitions(folder / tag)
    ranks = {int(each[1]) for each in found}
    script = _text(folder / "zero_to_fp32.py") if "zero_to_fp32.py" in names else None
    return Checkpoint(
        folder=str(folder), kind=ZERO, files=len(found), step=_step(folder / tag), tag=tag, is_latest=latest == tag,
        missing=_listed(
            f"{tag}/zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in range(max(ranks)) if rank not in ranks
        ),
        whole_weights=_for_all(folder),
        converter=None if script is None else "output_dir" if '"output_dir"' in script else "output_file",
        safe=script is not None and "--safe_serialization" in script,
        cut_off=cut_off(folder, (f"{tag}/{each[0]}" for each in found)),
    )  # fmt: skip


def _partitions(folder: Path) -> list[re.Match[str]]:
    return [match for each in _names(folder) or () if (match := _PARTITION.fullmatch(each))]


def _sharded(folder: Path, names: set[str]) -> Checkpoint | None:
    inner = folder / "pytorch_model_fsdp_0"
    pieces = _names(inner) if inner.name in names else None
    shards = [each for each in pieces or () if each.endswith(".distcp")]
    if not shards or pieces is None:
        return None
    return Checkpoint(
        folder=str(folder), kind=SHARDED_STATE, files=len(shards), step=_step(folder),
        missing=() if ".metadata" in pieces else (f"{inner.name}/.metadata",), described=".metadata" in pieces,
        whole_weights=_for_all(folder), cut_off=cut_off(folder, (f"{inner.name}/{each}" for each in shards)),
    )  # fmt: skip


def _weights(folder: Path, names: set[str]) -> Checkpoint | None:
    """Ordinary weights, where something is wrong with them."""
    files = sorted(each for each in names if each.endswith((".safetensors", ".bin")) and _FOR_ALL.fullmatch(each))
    if not files and not names & {"model.safetensors.index.json", "pytorch_model.bin.index.json"}:
        return None
    weights = model_weights.read(folder, dtype=None, quantization="")
    cut = cut_off(folder, (each for each in files if each not in weights.pointers))
    if not (weights.missing or weights.pointers or cut):
        return None
    return Checkpoint(
        folder=str(folder), kind=WEIGHTS, files=len(files), step=_step(folder), missing=weights.missing,
        pointers=weights.pointers, cut_off=cut, whole_weights=True,
    )  # fmt: skip


def _adapter(folder: Path, names: set[str]) -> Checkpoint | None:
    """An adapter whose base model was a folder that is not here; one from the hub can be had anywhere."""
    if "adapter_config.json" not in names or "config.json" in names:
        return None
    try:
        config = json.loads(_text(folder / "adapter_config.json"))
        base = config.get("base_model_name_or_path")
    except (ValueError, AttributeError, RecursionError):
        return None
    if not isinstance(base, str) or not base.startswith(("/", "./", "../", "~/")) or len(base) > _LONGEST_PATH:
        return None
    if Path(base).expanduser().exists() or (folder / base).exists():
        return None
    return Checkpoint(folder=str(folder), kind=ADAPTER, step=_step(folder), base=base)


def _text(path: Path) -> str:
    try:
        return read_regular(str(path), _SCRIPT_BYTES).decode("utf-8", "replace")
    except SourceNotReadable:
        return ""


# --- files that are not whole ---


def cut_off(folder: Path, names: Iterable[str]) -> tuple[CutFile, ...]:
    """Files of a folder that end too early, by their headers and last bytes; names of others are passed over."""
    cut = (_cut(folder, name) for name in sorted(names))
    return tuple(each for each in cut if each is not None)


def _cut(folder: Path, name: str) -> CutFile | None:
    """A file that ends too early; None for a whole one and for one that cannot be read or told."""
    path = folder / name
    try:
        if not path.is_file():
            return None
        size = path.stat().st_size
        if not size:
            return CutFile(name, 0)
        if name.endswith(".distcp"):
            return None  # pieces behind each other, without an end of their own
        with path.open("rb") as file:
            if name.endswith(".safetensors"):
                needed = _needed(file)
                return CutFile(name, size, needed) if needed is not None and needed > size else None
            if file.read(len(_ZIP_BEGIN)) != _ZIP_BEGIN:
                return None  # older files of torch.save are plain pickles, which have no length
            file.seek(max(0, size - _ZIP_END_BYTES))
            return None if file.read(len(_ZIP_END)) == _ZIP_END else CutFile(name, size)
    except OSError:
        return None


def _needed(file: BinaryIO) -> int | None:
    """Bytes that a safetensors file must have by its header; None when it is none."""
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= _HEADER_LIMIT_BYTES:
        return None
    content = file.read(length)
    if not content.startswith(b"{"):
        return None
    if len(content) < length:
        return 8 + length
    try:
        ends = [each["data_offsets"][1] for name, each in json.loads(content).items() if name != "__metadata__"]
        return 8 + length + max(map(int, ends), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
