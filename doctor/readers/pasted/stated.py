"""What pasted reports state, gathered by one reader each and put together as facts at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import mutable
from doctor.facts.packages import Distribution, TorchBuild, normalised

VERSION = r"[0-9][0-9A-Za-z.+!_-]*"
MIB = 1 << 20
_PLATFORM = later(
    r"(?P<kernel>Linux-(?P<release>[0-9][^\s]*?))-(?P<machine>x86_64|aarch64|arm64|ppc64le|s390x)"
    r"(?:-(?P=machine))?-with-?(?:glibc(?P<glibc>[0-9.]+))?"
)
_CUDA_TAG = later(r"\+cu(\d{2,3})(?:\b|\.)")
_TAG = later(r"</?(?:details|summary|pre|code|br|p)\b[^<>]*>", re.IGNORECASE)
_QUOTE = later(r"^(?: {0,3}> ?){1,9}")
MOST_LINES = 20_000
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


@mutable
class Stated:
    """Values as stated, first reader first: a later one fills gaps and never overrules."""

    packages: dict[str, Distribution] = field(default_factory=dict)
    complete: bool = False
    torch_version: str | None = None
    torch_cuda: str | None = None
    torch_hip: str | None = None
    torch_cuda_known: bool = False
    values: dict[str, Any] = field(default_factory=dict)  # python, kernel, machine, glibc, os, driver ...
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    no_gpu: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    conda: dict[str, str] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)  # fact -> reports

    def note(self, source: str, *facts: str) -> None:
        """Remember which report a fact came from."""
        for each in facts:
            known = self.sources.setdefault(each, [])
            if source not in known:
                known.append(source)

    def package(self, name: str, version: str | None, source: str, **more: Any) -> None:
        """One installed distribution."""
        key = normalised(name)
        known = self.packages.get(key)
        if known is None or (known.version is None and version is not None):
            self.packages[key] = Distribution(key, version, **more)
        self.note(source, "packages")

    def say(self, key: str, value: str | int | None, source: str, *facts: str) -> None:
        """One value, unless an earlier report stated it."""
        if value is not None and value != "":
            self.values.setdefault(key, value)
            self.note(source, *facts)

    def gpu(self, index: int, source: str, **values: Any) -> None:
        """Values of one GPU."""
        known = self.gpus.setdefault(index, {})
        for key, value in values.items():
            if value is not None and known.get(key) in (None, (), ""):
                known[key] = value
        self.note(source, "gpus")

    def platform(self, text: str, source: str) -> None:
        """What platform.platform() says: kernel, machine and C library."""
        match = _PLATFORM.search(text)
        if match:
            self.say("kernel", match["release"], source, "host")
            self.say("machine", match["machine"], source, "interpreter")
            self.say("glibc", match["glibc"], source, "interpreter")

    def torch(self, version: str, source: str) -> None:
        """torch.__version__; its local part names the build."""
        if not re.match(VERSION, version):
            return
        if self.torch_version is None:
            self.torch_version = version
        self.package("torch", version, source)


def build_of(version: str) -> TorchBuild | None:
    """Build that a torch version names in its local part: `+cu124`, `+cpu`, `+rocm6.2`."""
    tag = _CUDA_TAG.search(version)
    if tag:
        digits = tag[1]
        return TorchBuild(version, f"{digits[:-1]}.{digits[-1]}")
    if "+cpu" in version:
        return TorchBuild(version)
    rocm = re.search(r"\+rocm([0-9.]+)", version)
    return TorchBuild(version, None, rocm[1]) if rocm else None


def bytes_of(number: str, unit: str) -> int | None:
    """Size in bytes of a number and its unit, "125.77" and "GB" (the tools count in powers of 1024)."""
    factor = _UNITS.get(unit.upper().replace("IB", "B"))
    try:
        return int(float(number) * factor) if factor else None
    except ValueError:
        return None


def clean(text: str) -> list[str]:
    """Lines without colours, carriage returns, Markdown quoting, fences and HTML tags."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = text.replace("\u00a0", " ")
    if "&" in text:
        for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&#124;", "|"), ("&nbsp;", " "), ("&amp;", "&")):
            text = text.replace(entity, character)
    return list(_lines(text.split("\n", MOST_LINES)[:MOST_LINES]))


def _lines(lines: Iterable[str]) -> Iterable[str]:
    for raw in lines:
        line = _QUOTE.sub("", raw) if ">" in raw[:4] else raw
        if line.lstrip().startswith(("```", "~~~")):
            yield ""
        elif "<" in line:
            yield _TAG.sub("", line)
        else:
            yield line


def ok(value: Any, sources: list[str], name: str) -> Observed:
    """A fact as captured from a pasted report."""
    return Observed.seen(value, source=f"{name}: {', '.join(sources)}")
