"""Judges and draws 1,000 simulated nodes and prints the time and memory: budget 5 s of processor time and 500 MB.

    python benchmarks/cluster.py [--nodes 1000] [--command] [--keep FOLDER]

Facts are collected on this machine once, given eight GPUs, and varied in code for each node as healthy nodes differ
(names, addresses, UUIDs, free memory, ranks); then deviations are planted. Every node's file is written to a folder as
`doctor check --collect` leaves it and judged in a process of its own by `doctor check --from FOLDER`.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GIB = 1024**3
Facts = dict[str, Any]
SECONDS, MEGABYTES = 5.0, 500


def recorded(folder: Path) -> dict[str, Any]:
    """A facts file of this machine, made by the real collectors."""
    from doctor.base.fact import Context
    from doctor.readers.collector import Collector
    from doctor.readers.saved import as_json, fact_names

    environ = {"PATH": os.environ["PATH"], "HOME": "/root", "OMP_NUM_THREADS": "8", "NCCL_DEBUG": "WARN"}
    collector = Collector(Context((), folder, environ, gathering=True))
    collector.ask(fact_names())
    return as_json(collector.states)


def gpus(node: int) -> dict[str, Any]:
    """Eight cards as NVML would tell them on this node."""
    cards = [
        {
            "index": index, "uuid": f"GPU-{node:04x}-{index}", "name": "NVIDIA H100 80GB HBM3",
            "compute_capability": [9, 0], "memory_total_bytes": 80 * GIB, "memory_used_bytes": node * 1024 + index,
            "memory_free_bytes": 80 * GIB - node * 1024, "ecc_enabled": True, "ecc_uncorrected": 0,
            "temperature_c": 30 + (node + index) % 9, "power_w": 70.0 + node % 7, "power_limit_w": 700.0,
            "power_limit_default_w": 700.0, "sm_clock_mhz": 345 + 15 * (node % 3), "sm_clock_max_mhz": 1980,
            "pcie_generation": 5, "pcie_generation_max": 5, "pcie_width": 16, "pcie_width_max": 16,
            "persistence_mode": True, "compute_mode": "default", "mig_enabled": False, "nvlinks_active": 18,
            "nvlinks_inactive": 0, "processes": [], "bus_id": f"00000000:{index:02X}:00.0", "numa_node": index // 4,
        }
        for index in range(8)
    ]  # fmt: skip
    return {"driver_version": "550.54.15", "cuda_driver_version": "12.4", "gpus": cards, "xids": []}


def healthy(record: dict[str, Any], node: int) -> dict[str, Any]:
    """The facts file of a healthy node: what differs between machines differs."""
    data = {**record, "host": f"node{node:04d}", "captured_ns": record["captured_ns"] + node}
    name, address = data["host"], f"10.{node // 65536}.{node // 256 % 256}.{node % 256}"
    facts = data["facts"] = dict(record["facts"])
    host, network, environment = (copy.deepcopy(facts[each]) for each in ("host", "network", "environment"))
    host["value"] |= {"hostname": name, "memory_available_bytes": host["value"]["memory_available_bytes"] - node * 4096}
    for disk in host["value"].get("disks", ()):
        disk["free_bytes"] = (disk.get("free_bytes") or 0) - node
    network["value"] |= {
        "hostname": name, "hostname_addresses": [address], "infiniband": ["mlx5_0", "mlx5_1"],
        "interfaces": [
            {"name": "eth0", "addresses": [address], "mtu": 9000}, {"name": "lo", "addresses": ["127.0.0.1"]},
        ],
    }  # fmt: skip
    environment["value"]["variables"] |= {"HOSTNAME": name, "SLURM_NODEID": str(node), "SLURMD_NODENAME": name}
    facts |= {"host": host, "network": network, "environment": environment}
    facts["gpus"] = {"status": "ok", "value": gpus(node), "reason": "", "source": ""}
    if facts.get("node", {}).get("status") == "ok":
        place = copy.deepcopy(facts["node"])
        place["value"] |= {"boot_id": f"boot-{node}", "machine_id": f"machine-{node}", "rank": node}
        facts["node"] = place
    return data


def _gpu(facts: Facts, **changes: Any) -> None:
    for card in facts["gpus"]["value"]["gpus"]:
        card.update(changes)


def _package(facts: Facts, name: str, version: str) -> None:
    facts["packages"] = copy.deepcopy(facts["packages"])
    facts["packages"]["value"]["distributions"][name] = {"name": name, "version": version}


def _variable(facts: Facts, name: str, value: str) -> None:
    facts["environment"]["value"]["variables"][name] = value


#: what is planted: (id of the finding, reading, nodes, what is changed)
DEVIATIONS: tuple[tuple[str, str, tuple[int, ...], Callable[[Facts], None]], ...] = (
    ("LCH0780/driver", "driver", (3, 7), lambda facts: facts["gpus"]["value"].update(driver_version="535.129.03")),
    ("LCH0780/gpus", "GPUs", (42,), lambda facts: facts["gpus"]["value"]["gpus"].pop()),
    ("LCH0780/gpu_settings", "power limit (W)", (60, 61, 62), lambda facts: _gpu(facts, power_limit_w=500.0)),
    ("LCH0780/mtu", "MTU of eth0", (70,), lambda facts: facts["network"]["value"]["interfaces"][0].update(mtu=1500)),
    ("LCH0780/rdma_devices", "RDMA devices", (80,), lambda facts: facts["network"]["value"].pop("infiniband")),
    ("LCH0780/packages", "click", (90, 91), lambda facts: _package(facts, "click", "7.0")),
    ("LCH0780/nccl_variables", "NCCL_IB_DISABLE", (100,), lambda facts: _variable(facts, "NCCL_IB_DISABLE", "1")),
    (
        "LCH0780/environment",
        "LD_LIBRARY_PATH",
        (110,),
        lambda facts: _variable(facts, "LD_LIBRARY_PATH", "/opt/old/lib"),
    ),
    (
        "LCH0780/host_settings",
        "/dev/shm",  # noqa: S108 - a name in a report
        (120,),
        lambda facts: facts["host"]["value"].update(shm_total_bytes=64 << 20),
    ),
)


def nodes(count: int, record: dict[str, Any]) -> list[dict[str, Any]]:
    """Facts files of `count` nodes with the deviations that fall on them."""
    made = [healthy(record, node) for node in range(count)]
    for _, _, planted, change in DEVIATIONS:
        for node in planted:
            if node < count:
                change(made[node]["facts"])
    return made


def write(folder: Path, files: list[dict[str, Any]]) -> None:
    """As `doctor check --collect` leaves them."""
    for each in files:
        (folder / f"{each['host']}.json").write_text(json.dumps(each, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    """Write, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--command", action="store_true", help="judge a launch command over the nodes too")
    parser.add_argument("--keep", type=Path, help="write the facts files here and leave them")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, nodes(chosen.nodes, recorded(Path(temporary))))
        argv = [sys.executable, "-m", "doctor", "check", "--from", str(folder)]
        if chosen.command:
            torchrun = f"torchrun --nnodes {chosen.nodes} --nproc_per_node 8 --rdzv_endpoint node0000:29500 train.py"
            argv += ["--", *torchrun.split()]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)  # the collectors had children, too
        started = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        wall = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(done.stdout[-3000:], done.stderr[-2000:], sep="\n")
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    megabytes = used.ru_maxrss / 1024
    print(f"{chosen.nodes} nodes: {seconds:.2f} s of processor time ({wall:.2f} s), {megabytes:.0f} MB")
    if chosen.nodes == 1000 and (seconds > SECONDS or megabytes > MEGABYTES):
        print(f"over the budget of {SECONDS:g} s and {MEGABYTES} MB")


if __name__ == "__main__":
    main()
