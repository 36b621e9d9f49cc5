"""How many processes torchrun, `deepspeed`, `swift`, `llamafactory-cli` and plain Python make.

torch/distributed/run.py, deepspeed/launcher/runner.py, swift/cli/main.py, llamafactory/launcher.py. veRL and
Trinity-RFT have Ray make theirs.
"""

from __future__ import annotations

import os
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import BrokenFile, Unavailable
from doctor.base.record import replace
from doctor.readers.command import swift
from doctor.readers.command.training_llamafactory import enabled
from doctor.readers.command.world_parts import Asked, gpus_left, number, text, to_come, trainers_backend
from doctor.readers.files.text import read_text

_DEEPSPEED_PORT = 29500
_HOSTFILE = "/job/hostfile"
#: variables that ms-swift and LLaMA-Factory hand to torchrun
_FOR_TORCHRUN = ("NPROC_PER_NODE", "MASTER_PORT", "NNODES", "NODE_RANK", "MASTER_ADDR")


def torchrun_world(asked: Asked) -> dict[str, Any]:
    """Fields of World for torchrun; options may come from variables PET_NPROC_PER_NODE and the like."""
    setting = _torchrun_option(asked, "nproc_per_node")
    local = _nproc(asked, setting)
    stated = _torchrun_option(asked, "nnodes")
    nodes = "" if to_come(stated) else text(stated) or "1"
    least, _, most = nodes.partition(":")
    machines = number(most or least) if not most or most == least else None
    processes = local * machines if local is not None and machines is not None else None
    return {
        **gpus_left(asked, asked.variables.get("CUDA_VISIBLE_DEVICES"), "CUDA_VISIBLE_DEVICES"),
        "processes": processes,
        "processes_from": setting,
        "local_processes": local,
        "machines": machines,
        "machine_rank": _machine_rank(_torchrun_option(asked, "node_rank")),
        **_torchrun_rendezvous(asked, machines),
        **_precision(asked),
        **trainers_backend(asked, processes if processes is not None else local),
    }


def _torchrun_option(asked: Asked, name: str) -> Observed | None:
    value = asked.variables.get(f"PET_{name.upper()}")
    return asked.options.get(name) or (Observed.written(f"PET_{name.upper()}", value, True, value) if value else None)


def _machine_rank(setting: Observed | None) -> int | None:
    return None if to_come(setting) else number(setting) or 0


def _nproc(asked: Asked, setting: Observed | None) -> int | None:
    """Processes on this machine; "auto" counts GPUs, or CPUs where there is none, which is not guessed here."""
    if to_come(setting):
        return None
    value = text(setting) or "1"
    if value in {"gpu", "auto"}:
        return asked.visible_count or None
    return number(value)


def _torchrun_rendezvous(asked: Asked, machines: int | None) -> dict[str, Any]:
    """Where a port is named, or several machines need one; else torchrun picks a free port (older ones: 29500)."""
    if "standalone" in asked.options:
        return {}
    address = text(_torchrun_option(asked, "master_addr"))
    port = number(_torchrun_option(asked, "master_port"))
    endpoint = text(_torchrun_option(asked, "rdzv_endpoint"))
    if to_come(_torchrun_option(asked, "rdzv_endpoint")):
        return {}
    if endpoint:
        host, _, tail = endpoint.rpartition(":") if ":" in endpoint else (endpoint, "", "")
        return {"master_addr": host or None, "master_port": number(tail) or None}
    if address is None and port is None and machines == 1:
        return {}
    told_later = {name: to_come(_torchrun_option(asked, name)) for name in ("master_addr", "master_port")}
    return {
        "master_addr": address or (None if told_later["master_addr"] else "127.0.0.1"),
        "master_port": port or (None if told_later["master_port"] else 29500),
    }


def _precision(asked: Asked) -> dict[str, Any]:
    """What DeepSpeed's file says by name, or the variable that accelerate's launcher would set."""
    if asked.deepspeed is not None and asked.deepspeed.precision is not None:
        return {"mixed_precision": asked.deepspeed.precision}
    return {"mixed_precision": asked.variables.get("ACCELERATE_MIXED_PRECISION")}


# DeepSpeed -----------------------------------------------------------------------------------------------------------


def deepspeed_world(asked: Asked) -> dict[str, Any]:
    """Fields of World for the `deepspeed` command."""
    hosts = _hosts(asked)
    fields: dict[str, Any] = _precision(asked)
    port = asked.options.get("master_port")
    fields["master_port"] = number(port) or (None if to_come(port) else _DEEPSPEED_PORT)
    if isinstance(hosts, BrokenFile):
        return {**fields, "machines": None, **trainers_backend(asked, None)}
    if hosts:
        fields |= _on_hosts(asked, hosts)
    else:
        fields |= {"machines": 1, "machine_rank": 0, "master_addr": "127.0.0.1", **_on_this_machine(asked)}
    address = asked.options.get("master_addr")
    if text(address) or to_come(address):
        fields["master_addr"] = text(address)
    return {**fields, **trainers_backend(asked, fields.get("processes"))}


def _hosts(asked: Asked) -> dict[str, int] | BrokenFile | None:
    """Slots by host out of the host file; None when there is no file, which means this machine alone."""
    named = text(asked.options.get("hostfile"))
    path = os.path.join(asked.launch.folder, named or _HOSTFILE)  # noqa: PTH118
    if not os.path.isfile(path):  # noqa: PTH113 - deepspeed asks the same
        return None
    content = read_text(path)
    if isinstance(content, BrokenFile):
        return content
    hosts: dict[str, int] = {}
    for line in content.splitlines():
        words = line.partition("#")[0].split()
        slots = number(words[1].partition("slots=")[2]) if len(words) > 1 else None
        if words and slots is not None:
            hosts[words[0]] = slots
    return hosts


def _filter(value: str | None) -> dict[str, list[int]]:
    """`worker-0@worker-1:0,2` as host -> slots; no slots stand for all."""
    found: dict[str, list[int]] = {}
    for part in (value or "").split("@"):
        host, _, slots = part.partition(":")
        if host:
            numbers = [number(each) for each in slots.split(",") if each]
            found.setdefault(host, []).extend(each for each in numbers if each is not None)
    return found


def _on_hosts(asked: Asked, hosts: dict[str, int]) -> dict[str, Any]:
    resources = {host: list(range(slots)) for host, slots in hosts.items()}
    include = _filter(text(asked.options.get("include")))
    exclude = _filter(text(asked.options.get("exclude")))
    if include:
        resources = {host: slots or resources.get(host, []) for host, slots in include.items()}
    for host, slots in exclude.items():
        resources[host] = [each for each in resources.get(host, []) if slots and each not in slots]
    nodes, each_gpus = number(asked.options.get("num_nodes")), number(asked.options.get("num_gpus"))
    kept = [host for host, slots in resources.items() if slots]
    kept = kept[:nodes] if nodes and nodes > 0 else kept
    counts = [each_gpus if each_gpus and each_gpus > 0 else len(resources[host]) for host in kept]
    return {
        "machines": len(kept) or None,
        "machine_rank": None,
        "processes": sum(counts) or None,
        "processes_from": _source(asked),
        "local_processes": counts[0] if counts and len(set(counts)) == 1 else None,
        **gpus_left(asked, None, None),
    }


def _source(asked: Asked) -> Observed | None:
    names = ("include", "exclude", "num_gpus", "num_nodes", "hostfile")
    return next((asked.options[name] for name in names if name in asked.options), None)


def _on_this_machine(asked: Asked) -> dict[str, Any]:
    """One machine: a filter or count hides CUDA_VISIBLE_DEVICES; without one that variable is the filter."""
    variable = asked.variables.get("CUDA_VISIBLE_DEVICES") or None
    asked_gpus = number(asked.options.get("num_gpus"))
    include, exclude = text(asked.options.get("include")), text(asked.options.get("exclude"))
    everything = [gpu.index for gpu in asked.gpus.gpus] if asked.gpus is not None else None
    slots: list[int] | None
    if any(to_come(asked.options.get(name)) for name in ("num_gpus", "include", "exclude")):
        slots, by = None, None
    elif asked_gpus is not None and asked_gpus > 0:
        slots, by = list(range(asked_gpus)), "--num_gpus"
    elif include:
        slots, by = (sorted({each for part in _filter(include).values() for each in part}) or everything), "--include"
    elif exclude:
        out = {each for part in _filter(exclude).values() for each in part}
        slots, by = (None if everything is None else [each for each in everything if each not in out]), "--exclude"
    elif variable:
        numbers = [number(each) for each in variable.split(",")]
        slots = sorted({each for each in numbers if each is not None}) if None not in numbers else None
        by = "CUDA_VISIBLE_DEVICES"
    else:
        slots, by = everything, None
    value = None if by is None or slots is None else ",".join(map(str, slots))
    fields = {**gpus_left(asked, value, by), "processes_from": _source(asked)}
    if slots:
        fields |= {"processes": len(slots), "local_processes": len(slots)}
    return fields


# Plain Python --------------------------------------------------------------------------------------------------------


def python_world(asked: Asked) -> dict[str, Any]:
    """Fields of World for a script started by Python itself: one process, unless a scheduler or variables say more."""
    fields = {
        **gpus_left(asked, asked.variables.get("CUDA_VISIBLE_DEVICES"), "CUDA_VISIBLE_DEVICES"),
        **_precision(asked),
        "master_addr": asked.variables.get("MASTER_ADDR"),
        "master_port": number(asked.variables.get("MASTER_PORT")),
    }
    processes, machines, source = _scheduled(asked)
    return {
        **fields,
        "processes": processes,
        "processes_from": source,
        "machines": machines,
        "machine_rank": 0 if machines == 1 else None,
        "local_processes": processes // machines if processes is not None and machines else None,
        **trainers_backend(asked, processes),
    }


def _scheduled(asked: Asked) -> tuple[int | None, int | None, Observed | None]:
    """(processes, machines, setting) by WORLD_SIZE, srun or mpirun."""
    world = asked.variables.get("WORLD_SIZE")
    if world is not None and "RANK" in asked.variables:
        local = number(asked.variables.get("LOCAL_WORLD_SIZE"))
        size = number(world)
        machines = size // local if size and local else 1 if size == 1 else None
        return size, machines, Observed.written("WORLD_SIZE", world, True, world)
    options = asked.launch.wrapper_options
    for wrapper in ("srun", "mpirun", "mpiexec", "orterun"):
        if wrapper in asked.launch.wrappers:
            return _tasks(options.get, wrapper)
    return 1, 1, None


def _tasks(get: Any, wrapper: str) -> tuple[int | None, int | None, Observed | None]:
    tasks, nodes, each = (get(f"{wrapper}.{name}") for name in ("ntasks", "nodes", "ntasks_per_node"))
    machines = number(nodes) if nodes is not None else None
    if tasks is not None:
        return number(tasks), machines, tasks
    if each is not None and machines is not None and number(each) is not None:
        return machines * (number(each) or 0), machines, each
    return None, machines, nodes


# ms-swift ------------------------------------------------------------------------------------------------------------


def swift_world(asked: Asked) -> dict[str, Any]:
    """Fields of World: torchrun where a variable asks for it, else one process that spreads the model over the GPUs.

    Raises:
        Unavailable: the file of arguments cannot be read.

    """
    if reason := swift.unreadable(asked.launch):
        raise Unavailable(reason)
    asked = _with_torchruns(replace(asked, variables=swift.variables_of(asked.launch, asked.variables)))
    through_torchrun = {"nproc_per_node", "nnodes"} & asked.options.keys()
    fields = torchrun_world(asked) if through_torchrun else python_world(asked)
    preset = swift.preset_of(asked.launch)
    if preset is not None:
        stage, optimizer, parameters = swift.PRESETS[preset]
        fields |= {
            "backend": "deepspeed", "zero_stage": stage, "offload_optimizer": optimizer, "offload_param": parameters
        }  # fmt: skip
    return fields


def _with_torchruns(asked: Asked) -> Asked:
    """The same with torchrun's options as variables give them."""
    given = {name: asked.variables[name] for name in _FOR_TORCHRUN if name in asked.variables}
    options = {name.lower(): Observed.written(name, value, True, value) for name, value in given.items()}
    return replace(asked, options=options)


# LLaMA-Factory -------------------------------------------------------------------------------------------------------


def llamafactory_world(asked: Asked) -> dict[str, Any]:
    """Fields of World: torchrun with a process for each GPU, one process where there is one GPU or Ray has been asked.

    https://github.com/hiyouga/LlamaFactory/blob/ff6d4d12eeb035d6ce06805a5733dd7b29f2ac30/src/llamafactory/launcher.py
    """
    on = {name for name in ("FORCE_TORCHRUN", "USE_RAY", "USE_KT") if enabled(asked.variables.get(name))}
    asked = _with_torchruns(asked)
    count = asked.visible_count
    if "FORCE_TORCHRUN" in on or (count is not None and count > 1 and not on):
        every = {} if count is None else {"nproc_per_node": Observed.written("nproc_per_node", count)}
        fields = torchrun_world(replace(asked, options={**every, **asked.options}))
        known = count is not None or "nproc_per_node" in asked.options
        return fields if known else {**fields, "processes": None, "local_processes": None}
    fields = python_world(replace(asked, options={}))
    return fields if count is not None and not on else {**fields, "processes": None, "local_processes": None}
