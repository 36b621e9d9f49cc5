"""`nvidia-smi`: its table, `-L` and `-q`, of drivers 418 to 595 (what people paste; the doctor itself asks NVML).

https://docs.nvidia.com/deploy/nvidia-smi/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.base.patterns import later
from doctor.facts.gpus import GpuProcess, MigDevice
from doctor.readers.pasted.stated import MIB, Stated

SOURCE = "nvidia-smi"
_HEAD = later(
    r"Driver Version:?\s*(?P<driver>[0-9]+\.[0-9.]+)(?:.*?CUDA (?:UMD )?Version:?\s*(?P<cuda>[0-9]+\.[0-9]+))?"
)
_FIRST = later(
    r"^\s*\|\s*(?P<index>\d+)\s+(?P<name>\S.*?)\s+(?P<persistence>On|Off|N/A|ERR!)\s*\|"
    r"\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f.]+)\s+(?:On|Off|N/A)\s*\|\s*(?P<ecc>[^|]*?)\s*\|"
)
_MEMORY = later(r"\|\s*(?P<used>\d+)\s*MiB\s*/\s*(?P<total>\d+)\s*MiB\s*\|\s*(?P<load>[^|]*?)\s*\|")
_HEAT = later(r"\b(\d+)C\b")
_POWER = later(r"\b(\d+)W\s*/\s*(\d+)W")
_MIG_MODE = later(r"^\s*\|[^|]*\|[^|]*\|\s*(Enabled|Disabled)\*?\s*\|")
_MIG_ROW = later(r"^\s*\|\s*(\d+)\s+\d+\s+\d+\s+\d+\s*\|\s*\d+\s*MiB\s*/\s*(\d+)\s*MiB\s*\|")
_PROCESS = later(
    r"^\s*\|\s*(?P<gpu>\d+)\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d+)\s+(?P<kind>[CGM+]+)\s+(?P<name>\S.*?)"
    r"\s+(?:(?P<used>\d+)\s*MiB|N/A)\s*\|"
)
_LISTED = later(r"^\s*GPU (\d+): (.+?)(?:\s+\(UUID: (GPU-[0-9a-fA-F-]+)\))?\s*$")
_LISTED_MIG = later(r"^\s*MIG (\S+)\s+Device\s+\d+:(?:\s*\(UUID: (MIG-[^)]+)\))?")
_FAILURES = (
    ("couldn't communicate with the NVIDIA driver", "Driver Not Loaded"),
    ("Driver/library version mismatch", "Driver/library version mismatch"),
    ("No devices were found", "No devices were found"),
)
_COMPUTE_MODES = (
    ("E. Process", "exclusive_process"), ("Exclusive", "exclusive_process"), ("Prohibited", "prohibited"),
    ("Default", "default"),
)  # fmt: skip
_SWITCHES = {"Enabled": True, "Disabled": False}
#: entries of `-q` below a card: field, and how its value is written
_LOG_FIELDS = {
    "Product Name": ("name", "text"), "GPU UUID": ("uuid", "text"), "Compute Mode": ("compute_mode", "mode"),
    "FB Memory Usage/Total": ("memory_total_bytes", "mib"), "FB Memory Usage/Used": ("memory_used_bytes", "mib"),
    "FB Memory Usage/Free": ("memory_free_bytes", "mib"), "MIG Mode/Current": ("mig_enabled", "switch"),
    "Persistence Mode": ("persistence_mode", "switch"), "ECC Mode/Current": ("ecc_enabled", "switch"),
}  # fmt: skip


def read(lines: Sequence[str], stated: Stated) -> None:
    """Read tables, `-L` listings, `-q` logs and the tool's own failures."""
    for line in lines:
        if "NVIDIA-SMI" in line or "NVML" in line or "No devices were found" in line:
            reason = next((reason for text, reason in _FAILURES if text in line), None)
            if reason is not None and "nvml_error" not in stated.values:
                stated.say("nvml_error", reason, SOURCE, "nvidia")
    _table(lines, stated)
    if any(_LISTED.match(line) and "UUID" in line for line in lines):
        read_list(lines, stated, "nvidia-smi -L")
    _log(lines, stated)


def _table(lines: Sequence[str], stated: Stated) -> None:
    head = next((number for number, line in enumerate(lines) if "NVIDIA-SMI" in line and _HEAD.search(line)), None)
    if head is None:
        return
    match = _HEAD.search(lines[head])
    if match:
        stated.say("driver", match["driver"], SOURCE, "gpus")
        stated.say("cuda_driver", match["cuda"], SOURCE, "gpus")
    current: int | None = None
    for line in lines[head + 1 :]:
        if "NVIDIA-SMI" in line:
            break  # the same machine at another time: `nvidia-smi -l`
        first = _FIRST.match(line)
        if first:
            current = int(first["index"])
            _first_line(first, stated)
        elif current is not None and line.lstrip().startswith("|"):
            _more(line, current, stated)
        if re.search(r"\|\s*(?:MIG devices|Processes|Compute processes):", line):
            current = None
    _mig(lines[head:], stated)
    _processes(lines[head:], stated)


def _first_line(match: re.Match[str], stated: Stated) -> None:
    ecc = match["ecc"]
    stated.gpu(
        int(match["index"]), SOURCE, name=match["name"], bus_id=match["bus"],
        persistence_mode={"On": True, "Off": False}.get(match["persistence"]),
        ecc_enabled=True if ecc.isdigit() else {"Off": False}.get(ecc),
        ecc_uncorrected=int(ecc[:18]) if ecc.isdigit() else None,
    )  # fmt: skip


def _more(line: str, index: int, stated: Stated) -> None:
    """Second and third line of a card: heat, power, memory, modes."""
    memory = _MEMORY.search(line)
    if memory:
        total, used = int(memory["total"]) * MIB, int(memory["used"]) * MIB
        heat, power = _HEAT.search(line), _POWER.search(line)
        stated.gpu(
            index, SOURCE, memory_total_bytes=total, memory_used_bytes=used,
            compute_mode=_mode(memory["load"]),
            temperature_c=int(heat[1]) if heat else None,
            power_w=float(power[1]) if power else None, power_limit_w=float(power[2]) if power else None,
        )  # fmt: skip
        return
    mig = _MIG_MODE.match(line)
    if mig:
        stated.gpu(index, SOURCE, mig_enabled=mig[1] == "Enabled")


def _mig(lines: Sequence[str], stated: Stated) -> None:
    found: dict[int, list[MigDevice]] = {}
    for line in lines:
        match = _MIG_ROW.match(line)
        if match:
            found.setdefault(int(match[1]), []).append(MigDevice(uuid="", memory_total_bytes=int(match[2]) * MIB))
    for index, devices in found.items():
        stated.gpu(index, SOURCE, mig_devices=tuple(devices), mig_enabled=True)


def _processes(lines: Sequence[str], stated: Stated) -> None:
    """Processes, when the table has that section: an empty section means that none is seen."""
    start = next((number for number, line in enumerate(lines) if re.search(r"\|\s*Processes:", line)), None)
    if start is None:
        return
    from doctor.base.redact import redact_text

    found: dict[int, list[GpuProcess]] = {}
    for line in lines[start:]:
        match = _PROCESS.match(line)
        if match:
            command = redact_text(match["name"])
            used = int(match["used"]) * MIB if match["used"] else None
            name = command.rsplit("/", 1)[-1]
            found.setdefault(int(match["gpu"]), []).append(GpuProcess(int(match["pid"]), used, name, command))
    for index in stated.gpus:
        stated.gpu(index, SOURCE, processes=tuple(found.get(index, ())))


def read_list(lines: Sequence[str], stated: Stated, source: str) -> None:
    """`nvidia-smi -L`, which collect_env quotes without UUIDs."""
    index: int | None = None
    devices: dict[int, list[MigDevice]] = {}
    for line in lines:
        match = _LISTED.match(line)
        if match:
            index = int(match[1])
            stated.gpu(index, source, name=match[2], uuid=match[3])
            continue
        mig = _LISTED_MIG.match(line)
        if mig and index is not None:
            devices.setdefault(index, []).append(MigDevice(uuid=mig[2] or "", profile=mig[1]))
    for each, found in devices.items():
        stated.gpu(each, source, mig_devices=tuple(found), mig_enabled=True)


def _log(lines: Sequence[str], stated: Stated) -> None:
    """`nvidia-smi -q`: sections by indentation, one block per card."""
    start = next((number for number, line in enumerate(lines) if "NVSMI LOG" in line), None)
    if start is None:
        return
    index = -1
    for path, value in _entries(lines[start + 1 :]):
        if value == "" and re.fullmatch(r"GPU [0-9A-Fa-f:.]+", path):
            index += 1
            stated.gpu(index, "nvidia-smi -q", bus_id=path[4:])
        elif index < 0:
            key = {"Driver Version": "driver", "CUDA Version": "cuda_driver"}.get(path)
            if key and re.match(r"[0-9]+\.[0-9]", value):
                stated.say(key, value, "nvidia-smi -q", "gpus")
        else:
            _log_entry(index, path.split("/", 1)[-1], value, stated)


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """("GPU 0000:01:00.0/FB Memory Usage/Total", "46068 MiB") from the indented log."""
    path: list[tuple[int, str]] = []
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        key, colon, value = line.strip().partition(" : ")
        while path and path[-1][0] >= indent:
            path.pop()
        path.append((indent, key.strip()))
        yield "/".join(part for _, part in path), value.strip() if colon else ""


def _log_entry(index: int, key: str, value: str, stated: Stated) -> None:
    field, kind = _LOG_FIELDS.get(key, ("", ""))
    if not field:
        return
    size = re.match(r"(\d+) MiB", value)
    read_as: dict[str, object] = {
        "text": value,
        "mib": int(size[1]) * MIB if size else None,
        "switch": _SWITCHES.get(value),
        "mode": _mode(value),
    }
    stated.gpu(index, "nvidia-smi -q", **{field: read_as[kind]})


def _mode(text: str) -> str | None:
    """Compute mode by NVML's short name."""
    return next((mode for words, mode in _COMPUTE_MODES if words in text), None)
