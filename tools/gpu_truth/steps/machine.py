"""Which card, driver and libraries these figures are of, and whether the doctor's facts are those of `nvidia-smi`."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, step

QUERY = "name,uuid,driver_version,memory.total,power.limit,pcie.link.width.max,ecc.mode.current,mig.mode.current"
PACKAGES = ("torch", "transformers", "accelerate", "peft", "trl", "datasets", "vllm", "flash-attn", "nvidia-ml-py")


def versions() -> dict[str, str]:
    """Of the packages that are there."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def run(bench: Bench) -> None:
    """Collect the facts and compare them."""
    facts = bench.folder / "facts.json"
    bench.doctor("check", "--save-facts", str(facts), "--format", "json")
    gpus = json.loads(facts.read_text())["facts"]["gpus"]["value"]
    bench.measures |= {
        "python": platform.python_version(), "kernel": platform.release(), "packages": versions(),
        "root": os.geteuid() == 0, "driver": gpus["driver_version"], "names": [each["name"] for each in gpus["gpus"]],
        "memory_mib": [each["memory_total_bytes"] >> 20 for each in gpus["gpus"]],
        "mig": [bool(each.get("mig_enabled")) for each in gpus["gpus"]],
        "mig_instances": [len(each.get("mig_devices") or ()) for each in gpus["gpus"]],
    }  # fmt: skip
    if not bench.on_card:
        bench.without("nvidia-smi reads no stand-in", "facts_that_differ")
        return
    bench.measures["facts_that_differ"] = differences(gpus)


def differences(gpus: dict) -> list[str]:
    """Fields of `doctor check` that `nvidia-smi` tells otherwise, "GPU 0 name"."""
    asked = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    lines = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    found = [] if len(lines) == len(gpus["gpus"]) else ["number of GPUs"]
    for number, (gpu, line) in enumerate(zip(gpus["gpus"], lines, strict=False)):
        name, uuid, driver, memory, power, width, ecc, mig = (each.strip() for each in line.split(","))
        pairs = {
            "name": (gpu["name"], name), "uuid": (gpu["uuid"], uuid), "driver": (gpus["driver_version"], driver),
            "memory": (str(gpu["memory_total_bytes"] >> 20), memory),
            "power limit": (f"{gpu['power_limit_w']:.2f}", f"{float(power):.2f}"),
            "PCIe width": (str(gpu["pcie_width_max"]), width), "ECC": (gpu["ecc_enabled"], ecc == "Enabled"),
            "MIG": (gpu["mig_enabled"], mig == "Enabled"),
        }  # fmt: skip
        found += [f"GPU {number} {what}" for what, (ours, theirs) in pairs.items() if ours != theirs]
    return found


if __name__ == "__main__":
    step(run)
