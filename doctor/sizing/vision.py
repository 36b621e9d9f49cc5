"""Parameters of image towers, as the architecture's own code makes them.

https://github.com/huggingface/transformers/tree/main/src/transformers/models: qwen2_vl, qwen2_5_vl, qwen3_vl, siglip,
gemma3. Another tower is not counted, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.record import replace
from doctor.sizing.shape import Matrix, ModelShape

Config = Mapping[str, Any]
#: defaults of the configuration classes, for files that leave them out
_QWEN2_VL = {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "mlp_ratio": 4, "num_heads": 16, "in_channels": 3,
             "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}  # fmt: skip
_QWEN25_VL = {"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "in_channels": 3, "patch_size": 14,
              "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 3584}  # fmt: skip
_QWEN3_VL = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "in_channels": 3, "patch_size": 16,
             "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 3584,
             "num_position_embeddings": 2304}  # fmt: skip
_SIGLIP = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_channels": 3,
           "image_size": 224, "patch_size": 16}  # fmt: skip


def with_tower(shape: ModelShape, config: Config, kind: str) -> ModelShape:
    """The shape with the image tower of its configuration, if it has one."""
    given = config.get("vision_config")
    if not isinstance(given, Mapping):
        return shape
    if kind not in _TOWERS:
        return replace(shape, exact=False, assumed=(*shape.assumed, ("tower", {"family": kind})))
    defaults, count = _TOWERS[kind]
    numbers = {**defaults, **{key: value for key, value in given.items() if isinstance(value, (int, float))}}
    matrices, other = count(numbers, shape.hidden)
    return replace(shape, matrices=(*shape.matrices, *matrices), other=shape.other + other)


def _matrix(inputs: int, outputs: int, count: int = 1, *, bias: bool = True) -> Matrix:
    return Matrix("visual", int(inputs), int(outputs), int(count), bias, vision=True)


def _patches(numbers: Mapping[str, Any], width: int) -> int:
    return int(numbers["in_channels"] * numbers["temporal_patch_size"] * numbers["patch_size"] ** 2 * width)


def _qwen2_vl(numbers: Mapping[str, Any], hidden: int) -> tuple[tuple[Matrix, ...], int]:
    width, depth = int(numbers["embed_dim"]), int(numbers["depth"])
    inner, merged = int(width * numbers["mlp_ratio"]), width * int(numbers["spatial_merge_size"]) ** 2
    del hidden
    layers = (
        _matrix(width, 3 * width, depth),
        _matrix(width, width, depth),
        _matrix(width, inner, depth),
        _matrix(inner, width, depth),
        _matrix(merged, merged),
        _matrix(merged, numbers["hidden_size"]),
    )
    return layers, _patches(numbers, width) + depth * 4 * width + 2 * width


def _qwen25_vl(numbers: Mapping[str, Any], hidden: int) -> tuple[tuple[Matrix, ...], int]:
    width, depth, inner = int(numbers["hidden_size"]), int(numbers["depth"]), int(numbers["intermediate_size"])
    merged = width * int(numbers["spatial_merge_size"]) ** 2
    del hidden
    layers = (
        _matrix(width, 3 * width, depth),
        _matrix(width, width, depth),
        _matrix(width, inner, 2 * depth),
        _matrix(inner, width, depth),
        _matrix(merged, merged),
        _matrix(merged, numbers["out_hidden_size"]),
    )
    return layers, _patches(numbers, width) + depth * 2 * width + width


def _qwen3_vl(numbers: Mapping[str, Any], hidden: int) -> tuple[tuple[Matrix, ...], int]:
    width, depth, inner = int(numbers["hidden_size"]), int(numbers["depth"]), int(numbers["intermediate_size"])
    merged = width * int(numbers["spatial_merge_size"]) ** 2
    del hidden
    mergers = 4  # one at the end, three whose output enters early layers (`deepstack_visual_indexes`)
    layers = (
        _matrix(width, 3 * width, depth),
        _matrix(width, width, depth),
        _matrix(width, inner, depth),
        _matrix(inner, width, depth),
        _matrix(merged, merged, mergers),
        _matrix(merged, numbers["out_hidden_size"], mergers),
    )
    norms = depth * 4 * width + 2 * width + (mergers - 1) * 2 * merged
    return layers, _patches(numbers, width) + width + norms + int(numbers["num_position_embeddings"]) * width


def _gemma3(numbers: Mapping[str, Any], hidden: int) -> tuple[tuple[Matrix, ...], int]:
    """SigLIP without a pooling head, and Gemma's projection."""
    width, depth, inner = (int(numbers[each]) for each in ("hidden_size", "num_hidden_layers", "intermediate_size"))
    positions = (int(numbers["image_size"]) // int(numbers["patch_size"])) ** 2
    layers = (
        _matrix(width, width, 4 * depth),
        _matrix(width, inner, depth),
        _matrix(inner, width, depth),
        _matrix(width, hidden, bias=False),
    )
    patches = int(numbers["num_channels"] * numbers["patch_size"] ** 2 * width) + width
    return layers, patches + positions * width + depth * 4 * width + 2 * width + width


_TOWERS = {
    "qwen2_vl": (_QWEN2_VL, _qwen2_vl),
    "qwen2_5_vl": (_QWEN25_VL, _qwen25_vl),
    "qwen3_vl": (_QWEN3_VL, _qwen3_vl),
    "gemma3": (_SIGLIP, _gemma3),
}
