"""What the card can do beside its data sheet: matrix products, copies, fp8, attention kernels, and `check --deep`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, step

from doctor.readers.patient import products
from doctor.sizing.cards import named


def run(bench: Bench) -> None:
    """`check --deep`, then figures of our own beside those of the table of cards."""
    deep(bench)
    import torch

    device = torch.device(bench.torch_device)
    found = products.measure(torch, device, 3.0)
    bench.measures["product"] = found
    if not bench.on_card:
        bench.without("a CPU is in no table of cards", "product_share_of_peak", "copy_share_of_peak")
        return
    name = torch.cuda.get_device_name()
    copied = copy_gb_s(torch)
    bench.measures |= {"copy_gb_s": copied, "kernels": kernels(torch)}
    known = named(name)
    if known is None:
        bench.without(f"no figures of {name!r} are known", "product_share_of_peak", "copy_share_of_peak")
        return
    card = known[1]
    peak = card.bf16 if found["dtype"] == "bfloat16" else card.fp16
    if peak:
        bench.measures["product_share_of_peak"] = found["tflops"] / peak
    if card.gb_s:
        bench.measures["copy_share_of_peak"] = copied / card.gb_s


def deep(bench: Bench) -> None:
    """Errors that `check --deep` finds on a machine that works."""
    done = bench.doctor("check", "--deep", "--format", "json", limit_s=150)
    told = json.loads(done.stdout)
    bench.measures["deep_errors"] = [each["id"] for each in told["findings"] if each["severity"] == "error"]


def copy_gb_s(torch: Any) -> float:
    """Bytes read and written by a copy inside the memory, 10**9 a second, the best of five."""
    source = torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
    target, best = torch.empty_like(source), 0.0
    for _ in range(6):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(5):
            target.copy_(source)
        torch.cuda.synchronize()
        best = max(best, 10 * source.numel() / (time.perf_counter() - began) / 1e9)
    return best


def kernels(torch: Any) -> dict[str, str]:
    """Whether what the stack uses runs here: "ok", or the last line of the error."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def fp8() -> None:
        left = torch.ones(64, 64, device="cuda").to(torch.float8_e4m3fn)
        one = torch.tensor(1.0, device="cuda")
        torch._scaled_mm(left, left.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)  # noqa: SLF001 - no public name

    def attention(backend: Any) -> None:
        states = torch.randn(2, 8, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(states, states, states, is_causal=True).sum().backward()

    tried = {
        "fp8": fp8, "flash attention": lambda: attention(SDPBackend.FLASH_ATTENTION),
        "memory-efficient attention": lambda: attention(SDPBackend.EFFICIENT_ATTENTION),
        "cuDNN attention": lambda: attention(SDPBackend.CUDNN_ATTENTION),
    }  # fmt: skip
    found = {}
    for name, call in tried.items():
        try:
            call()
            torch.cuda.synchronize()
            found[name] = "ok"
        except Exception as error:  # noqa: BLE001 - that it does not run is the answer
            found[name] = str(error).strip().splitlines()[-1][:200]
    return found


if __name__ == "__main__":
    step(run)
