"""Checkpoints by the names and headers of their files: in pieces that only one framework joins, or not whole."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.facts.model import Model

#: layouts: weights as `from_pretrained` reads them; pieces a rank of veRL's and Trinity-RFT's FSDP; Megatron's
#: distributed checkpoint below veRL; ZeRO partitions; torch's distributed checkpoint as Accelerate names it
WEIGHTS, RANK_SHARDS, MEGATRON, ZERO, SHARDED_STATE = "weights", "rank-shards", "megatron", "zero", "sharded-state"
#: PEFT's adapter, whose base model is not where its configuration says
ADAPTER = "adapter"


@record
class CutFile:
    """A file that ends before its own header says; `needed_bytes` is None where only its end is known to be missing."""

    name: str
    size_bytes: int
    needed_bytes: int | None = None


@record
class Checkpoint:
    """One folder that holds (part of) a model.

    Args:
        folder: absolute or as given; of ZeRO the folder above `tag`.
        kind: one of the layouts above.
        files: how many files the pieces are.
        step: from the nearest folder named after a step.
        world_size: ranks that saved it, where names tell; `missing` names files that should be there.
        whole_weights: weights that anybody can load lie beside the pieces.
        trinity: Trinity-RFT's own files lie above it.
        tag: DeepSpeed's folder of the partitions; `is_latest` whether `latest` names it.
        converter: what the second argument of the `zero_to_fp32.py` beside it is called, None without the script.
        safe: whether that script can write safetensors.
        base: folder in which an adapter looks for its base model.
        described: veRL's `fsdp_config.json`, or torch's `.metadata`, is there.
        pointers: Git LFS pointers instead of weights; `cut_off` files that are not whole.

    """

    folder: str
    kind: str
    files: int = 1
    step: int | None = None
    world_size: int | None = None
    missing: tuple[str, ...] = ()
    whole_weights: bool = False
    trinity: bool = False
    tag: str | None = None
    is_latest: bool = True
    converter: str | None = None
    safe: bool = False
    base: str | None = None
    described: bool = True
    pointers: tuple[str, ...] = ()
    cut_off: tuple[CutFile, ...] = ()


@record
class Checkpoints:
    """Checkpoints that were looked at; `model`: the command loads this one as its model.

    `resumed`: what `config.json` says in the folder that the run is to go on from, where it has one. `absent`: the
    setting by which it is to go on from a checkpoint that is not there; `searched` where it would be.
    """

    found: tuple[Checkpoint, ...] = ()
    model: str | None = None
    resumed: Model | None = None
    absent: Observed | None = None
    searched: str = ""
