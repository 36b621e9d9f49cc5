"""The environment report: collected facts as Markdown, redacted, short enough for an issue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import doctor
from doctor.base.evidence import Observed
from doctor.base.redact import redact_text, redact_variable

#: distributions that matter to a reader of the report, in this order; the others are counted
STACK = (
    "torch", "triton", "trl", "transformers", "accelerate", "deepspeed", "peft", "datasets", "vllm", "verl",
    "trinity-rft", "openrlhf", "ray", "flash-attn", "flashinfer-python", "xformers", "bitsandbytes", "liger-kernel",
    "nvidia-ml-py", "pynvml", "numpy", "wandb", "tensorboard", "mlflow", "trackio", "huggingface-hub", "tokenizers",
    "safetensors",
)  # fmt: skip
_LONGEST_VALUE = 160


def render(states: Mapping[str, Observed]) -> str:
    """One table of what was seen, and what could not be seen with the reason."""
    rows = [row for name, state in states.items() if state.status == "ok" for row in _rows(name, state.value)]
    blind = [f"- {name}: {state.reason}" for name, state in states.items() if state.status != "ok" and name in _READERS]
    lines = [f"### Environment (doctor {doctor.__version__})", "", "| what | value |", "|---|---|"]
    lines += [f"| {name} | {_cell(value)} |" for name, value in rows]
    if blind:
        lines += ["", "Not seen:", "", *blind]
    return redact_text("\n".join(lines)) + "\n"


def _cell(value: str) -> str:
    value = redact_text(value).replace("|", "\\|").replace("\n", " ")
    return value if len(value) <= _LONGEST_VALUE else value[:_LONGEST_VALUE] + " …"


def _rows(name: str, value: Any) -> Iterator[tuple[str, str]]:
    reader = _READERS.get(name)
    if reader is not None:
        yield from reader(value)


def size(count: int | None) -> str:
    """Size as people read it: "79.6 GiB", or "not reported"."""
    if count is None:
        return "not reported"
    return f"{count / 2**30:.1f} GiB" if count >= 1 << 30 else f"{count / 2**20:.0f} MiB"


def _interpreter(value: Any) -> Iterator[tuple[str, str]]:
    yield "Python", f"{value.version} {value.implementation}, {value.environment_kind}"
    yield "executable", f"`{value.executable}`" + (f" ({value.chosen_because})" if value.chosen_because else "")
    yield "platform", f"{value.platform} {value.machine}" + (f", glibc {value.glibc}" if value.glibc else "")


def _packages(value: Any) -> Iterator[tuple[str, str]]:
    for name in STACK:
        each = value.distributions.get(name)
        if each is None:
            continue
        notes = [note for note, holds in (("editable", each.editable), ("broken", each.broken)) if holds]
        notes += [f"also {copy.version} in {copy.location}" for copy in each.shadowed]
        yield name, (each.version or "unknown version") + (f" ({', '.join(notes)})" if notes else "")
    if value.torch_build:
        yield "torch build", f"{value.torch_build.version}, CUDA {value.torch_build.cuda or 'none'}"
    yield "distributions", str(len(value.distributions))


def _gpus(value: Any) -> Iterator[tuple[str, str]]:
    yield "driver", f"{value.driver_version}, CUDA up to {value.cuda_driver_version}"
    for gpu in value.gpus:
        capability = ".".join(map(str, gpu.compute_capability)) if gpu.compute_capability else "not reported"
        used = f", {size(gpu.memory_used_bytes)} used" if gpu.memory_used_bytes is not None else ""
        fault = f", {gpu.error}" if gpu.error else ""
        yield f"GPU {gpu.index}", f"{gpu.name}, cc {capability}, {size(gpu.memory_total_bytes)}{used}{fault}"


def _nvidia(value: Any) -> Iterator[tuple[str, str]]:
    if value.pci_devices:
        yield "NVIDIA devices on PCI", str(value.pci_devices)
    if value.nvml_error:
        yield "NVML", value.nvml_error


def _cuda(value: Any) -> Iterator[tuple[str, str]]:
    home = f"{value.cuda_home} (from {value.cuda_home_from})" if value.cuda_home else "none"
    yield "CUDA_HOME", home
    yield "nvcc", value.nvcc_version or "none"
    for library in value.shadowing:
        yield f"{library.stem} from LD_LIBRARY_PATH", f"{library.version or 'unknown version'}, `{library.path}`"


def _host(value: Any) -> Iterator[tuple[str, str]]:
    yield "kernel", value.kernel + (f", WSL{value.wsl}" if value.wsl else "")
    if value.container:
        yield "container", value.container
    yield "CPUs", str(value.cpus)
    limit = f", limited to {size(value.memory_limit_bytes)}" if value.memory_limit_bytes else ""
    yield "RAM", f"{size(value.memory_total_bytes)}, {size(value.memory_available_bytes)} available{limit}"
    yield "shared memory", f"{size(value.shm_total_bytes)}, {size(value.shm_free_bytes)} free"
    for disk in value.disks:
        yield f"disk for {disk.purpose}", f"{size(disk.free_bytes)} free on `{disk.path}`"


def _environment(value: Any) -> Iterator[tuple[str, str]]:
    for name, text in sorted(value.variables.items()):
        if name not in {"PATH", "HOME", "LANG", "HOSTNAME", "TMPDIR"}:
            yield name, f"`{redact_variable(name, text)}`"


def _hub(value: Any) -> Iterator[tuple[str, str]]:
    yield "Hugging Face token", "set" if value.has_token else "unset"
    if value.offline:
        yield "Hugging Face hub", "offline"
    if value.endpoint:
        yield "hub endpoint", value.endpoint


def _ray(value: Any) -> Iterator[tuple[str, str]]:
    if value.raylet_running or value.address:
        yield "Ray", f"{value.version or 'unknown version'} at {value.address}, answers: {value.answers}"


def _network(value: Any) -> Iterator[tuple[str, str]]:
    up = [f"{each.name} (mtu {each.mtu})" for each in value.interfaces if each.is_up and each.name != "lo"]
    yield "network interfaces", ", ".join(up) or "none up"
    if value.infiniband:
        yield "InfiniBand", ", ".join(value.infiniband)


_READERS: Mapping[str, Any] = {
    "interpreter": _interpreter, "packages": _packages, "gpus": _gpus, "nvidia": _nvidia, "cuda": _cuda,
    "host": _host, "environment": _environment, "hub": _hub, "ray_cluster": _ray, "network": _network,
}  # fmt: skip
