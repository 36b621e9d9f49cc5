"""Facts out of reports that somebody pasted: what `doctor check --from report.txt` judges.

A report is recognised by its content, also several in one text and inside the Markdown of a GitHub issue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doctor.base.evidence import Observed
from doctor.base.opened import opened
from doctor.readers.pasted.stated import Stated, build_of, clean, ok

if TYPE_CHECKING:
    from doctor.facts.gpus import Gpu

#: nothing that a person pastes is longer
LIMIT_CHARACTERS = 1 << 20
#: lines of these reports are shorter, but for the values of environment variables
LONGEST_LINE = 300


def read_report(text: str, name: str) -> dict[str, Observed]:
    """Facts that a pasted text states, by name; `name` (of the file) goes into each fact's source.

    Reads torch's and vLLM's collect_env, `trl env`, `transformers env`, `accelerate env`, `ds_report`, `pip list`,
    `pip freeze`, `conda list` and `nvidia-smi`. An empty result means that nothing was recognised. What several
    reports state differently is taken from the most exact one: listings of pip before collect_env before the rest.
    """
    from doctor.readers.pasted import collect_env, ds_report, hf_env, nvidia_smi, pip_list

    whole = clean(text[:LIMIT_CHARACTERS])
    lines = [line if len(line) <= LONGEST_LINE else "" for line in whole]
    stated = Stated()
    pip_list.read(lines, stated, whole)
    nvidia_smi.read(lines, stated)
    collect_env.read(lines, stated, whole)
    ds_report.read(lines, stated)
    hf_env.read(lines, stated)
    _nvcc(lines, stated)
    return _facts(stated, name)


def _nvcc(lines: list[str], stated: Stated) -> None:
    """Read the answer of `nvcc --version`, which people paste beside the rest."""
    for line in lines:
        match = re.search(r"Cuda compilation tools, release ([0-9]+\.[0-9]+)", line)
        if match:
            stated.say("nvcc", match[1], "nvcc --version", "cuda")
            return


def _facts(stated: Stated, name: str) -> dict[str, Observed]:
    """Every fact that at least one report stated."""
    from doctor.facts.environment import Environment

    facts: dict[str, Observed] = {}
    _machine(stated, name, facts)
    _packages(stated, name, facts)
    _gpus(stated, name, facts)
    if stated.environment:
        facts["environment"] = ok(Environment(stated.environment), stated.sources["environment"], name)
    return facts


def _machine(stated: Stated, name: str, facts: dict[str, Observed]) -> None:
    """Facts interpreter, cuda and host."""
    from doctor.facts.cuda import Cuda
    from doctor.facts.host import Host
    from doctor.facts.interpreter import Interpreter

    values = stated.values
    if "python" in values:
        facts["interpreter"] = ok(
            Interpreter(
                executable="", version=values["python"], chosen_because=f"stated in {name}",
                environment_kind=values.get("environment_kind", "system"),
                machine=values.get("machine", "x86_64"), glibc=values.get("glibc"),
            ),
            stated.sources["interpreter"], name,
        )  # fmt: skip
    if "nvcc" in values:  # found on PATH by the tool that wrote the report; torch takes its folder as CUDA_HOME
        cuda = Cuda("the folder of nvcc on PATH", "nvcc on PATH", "nvcc", values["nvcc"])
        facts["cuda"] = ok(cuda, stated.sources["cuda"], name)
    if stated.sources.get("host"):
        kernel = values.get("kernel", "")
        host = Host(
            hostname="", kernel=kernel, os=values.get("os", ""), memory_total_bytes=values.get("memory_bytes"),
            shm_total_bytes=values.get("shm_bytes"),
            wsl=2 if "WSL2" in kernel else 1 if "Microsoft" in kernel else None,
        )  # fmt: skip
        facts["host"] = ok(host, stated.sources["host"], name)


def _packages(stated: Stated, name: str, facts: dict[str, Observed]) -> None:
    from doctor.facts.packages import Packages, TorchBuild

    if not stated.packages:
        return
    version = stated.torch_version
    build = None
    if version is not None and stated.torch_cuda_known:
        build = TorchBuild(version, stated.torch_cuda, stated.torch_hip)
    elif version is not None or "torch" in stated.packages:
        build = build_of(version or stated.packages["torch"].version or "")
    sources = stated.sources["packages"]
    packages = Packages(
        distributions=dict(sorted(stated.packages.items())), torch_build=build, source=", ".join(sources),
        complete=stated.complete, conda=stated.conda,
    )  # fmt: skip
    facts["packages"] = ok(packages, sources, name)


def _gpus(stated: Stated, name: str, facts: dict[str, Observed]) -> None:
    """Facts gpus and nvidia; a report that looked and saw no card makes `gpus` unavailable with that reason."""
    from doctor.facts.gpus import Gpu, Gpus
    from doctor.facts.nvidia import Nvidia
    from doctor.readers.pasted.capability import capability

    error = stated.values.get("nvml_error")
    if error is not None and not stated.gpus:
        facts["nvidia"] = ok(Nvidia(nvml_error=error), stated.sources["nvidia"], name)
        facts["gpus"] = Observed.unseen(f"nvidia-smi failed: {error}", source=name)
        return
    if not stated.gpus and "driver" not in stated.values:
        if stated.no_gpu:
            facts["gpus"] = Observed.unseen(stated.no_gpu, source=name)
        return
    cards = tuple(
        _card(Gpu(index=index, compute_capability=capability(values.get("name") or ""), **values), values)
        for index, values in sorted(stated.gpus.items())
    )
    sources = stated.sources["gpus"]
    values = stated.values
    gpus = Gpus(values.get("driver"), values.get("cuda_driver"), cards, source=", ".join(sources))
    facts["gpus"] = ok(gpus, sources, name)


def _card(card: Gpu, stated: Mapping[str, Any]) -> Gpu:
    """A card of which only some listings name the MIG instances."""
    return card if "mig_devices" in stated else opened(card, seen=set(vars(card)) - {"mig_devices"})
