"""What is compared between nodes: the table of readings, with what counts as equal.

Left out because they differ on healthy nodes: names, addresses, UUIDs, process ids, free memory and disk, temperatures,
ranks and the scheduler's variables of each task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doctor.base.patterns import later
from doctor.catalogue.nodes.compare import NodeReading
from doctor.facts.cluster import ClusterNode

#: distributions of the stack, each a reading of its own; all others are compared by name too, under "package"
STACK = (
    "transformers", "trl", "vllm", "deepspeed", "accelerate", "peft", "flash-attn", "xformers", "triton", "verl",
    "trinity-rft", "openrlhf", "ray", "sglang", "bitsandbytes", "datasets", "numpy",
)  # fmt: skip
#: interfaces of one machine only: loopback, containers, bridges, tunnels
_VIRTUAL = later(r"lo|(docker|veth|br-|cali|cni|flannel|ifb|virbr|tap|tun|vnet|cilium|lxc|kube|dummy|podman).*")
#: variables that launchers and schedulers set to another value on each node or in each task, and those of a login
_PER_NODE = later(
    r"(SLURM|SLURMD|OMPI|PMI|PMIX|XDG|CONDA|KUBERNETES)_.*|PET_NODE_RANK|TORCHELASTIC_.*|(LOCAL_|GROUP_|ROLE_|NODE_)?RANK"
    r"|(VLLM_HOST_IP|VLLM_DP_RANK.*|RAY_.*(IP|ID|ADDRESS|PORT|TOKEN|JOB|NODE).*|NCCL_HOSTID|HOSTNAME|HOME|LANG|TMPDIR"
    r"|MASTER_ADDR|HF_HUB_SESSION_ID|WANDB_(RUN_ID|SERVICE|NAME).*|ACCELERATE_PROCESS_INDEX|FLASHINFER_WORKSPACE.*)"
)
_GIB = 1024**3
SHARED = "/dev/shm"  # noqa: S108 - the name of a reading


def size(number: float) -> str:
    """2.0 TiB, 80 GiB, 1.5 GiB, 64 MiB."""
    for unit, name in ((1024 * _GIB, "TiB"), (_GIB, "GiB")):
        if number >= unit:
            return f"{number / unit:.0f} {name}" if number >= 20 * unit else f"{number / unit:.1f} {name}"
    return f"{number / 1024**2:.0f} MiB"


def plain(number: float) -> str:
    """2000, 0.5, and "unlimited" for -1, as limits have it."""
    return "unlimited" if number == -1 else f"{number:g}"


def _limit(number: float) -> str:
    return plain(number) if number < 0 else size(number)


def of_gpus(attribute: str) -> Callable[[Any], str | None]:
    """Distinct values of an attribute over the GPUs of a node: "16", or "8, 16"; None unless each reports it."""

    def read(gpus: Any) -> str | None:
        values = [getattr(gpu, attribute) for gpu in gpus.gpus]
        if not values or None in values:
            return None
        return ", ".join(_text(each) for each in sorted(set(values)))

    return read


def least_of_gpus(attribute: str) -> Callable[[Any], float | None]:
    """The smallest value over the GPUs of a node; None unless each reports it."""

    def read(gpus: Any) -> float | None:
        values = [getattr(gpu, attribute) for gpu in gpus.gpus]
        return min(values) if values and None not in values else None

    return read


def _text(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _models(gpus: Any) -> str | None:
    counts = Counter(gpu.name for gpu in gpus.gpus if gpu.name)
    return ", ".join(f"{name} x{count}" if len(counts) > 1 else name for name, count in sorted(counts.items())) or None


def _count(gpus: Any) -> int:
    return sum(gpu.error is None for gpu in gpus.gpus)


def _torch(packages: Any) -> str | None:
    build = packages.torch_build
    version: str | None = build.version if build else packages.version("torch")
    return version


def _torch_cuda(packages: Any) -> str | None:
    build = packages.torch_build
    return None if build is None else build.cuda or (f"ROCm {build.hip}" if build.hip else "CPU build")


def nccl(packages: Any) -> str | None:
    """Version of the NCCL that torch's wheel brings: https://pypi.org/project/nvidia-nccl-cu12/."""
    found = (packages.version(name) for name in ("nvidia-nccl-cu13", "nvidia-nccl-cu12"))
    return next((each for each in found if each), None)


def versions(packages: Any) -> Mapping[str, str] | None:
    """Version of each distribution but torch; None of a list that may lack some."""
    if not packages.complete:
        return None
    return {name: each.version or "unreadable" for name, each in packages.distributions.items() if name != "torch"}


def stack(packages: Any) -> Mapping[str, str] | None:
    """Those of the stack."""
    found = versions(packages)
    return None if found is None else {name: found[name] for name in STACK if name in found}


def _others(packages: Any) -> Mapping[str, str] | None:
    found = versions(packages)
    return None if found is None else {name: each for name, each in found.items() if name not in STACK}


def nics(network: Any) -> Iterator[Any]:
    """Interfaces that lead out of the machine and are up."""
    return (each for each in network.interfaces if each.is_up and not _VIRTUAL.fullmatch(each.name))


def _nic_names(network: Any) -> str | None:
    return ", ".join(sorted(each.name for each in nics(network))) or None


def _mtus(network: Any) -> Mapping[str, int | None]:
    return {each.name: each.mtu for each in nics(network)}


def _speeds(network: Any) -> Mapping[str, int | None]:
    return {each.name: each.speed_mbps for each in nics(network)}


def variables(environment: Any) -> Mapping[str, str]:
    """Variables that a run reads and that should be the same everywhere."""
    found = {name: value for name, value in environment.variables.items() if not _PER_NODE.fullmatch(name)}
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        if any(sign in found.get(name, "") for sign in ("GPU-", "MIG-")):
            found[name] = f"{len(found[name].split(','))} by UUID"
    return found


def _writable(host: Any) -> Mapping[str, str]:
    return {disk.purpose: "yes" if disk.writable else "no" for disk in host.disks if disk.writable is not None}


def _ports(node: Any) -> Mapping[str, str]:
    return {f"{each.device}:{each.number}": _port(each) for each in node.ports if each.state}


def _port(port: Any) -> str:
    return f"{port.state} {port.rate_gbps:g} Gb/s" if port.rate_gbps else str(port.state)


def _there(node: Any) -> Mapping[str, str]:
    """Purpose of a path -> whether it exists."""
    return {each.purpose: "yes" if each.exists else "no" for each in node.paths if each.exists is not None}


def _kept_in(node: Any) -> Mapping[str, str]:
    """Purpose of a path -> "local", or the kind of file system that comes over the network (a filer has many names)."""
    return {
        each.purpose: f"{each.filesystem}, over the network" if each.over_network else "local"
        for each in node.paths
        if each.filesystem
    }


def _modules(node: Any) -> Mapping[str, str] | None:
    """Loaded drivers with their versions, where they state one."""
    return (
        None if node.kernel_modules is None else {name: each or "loaded" for name, each in node.kernel_modules.items()}
    )


def _resource(name: str) -> Callable[[ClusterNode], float | None]:
    return lambda node: node.resources.get(name)


def _offset(seconds: float) -> str:
    return f"{seconds:+.1f} s" if abs(seconds) >= 0.05 else "0.0 s"


SOFTWARE = (
    NodeReading("Python", "software", "interpreter", lambda each: each.version),
    NodeReading("interpreter", "software", "interpreter", lambda each: each.executable),
    NodeReading("glibc", "software", "interpreter", lambda each: each.glibc),
    NodeReading("torch", "software", "packages", _torch),
    NodeReading("CUDA of torch", "software", "packages", _torch_cuda),
    NodeReading("NCCL", "software", "packages", nccl),
    NodeReading("{}", "software", "packages", stack, whole=True),
    NodeReading("package {}", "software", "packages", _others, whole=True),
    NodeReading("nvcc", "software", "cuda", lambda each: each.nvcc_version),
)
GPU = (
    NodeReading("driver", "gpu", "gpus", lambda each: each.driver_version, hardware=True),
    NodeReading("CUDA of the driver", "gpu", "gpus", lambda each: each.cuda_driver_version, hardware=True),
    NodeReading("GPUs", "gpu", "gpus", _count, hardware=True),
    NodeReading("GPU model", "gpu", "gpus", _models, hardware=True),
    NodeReading(
        "GPU memory", "gpu", "gpus", least_of_gpus("memory_total_bytes"), tolerance=0.02, show=size, hardware=True
    ),
    NodeReading("PCIe width", "gpu", "gpus", of_gpus("pcie_width"), hardware=True),
    NodeReading("maximum PCIe generation", "gpu", "gpus", of_gpus("pcie_generation_max"), hardware=True),
    NodeReading("NVLinks active", "gpu", "gpus", of_gpus("nvlinks_active"), hardware=True),
    NodeReading("maximum SM clock (MHz)", "gpu", "gpus", of_gpus("sm_clock_max_mhz"), hardware=True),
    NodeReading(
        "power limit (W)", "gpu", "gpus", least_of_gpus("power_limit_w"), tolerance=0.02, show=plain, hardware=True
    ),
    NodeReading("ECC", "gpu", "gpus", of_gpus("ecc_enabled"), hardware=True),
    NodeReading("MIG", "gpu", "gpus", of_gpus("mig_enabled"), hardware=True),
    NodeReading("persistence mode", "gpu", "gpus", of_gpus("persistence_mode"), hardware=True),
    NodeReading("compute mode", "gpu", "gpus", of_gpus("compute_mode"), hardware=True),
)
NETWORK = (
    NodeReading("interfaces", "network", "network", _nic_names, hardware=True),
    NodeReading("MTU of {}", "network", "network", _mtus, hardware=True),
    NodeReading("speed of {} (Mb/s)", "network", "network", _speeds, hardware=True),
    NodeReading("RDMA port {}", "network", "node", _ports, hardware=True),
    NodeReading("RDMA devices", "network", "network", lambda each: ", ".join(each.infiniband) or "none", hardware=True),
)
HOST = (
    NodeReading("kernel", "host", "host", lambda each: each.kernel or None),
    NodeReading("system", "host", "host", lambda each: each.os or None),
    NodeReading("CPU model", "host", "node", lambda each: each.cpu_model, hardware=True),
    NodeReading("NUMA nodes", "host", "node", lambda each: each.numa_nodes, hardware=True),
    NodeReading("module {}", "host", "node", _modules, hardware=True, whole=True),
    NodeReading("CPUs", "host", "host", lambda each: each.cpus, hardware=True),
    NodeReading(
        "memory", "host", "host", lambda each: each.memory_total_bytes, tolerance=0.03, show=size, hardware=True
    ),
    NodeReading(
        "memory limit", "host", "host", lambda each: each.memory_limit_bytes or -1, tolerance=0.03, show=_limit,
        hardware=True,
    ),
    NodeReading(SHARED, "host", "host", lambda each: each.shm_total_bytes, tolerance=0.03, show=size, hardware=True),
    NodeReading("open files limit", "host", "host", lambda each: each.open_files_soft, show=plain),
    NodeReading(
        "locked memory limit", "host", "host", lambda each: each.memlock_soft_bytes, tolerance=0.03, show=_limit
    ),
    NodeReading(
        "process limit", "host", "host", lambda each: each.max_processes_soft, tolerance=0.1, show=plain, hardware=True
    ),
    NodeReading("container", "host", "host", lambda each: each.container or "none"),
    NodeReading("{} writable", "host", "host", _writable),
    NodeReading(
        "clock offset to the others", "host", None, lambda node: node.clock_offset_s, absolute=1.0, show=_offset
    ),
)  # fmt: skip
FILES = (
    NodeReading("SHA-256 of {}", "files", "node", lambda each: each.checksums),
    NodeReading("{} exists", "files", "node", _there),
    NodeReading("file system of {}", "files", "node", _kept_in),
    NodeReading("mount {}", "files", "node", lambda each: each.mounts, whole=True),
)
LAUNCH = (NodeReading("nodes of the run", "launch", "node", lambda each: each.nodes),)
RAY = (
    NodeReading("Ray's CPUs", "ray", None, _resource("CPU"), show=plain, hardware=True),
    NodeReading("Ray's GPUs", "ray", None, _resource("GPU"), show=plain, hardware=True),
    NodeReading(
        "Ray's object store", "ray", None, _resource("object_store_memory"), tolerance=0.05, show=size, hardware=True
    ),
    NodeReading("Ray running", "ray", "ray_cluster", lambda each: each.version),
    NodeReading("Python of Ray", "ray", "ray_cluster", lambda each: each.python_version),
)
ENVIRONMENT = (NodeReading("{}", "environment", "environment", variables, whole=True),)
READINGS = (*SOFTWARE, *GPU, *NETWORK, *HOST, *FILES, *LAUNCH, *RAY, *ENVIRONMENT)


def named(*names: str) -> tuple[NodeReading, ...]:
    """Readings of the table by name, in its order."""
    return tuple(each for each in READINGS if each.name in names)
