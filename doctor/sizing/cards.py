"""GPUs that people name: memory, bandwidth, dense peaks and compute capability, as pages that were read say them.

Memory is what the driver reports where a page shows that, else the sheet's size, its GB read as 10**9 bytes. Peaks are
without sparsity (halved where a page gives them with it), in TFLOP/s: `tf32` of tensor cores, `fp16` and `bf16` with
sums in 32 bit, `fp8` likewise. None: the card has no such unit, no page that was read gives the figure, or pages
disagree. Most of these pages quote the makers' sheets; the sheets themselves were not read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from doctor.base.record import record


@record
class Card:
    """A card; `sources`: the pages where its figures stand.

    Args:
        mib: memory; `gb_s`: its bandwidth, 10**9 bytes a second.
        fp32, tf32, fp16, bf16, fp8: dense TFLOP/s.
        capability: of CUDA, None for other makers' cards.

    """

    mib: int
    gb_s: float | None
    fp32: float | None
    tf32: float | None
    fp16: float | None
    bf16: float | None
    fp8: float | None
    capability: tuple[int, int] | None
    sources: tuple[str, ...]


_HUB = "https://github.com/"
_CC, _OLD_CC = "https://developer.nvidia.com/cuda-gpus", "https://developer.nvidia.com/cuda-legacy-gpus"
_MIG = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html"  # sizes and capabilities
_AIC = f"{_HUB}ai-dynamo/aiconfigurator"  # NVIDIA's, aic-core/src/aiconfigurator_core/systems/*.yaml
_PL = f"{_HUB}Lightning-AI/pytorch-lightning/blob/master/src/lightning/fabric/utilities/throughput.py"
_STAS = f"{_HUB}stas00/ml-engineering/blob/master/compute/accelerator/README.md"
_TORCH = f"{_HUB}pytorch/pytorch/blob/main/torch/_inductor/analysis/device_info.py"
_AO = f"{_HUB}pytorch/ao/blob/main/torchao/testing/training/roofline_utils.py"
_VERL = f"{_HUB}volcengine/verl/blob/main/verl/utils/flops_counter.py"
_SMI = f"{_HUB}modal-labs/modal-client/pull/2797"  # nvidia-smi of several cards
_FRANK = f"{_HUB}frank622/nvidiaGPU"
_PROF = f"{_HUB}citsjtu2020/LLM-Prof/blob/main/hardware_spec.md"
_HUNT = f"{_HUB}dstackai/gpuhunt/blob/main/src/gpuhunt/_internal/constraints.py"
_LLM = f"{_HUB}cli99/llm-analysis/tree/main/llm_analysis/gpu_configs"
_ROCM = f"{_HUB}ROCm/ROCm/blob/develop/docs/reference/gpu-arch-specs.rst"
_L40 = "https://www.mullet.se/product.html?product_id=355414"
_AMPERE = (
    "https://huggingface.co/datasets/Fdddhhhill/Advanced_AI_GPU_Benchmark_Dataset.csv/commit/"
    "09a599403f6a4268494c9cbcc82e27ab889b3cde"
)
_P100 = "https://www.microway.com/hpc-tech-tips/nvidia-tesla-p100-pci-e-16gb-gpu-accelerator-pascal-gp100-close/"
_P100_PEAKS = "https://tech4gamers.com/nvidia-tesla-p100-will-be-available-in-two-variants-of-16gb-12gb-hbm2/"
_PRO_6000 = "https://www.topcpu.net/es/news/nvidia-launches-96gb-rtx-5090-model-with-a-whopping-price-tag-of-10000"
_PRO_6000_SMI = "https://huggingface.co/datasets/uclanecl/NECL_GPUs/blob/main/naboo.csv"
_ADA_6000 = "https://www.grafikkarten.com/de/news/nvidia-rtx-6000-grafikkarte-der-ada-generation"
_RTX_4090 = "https://hmc-tech.com/gpus/nvidia-geforce-rtx-4090-vs-nvidia-rtx-pro-5000-blackwell"
_RTX_4080 = "https://www.holynerdvana.com/2022/10/nvidia-geforce-rtx-4080-specifications.html"
_TURING = "https://gpu.spicedreamphone.com/ru/gpu/nvidia/geforce-rtx-2080-ti"

# fmt: off
CARDS: Mapping[str, Card] = {
    # name:             MiB     GB/s   fp32   tf32   fp16    bf16    fp8   capability
    "B300": Card(275040, 7750, None, 1125, 2250, 2250, 4500, (10, 3), (_AIC, _STAS, _CC)),
    "GB300": Card(284208, 8000, None, 1250, 2500, 2500, 5000, (10, 3), (_AIC, _STAS, _CC)),
    "B200": Card(
        183359, 7700, None, 1125, 2250, 2250, 4500, (10, 0),
        (_AIC, _STAS, f"{_HUB}NVIDIA/TensorRT-LLM/issues/10278", _CC),
    ),
    "GB200": Card(189471, 8000, None, 1250, 2500, 2500, 5000, (10, 0), (_AIC, _STAS, _CC)),
    "H200": Card(
        143771, 4800, 67, 494.5, 989.5, 989.5, 1979, (9, 0), (_PL, _STAS, f"{_HUB}sgl-project/sglang/issues/3196", _CC)
    ),
    "H200-NVL": Card(
        141 * 953, 4800, 60, None, 835.5, 835.5, 1670.5, (9, 0), ("https://www.morphllm.com/nvidia-h200", _PL, _MIG)
    ),
    "H100": Card(81559, 3350, 67, 494.5, 989.5, 989.5, 1979, (9, 0), (_PL, _STAS, _SMI, _CC)),
    "H100-PCIe": Card(80 * 953, 2000, 51, 378, 756, 756, 1513, (9, 0), (_PL, _STAS, _AIC, _MIG)),
    "H100-NVL": Card(
        95330, 3900, 60, 417.5, 835.5, 835.5, 1670.5, (9, 0),
        (_PL, _FRANK, f"{_HUB}fastfetch-cli/fastfetch/issues/1658", _MIG),
    ),
    "H800": Card(  # its memory is that of an H100, says the last but one
        81559, 3350, None, 494.5, 989.5, 989.5, 1979, (9, 0),
        (_FRANK, _VERL, f"{_HUB}ai-dynamo/aiconfigurator/pull/968", f"{_HUB}sgl-project/sglang/issues/5765"),
    ),
    "H20": Card(
        96 * 953, 4000, 44, 74, 148, 148, 296, (9, 0),
        (_FRANK, _PROF, _VERL, "https://zangshuxian.com/new/674733024499207168", _MIG),
    ),
    "H20-141GB": Card(
        143771, 4800, None, 74, 148, 148, 296, (9, 0),
        (_FRANK, _PROF, _VERL, f"{_HUB}sgl-project/sglang/issues/6418", _MIG),
    ),
    "A100": Card(81920, 2039, 19.5, 156, 312, 312, None, (8, 0), (_PL, _AIC, _SMI, _MIG)),
    "A100-40GB": Card(40960, 1555, 19.5, 156, 312, 312, None, (8, 0), (_PL, _FRANK, _SMI, _MIG)),
    "A100-PCIe": Card(81920, 1935, 19.5, 156, 312, 312, None, (8, 0), (_PL, _AIC, _SMI, _MIG)),
    "A800": Card(
        81920, 2039, None, 156, 312, 312, None, (8, 0),
        (_FRANK, _VERL, f"{_HUB}dexmal/dexbotic/issues/41", f"{_HUB}sgl-project/sglang/issues/25723"),
    ),
    "A40": Card(
        46068, 696, 37.4, 74.8, 149.7, 149.7, None, (8, 6),
        (
            _PL,
            "https://technical.city/en/video/A40-PCIe",
            "https://huggingface.co/lsnu/VLAdaptorBench/blob/main/environment/system_info.txt",
            _CC,
        ),
    ),
    "A30": Card(24576, 933, 10.3, None, 165, 165, None, (8, 0), (_AIC, "https://huggingface.co/hardware/a30", _MIG)),
    "A10": Card(23028, 600, 31.2, 62.5, 125, 125, None, (8, 6), (_PL, _FRANK, _SMI, _CC)),
    "A16": Card(  # one of its four GPUs
        16 * 953, 200, 4.5, 9, 17.9, None, None, (8, 6),
        ("https://panchaea.com/products/graphics-cards/nvidia-a16", _CC),
    ),
    "L40S": Card(46068, 864, 91.6, 183, 362, 362, 733, (8, 9), (_AIC, _STAS, _L40, _SMI, _CC)),
    "L40": Card(48 * 953, 864, 90.5, 90.5, 181, 181, 362, (8, 9), (_PL, _L40, _CC)),
    "L20": Card(
        48 * 953, 864, 59.35, 59.8, 119.5, 119.5, None, (8, 9),
        (_FRANK, _PROF, _VERL, "https://www.topcpu.net/en/gpu-c/a40-pcie-vs-l20"),
    ),
    "L4": Card(23034, 300, 30.3, 60, 121, 121, 242.5, (8, 9), (_PL, _AIC, _TORCH, _SMI, _CC)),
    "T4": Card(
        15360, 320, 8.1, None, 65, None, None, (7, 5),
        (_PL, "https://huggingface.co/RajBhope/gpu-runtime-predictor/blob/main/gpu_catalog.json", _SMI, _HUNT),
    ),
    "V100": Card(
        16160, 900, 15.7, None, 125, None, None, (7, 0),
        (_PL, _LLM, f"{_HUB}4paradigm/k8s-vgpu-scheduler/issues/7", _OLD_CC),
    ),
    "V100-32GB": Card(
        32480, 900, 15.7, None, 125, None, None, (7, 0), (_PL, _LLM, "https://pastebin.com/AaFUPNi5", _OLD_CC)
    ),
    "P100": Card(
        16280, 732, 10.6, None, 21.2, None, None, (6, 0),
        (_P100, _P100_PEAKS, "https://gist.github.com/GJSissons/8e48072f27447fcdffa254c32bd6bcfa", _OLD_CC),
    ),
    "RTX-PRO-6000-Blackwell": Card(
        97887, 1792, 125, None, None, None, None, (12, 0), (_AIC, _PRO_6000, _PRO_6000_SMI, _CC)
    ),
    "RTX-6000-Ada": Card(
        46068, 960, 91.1, None, None, None, None, (8, 9), (_ADA_6000, f"{_HUB}DINGYANB/MTVCrafter/issues/21", _CC)
    ),
    "RTX-A6000": Card(
        49140, 768, 38.7, 77.4, 154.8, None, None, (8, 6),
        (_PL, _LLM, "https://gist.github.com/bigsnarfdude/193ee00f46c94ee7fb6f048588bc8032", _CC),
    ),
    "RTX-A5000": Card(
        24564, None, 27.8, None, None, None, None, (8, 6),
        ("https://huggingface.co/hardware/rtx-a5000", f"{_HUB}akash-network/provider-configs/pull/83", _CC),
    ),
    "RTX-5090": Card(
        32607, 1792, 104.8, None, None, 209.5, 419, (12, 0),
        (_AO, "https://www.sipoch.com/en/articles/300330019561821", f"{_HUB}noonghunna/club-3090/issues/1075", _CC),
    ),
    "RTX-5080": Card(
        16 * 953, 960, 56.3, None, None, None, None, (12, 0),
        ("https://huggingface.co/hardware/rtx-5080", "https://biggo.com/news/202501291423_nvidia-rtx-5080-review", _CC),
    ),
    "RTX-4090": Card(
        24564, 1008, 82.6, 82.6, 165.2, 165.2, 330.3, (8, 9),
        (
            _RTX_4090,
            "https://waredb.com/processor/nvidia-geforce-rtx-4090",
            f"{_HUB}vllm-project/vllm/issues/7553",
            _CC,
        ),
    ),
    "RTX-4080": Card(16 * 953, 717, 48.7, 48.7, None, None, None, (8, 9), (_PL, _RTX_4080, _CC)),
    "RTX-3090": Card(
        24576, 936, 35.6, 35.6, 71, None, None, (8, 6),
        (_PL, _AMPERE, f"{_HUB}noonghunna/club-3090/issues/747", _CC),
    ),
    "RTX-3080": Card(
        10240, 760, 29.8, 29.8, None, None, None, (8, 6), (_PL, _AMPERE, "https://pastebin.com/tXDcw4qE", _HUNT)
    ),
    "RTX-2080-Ti": Card(
        11264, 616, 13.45, None, None, None, None, (7, 5), (_TURING, "https://pastebin.com/uxHtXV8u", _HUNT)
    ),
    "MI250X": Card(  # one of its two dies
        65536, 1638, 23.95, None, 191.5, 191.5, None, None,
        (_STAS, _ROCM, "https://api.emergentmind.com/topics/amd-instinct-mi250x"),
    ),
    "MI300X": Card(192 * 1024, 5300, 163.4, 653.7, 1307.4, 1307.4, 2614.9, None, (_TORCH, _STAS, _ROCM)),
    "MI325X": Card(
        256 * 1024, 6000, 163.4, 653.7, 1307.4, 1307.4, 2614.9, None,
        ("https://awesomeagents.ai/hardware/amd-mi325x", _STAS, _ROCM),
    ),
    "Ascend-910B": Card(  # pages disagree about its peaks
        65536, None, None, None, None, None, None, None, (f"{_HUB}vllm-project/vllm-ascend/issues/1903",)
    ),
}
# fmt: on
#: other names of the same cards, as people and drivers write them, without what `_plain` leaves out
_SAME: Mapping[str, str] = {
    "a10080gb": "A100",
    "a100sxm": "A100",
    "a100sxm4": "A100",
    "a100pcie40gb": "A100-40GB",
    "a100sxm440gb": "A100-40GB",
    "h100sxm": "H100",
    "h100sxm5": "H100",
    "h10080gbhbm3": "H100",
    "h10080gb": "H100",
    "h200sxm": "H200",
    "v10016gb": "V100",
    "v100sxm232gb": "V100-32GB",
    "v100sxm216gb": "V100",
    "h2096gb": "H20",
    "h203e": "H20-141GB",
    "a6000": "RTX-A6000",
    "a5000": "RTX-A5000",
    "rtx6000blackwell": "RTX-PRO-6000-Blackwell",
    "rtxpro6000": "RTX-PRO-6000-Blackwell",
    "6000ada": "RTX-6000-Ada",
    "rtx6000adageneration": "RTX-6000-Ada",
    "5090": "RTX-5090",
    "5080": "RTX-5080",
    "4090": "RTX-4090",
    "4080": "RTX-4080",
    "3090": "RTX-3090",
    "3080": "RTX-3080",
    "2080ti": "RTX-2080-Ti",
    "910b": "Ascend-910B",
}  # fmt: skip


def _plain(name: str) -> str:
    """A name without maker, family, blanks and signs: `NVIDIA GeForce RTX 4090` -> `rtx4090`."""
    return re.sub(r"nvidia|geforce|tesla|amd|instinct|huawei|[^a-z0-9]", "", name.lower())


def named(name: str) -> tuple[str, Card] | None:
    """The card of a name, with the name that it has here; None where it is not known."""
    plain = _plain(name)
    own = _SAME.get(plain) or next((each for each in CARDS if _plain(each) == plain), None)
    return (own, CARDS[own]) if own else None


def near(name: str) -> list[str]:
    """Names of cards that look alike, the most alike first."""
    plain = _plain(name)
    names = {**{_plain(each): each for each in CARDS}, **_SAME}
    close = difflib.get_close_matches(plain, names, n=8, cutoff=0.5)
    return list(dict.fromkeys(names[each] for each in close))[:4]
