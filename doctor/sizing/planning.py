"""Makes a plan from what the user typed, what the launch command says, and what is left to TRL's defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from doctor.base.record import record, replace
from doctor.data.models import known_model
from doctor.sizing import from_facts, launch, sizes
from doctor.sizing.advice import advise
from doctor.sizing.architecture import shape_of
from doctor.sizing.batches import Batches, batches_of
from doctor.sizing.budget import Budget, budget_of
from doctor.sizing.engine import SERVER_SHARE, possible_ranks
from doctor.sizing.setup import GIB, Buffers, Hardware, Lora, Rollout, Setup
from doctor.sizing.shape import ModelShape
from doctor.sizing.verdict import Advice, FitVerdict, judge, smallest_strategy

Note = tuple[str, Mapping[str, str]]
#: TRL 1.16's defaults; a prompt's length has none, and 512 is what TRL took up to 0.25
_DEFAULTS: Mapping[str, Any] = {
    "batch": 8, "accumulation": 1, "generations": 8, "prompt_length": 512, "completion_length": 512, "iterations": 1,
    "checkpointing": True, "attention": "sdpa", "dtype": "float32", "mixed": "bf16", "sleep": False,
    "tensor_parallel": None, "data_parallel": None, "share": None, "vllm": "colocate", "beta": 0.0, "epochs": 1.0,
}  # fmt: skip
_ON_DISK = 0.01  # relative difference from the weights' own count that is worth a word


class PlanError(ValueError):
    """The request cannot be planned; the message says what to change."""


@record
class SizingPlan:
    """A plan: the request as understood, what it needs, whether it fits, and how to start it.

    Args:
        advice: what to change, None when it fits; `notes` (key, values) of what was assumed or could not be seen.
        chosen: names of what the planner chose itself, for nobody said it.

    """

    setup: Setup
    budget: Budget
    verdict: FitVerdict
    advice: Advice | None
    batches: Batches
    launch: launch.LaunchAdvice
    notes: tuple[Note, ...]
    chosen: tuple[str, ...] = ()
    step_seconds: float | None = None


def make(
    model: str | None, argv: tuple[str, ...], options: Mapping[str, Any], cwd: Path, environ: Mapping[str, str]
) -> SizingPlan:
    """Plan a run.

    Args:
        model: folder, name or size; None where the command or `params` tells.
        argv: the launch command, () without one.
        options: the command line's, None where not given.
        cwd: folder of the user.
        environ: variables of the user.

    Raises:
        PlanError, SizeError, UnreadableConfigError: with a sentence for the user.

    """
    states = _facts(argv, options, cwd, environ)
    read = from_facts.read(states)
    if argv and read.why_not:
        msg = f"the launch command shows no GRPO run: {read.why_not}; use options instead"
        raise PlanError(msg)
    notes: list[Note] = []
    shape, label = _shape(model, options, read, cwd, environ, notes)
    given = {**read.values, **{key: value for key, value in options.items() if value is not None}}
    values = {**_DEFAULTS, **given}
    setup = _setup(shape, _hardware(given, states, notes), values, given, read, notes)
    setup, chosen = _filled(setup, given)
    if chosen:
        notes.append(("chosen", {"names": ", ".join(f"`{each.replace('_', '-')}`" for each in chosen)}))
    _remark(setup, given, read, notes, argv=bool(argv))
    started = launch.launch_of(
        setup, model=label, script=_script(states), trl=read.trl, folder=str(options.get("write") or ""),
        known=partial(_known, read.trl),
    )  # fmt: skip
    return _judged(setup, values, started, tuple(notes), chosen)


def _judged(
    setup: Setup,
    values: Mapping[str, Any],
    started: launch.LaunchAdvice,
    notes: tuple[Note, ...],
    chosen: tuple[str, ...],
) -> SizingPlan:
    """The plan of a setup that is complete."""
    budget, seconds = budget_of(setup), values.get("step_seconds")
    return SizingPlan(
        setup=setup,
        budget=budget,
        verdict=judge(setup, budget),
        advice=advise(setup),
        batches=batches_of(setup, rows=values.get("rows"), epochs=values["epochs"], step_seconds=seconds),
        launch=started,
        notes=notes,
        chosen=chosen,
        step_seconds=seconds,
    )


def _facts(
    argv: tuple[str, ...], options: Mapping[str, Any], cwd: Path, environ: Mapping[str, str]
) -> Mapping[str, Any]:
    from doctor.base.fact import Context
    from doctor.diagnosis.diagnose import Patient, examine

    names = list(from_facts.FACTS) if argv else ["packages", "host"]
    if not options.get("gpus") and "gpus" not in names:
        names.append("gpus")
    return examine(Context(argv, cwd, environ, options.get("python")), Patient(), names).states


# --- the model ------------------------------------------------------------------------------------------------------


def _shape(
    model: str | None,
    options: Mapping[str, Any],
    read: from_facts.Read,
    cwd: Path,
    environ: Mapping[str, str],
    notes: list[Note],
) -> tuple[ModelShape, str]:
    """The model's shape, and what to call it in commands."""
    if options.get("params") is not None:
        if model is not None:
            msg = "a model and --params say the same thing: give one of them"
            raise PlanError(msg)
        if not math.isfinite(options["params"]):
            msg = f"--params {options['params']} is not a size of a language model"
            raise PlanError(msg)
        shape = sizes.of_parameters(round(options["params"]))
        return _assumed(shape, notes), read.model or "MODEL"
    if model is None:
        if read.config is not None:
            return _checked(shape_of(read.config, read.model or ""), read.parameters, notes), read.model or "MODEL"
        if read.model and sizes.in_name(read.model):
            return _by_name(read.model, notes), read.model
        named = f"`{read.model}` is not on this machine; " if read.model else ""
        msg = f"{named}name a model: a folder with config.json, a size such as 7B, or --params 7.6e9"
        raise PlanError(msg)
    if sizes.is_size(model) and not (cwd / model).exists():
        return _assumed(sizes.nominal(model), notes), read.model or "MODEL"
    return _from_files(model, cwd, environ, notes), model


def _by_name(model: str, notes: list[Note]) -> ModelShape:
    """A model that is not here, by the size in its name."""
    notes.append(("not_here", {"model": model}))
    return _assumed(sizes.nominal(sizes.in_name(model) or ""), notes)


def _from_files(model: str, cwd: Path, environ: Mapping[str, str], notes: list[Note]) -> ModelShape:
    from doctor.readers.files import model_files

    path = cwd / model
    if path.is_file():
        config, parameters = from_facts.config_of(path), None
        if path.suffix != ".json" or config is None:
            msg = f"`{model}` is not a readable config.json"
            raise PlanError(msg)
        return _assumed(shape_of(config, model), notes)
    folder = model_files.find(model, cwd, environ)
    known = known_model(model) if folder is None else None
    if known is not None and known.parameters is not None:  # else a number is missing, and the count would be a guess
        notes.append(("published", {"model": known.name, "source": known.sources[0]}))
        return _checked(shape_of(known.config, model), known.parameters, notes)
    if folder is None and "/" in model.strip("./") and sizes.in_name(model):
        return _by_name(model, notes)
    if folder is None:
        msg = f"`{model}` is neither a folder, nor a model in the cache, nor a size such as 7B"
        raise PlanError(msg)
    found = model_files.read(model, Path(folder))
    if found.is_adapter:
        msg = f"`{model}` is an adapter; plan its base model" + (f" `{found.base_model}`" if found.base_model else "")
        raise PlanError(f"{msg} with --lora RANK")
    config, parameters = from_facts.config_of(Path(folder)), found.parameters
    if config is None:
        msg = f"`{folder}` has no readable config.json"
        raise PlanError(msg)
    if found.quantization:
        notes.append(("quantized", {"method": found.quantization}))
    return _checked(shape_of(config, model), parameters, notes)


def _checked(shape: ModelShape, parameters: int | None, notes: list[Note]) -> ModelShape:
    """The shape, set to the number of parameters in the weight files where it is another."""
    if parameters and abs(parameters / shape.parameters - 1) > _ON_DISK:
        notes.append(("on_disk", {"counted": f"{shape.parameters:,}", "stored": f"{parameters:,}"}))
        if not shape.exact:
            shape = shape.scaled(parameters, shape.name, ("disk", {"stored": f"{parameters:,}"}))
    return _assumed(shape, notes)


def _assumed(shape: ModelShape, notes: list[Note]) -> ModelShape:
    notes.extend((f"assumed_{key}", values) for key, values in shape.assumed)
    return shape


# --- the GPUs -------------------------------------------------------------------------------------------------------


def _hardware(given: Mapping[str, Any], states: Mapping[str, Any], notes: list[Note]) -> Hardware:
    nodes, host = given.get("nodes") or 1, None
    state = states.get("host")
    text = given.get("gpus")
    if state is not None and state.status == "ok" and not text:
        host = state.value.memory_limit_bytes or state.value.memory_total_bytes
    if text:
        count, size, name, capability = sizes.gpus(text)
        return Hardware(count, size, name, nodes, _host_bytes(given), capability)
    state = states.get("gpus")
    seen = state.value.gpus if state is not None and state.status == "ok" else ()
    cards = [each for each in seen if each.memory_total_bytes]
    world = states.get("world")
    visible = world.value.visible_gpus if world is not None and world.status == "ok" else None
    if visible is not None:
        cards = [each for each in cards if each.index in visible]
    if not cards:
        why = f": {state.reason}" if state is not None and state.reason else ""
        msg = f"name the GPUs of the run, --gpus 8xH100 or --gpus 8x80GiB, because none is visible here{why}"
        raise PlanError(msg)
    if len({each.memory_total_bytes for each in cards}) > 1:
        notes.append(("mixed_cards", {}))
    least = min(cards, key=lambda each: each.memory_total_bytes or 0)
    return Hardware(
        len(cards),
        least.memory_total_bytes or 0,
        least.name or "",
        nodes,
        _host_bytes(given) or host,
        least.compute_capability,
    )


def _host_bytes(given: Mapping[str, Any]) -> int | None:
    """Memory of a node as the user says it."""
    return round(given["host_memory"] * GIB) if given.get("host_memory") else None


# --- the run --------------------------------------------------------------------------------------------------------


def _setup(
    shape: ModelShape,
    hardware: Hardware,
    values: Mapping[str, Any],
    given: Mapping[str, Any],
    read: from_facts.Read,
    notes: list[Note],
) -> Setup:
    """A setup with everything but what the planner chooses."""
    hardware, rollout = _processes(hardware, _rollout(values), given, notes)
    setup = Setup(
        shape=shape,
        hardware=hardware,
        strategy=given.get("strategy") or ("ddp" if hardware.total > 1 else "single"),
        weights=values["dtype"],
        mixed=_mixed(hardware, values, given, notes),
        bits=int(values["bits"]) if values.get("bits") else None,
        lora=_lora(shape, values),
        beta=float(values["beta"]),
        optimizer=values.get("optimizer") or "adamw",
        batch=values["batch"],
        accumulation=values["accumulation"],
        generations=values["generations"],
        prompt_length=values["prompt_length"],
        completion_length=values["completion_length"],
        iterations=values["iterations"],
        steps_per_generation=values.get("steps_per_generation"),
        checkpointing=bool(values["checkpointing"]),
        attention=values["attention"],
        head=values.get("head") or _head(read),
        rollout=rollout,
        buffers=Buffers(**values["buffers"]) if values.get("buffers") else Buffers(),
    )
    return _offloaded(setup, given)


def _mixed(hardware: Hardware, values: Mapping[str, Any], given: Mapping[str, Any], notes: list[Note]) -> str:
    """Mixed precision as it is asked for, else what the cards compute in."""
    mixed = str(values["mixed"])
    if mixed != "bf16" or hardware.half == "bfloat16":
        return mixed
    name = {"name": hardware.name.replace("-", " ") or "this GPU"}
    notes.append(("bf16_lacking" if "mixed" in given else "no_bf16", name))
    return "bf16" if "mixed" in given else "fp16"


def _rollout(values: Mapping[str, Any]) -> Rollout:
    return Rollout(
        engine=values["vllm"],
        share=values["share"] or (SERVER_SHARE if values["vllm"] == "server" else 0.3),
        tensor_parallel=values["tensor_parallel"] or 1,
        data_parallel=values["data_parallel"] or 1,
        sleep=bool(values["sleep"]),
        max_model_length=values.get("max_model_length"),
    )


def _lora(shape: ModelShape, values: Mapping[str, Any]) -> Lora | None:
    """The adapter that is asked for, None without one."""
    if not values.get("lora"):
        return None
    targets = values.get("lora_targets") or ("all-linear",)
    lora = Lora(values["lora"], tuple(targets.split(",")) if isinstance(targets, str) else tuple(targets))
    if not lora.parameters(shape):
        names = ", ".join(dict.fromkeys(each.name for each in shape.matrices if not each.expert))
        msg = f"no module of this model is named {', '.join(lora.targets)}; there are {names}"
        raise PlanError(msg)
    return lora


def _processes(
    hardware: Hardware, rollout: Rollout, given: Mapping[str, Any], notes: list[Note]
) -> tuple[Hardware, Rollout]:
    """GPUs as the launch command uses them: so many processes, and beside them a server, here or elsewhere."""
    processes = given.get("processes")
    if not processes or processes % hardware.nodes:
        return hardware, rollout
    own = processes // hardware.nodes
    if own > hardware.gpus:
        msg = f"the command starts {own} processes on a node that has {hardware.gpus} GPUs"
        raise PlanError(msg)
    if rollout.engine == "server":
        free = hardware.gpus - own
        if free < rollout.tensor_parallel * rollout.data_parallel:
            notes.append(("elsewhere", {}))
            return replace(hardware, gpus=own), replace(rollout, elsewhere=True)
        return replace(hardware, gpus=own + rollout.tensor_parallel * rollout.data_parallel), rollout
    if own < hardware.gpus:
        notes.append(("idle", {"count": str(hardware.gpus - own)}))
    return replace(hardware, gpus=own), rollout


def _head(read: from_facts.Read) -> str:
    """What the installed TRL does: full logits up to 1.14, tiles from 1.15."""
    numbers = [int(each) for each in (read.trl or "").split(".")[:2] if each.isdigit()]
    return "full" if len(numbers) == 2 and tuple(numbers) < (1, 15) else "chunked"


def _offloaded(setup: Setup, given: Mapping[str, Any]) -> Setup:
    offload = given.get("offload")
    if not offload or offload == "none":
        return setup
    strategy = given.get("strategy")
    if strategy is None:
        strategy = "zero3" if offload == "all" else "zero2"
    if strategy in {"single", "ddp", "zero0"}:
        msg = f"--offload {offload} needs ZeRO or FSDP; {strategy} keeps its states on the GPU"
        raise PlanError(msg)
    if offload == "all" and strategy not in {"zero3", "fsdp"}:
        msg = f"weights can be offloaded under zero3 or fsdp only, not under {strategy}"
        raise PlanError(msg)
    return replace(setup, strategy=strategy, offload_optimizer=True, offload_parameters=offload == "all")


def _filled(setup: Setup, given: Mapping[str, Any]) -> tuple[Setup, tuple[str, ...]]:
    """Choose what nobody said: the engine's parallelism and share, then the least strategy that fits."""
    chosen: list[str] = []
    rollout = setup.rollout
    if rollout.engine == "server" and "tensor_parallel" not in given and "data_parallel" not in given:
        if setup.hardware.total < 2 and not rollout.elsewhere:
            msg = "a server needs a separate GPU beside the trainer's: give two or more, or --vllm colocate"
            raise PlanError(msg)
        ranks, copies = launch.split(setup)
        setup = replace(setup, rollout=replace(rollout, tensor_parallel=ranks, data_parallel=copies))
        chosen += ["tensor_parallel", "data_parallel"]
    if rollout.engine == "colocate" and "tensor_parallel" not in given:
        setup = replace(setup, rollout=replace(rollout, tensor_parallel=launch.colocated(setup)))
        chosen.append("tensor_parallel")
    _possible(setup)
    if rollout.engine == "colocate" and "share" not in given:
        setup = replace(setup, rollout=replace(setup.rollout, share=launch.share_for(setup)))
        chosen.append("vllm_share")
    if "strategy" not in given and not setup.offload_optimizer:
        setup = smallest_strategy(setup, may_offload=given.get("offload") != "none")
        chosen.append("strategy")
    return setup, tuple(chosen)


def _possible(setup: Setup) -> None:
    """Refuse what cannot start.

    Raises:
        PlanError: a split of GPUs or heads that vLLM or TRL refuses.

    """
    rollout, shape = setup.rollout, setup.shape
    if setup.trainers < 1:
        msg = f"the server takes {rollout.gpus} GPUs and leaves none of {setup.hardware.total} to the trainer"
        raise PlanError(msg)
    if setup.strategy == "single" and setup.trainers > 1:
        msg = f"--strategy single trains on one GPU, and {setup.trainers} are given"
        raise PlanError(msg)
    ranks = rollout.tensor_parallel
    if rollout.engine != "none" and ranks > 1 and ranks not in possible_ranks(shape.heads, shape.kv_heads, ranks):
        msg = f"{ranks} GPUs cannot share {shape.heads} query and {shape.kv_heads} key heads evenly"
        raise PlanError(msg)
    if rollout.engine == "colocate" and setup.trainers % ranks:
        msg = f"tensor parallelism of {ranks} does not divide the {setup.trainers} GPUs that train"
        raise PlanError(msg)


def _script(states: Mapping[str, Any]) -> tuple[str, ...]:
    """The training script with its arguments, as the launch command has it."""
    state = states.get("launch")
    if state is None or state.status != "ok" or not state.value.script:
        return ()
    found = state.value
    name = next((word for word in found.argv if found.script.endswith(word.removeprefix("./"))), found.script)
    return (name, *found.script_args)


def _known(version: str | None, name: str) -> bool:
    """Whether the installed TRL has an argument; the newest where none is installed."""
    from doctor import data

    version = version or data.newest("trl")
    if data.training_argument(name) is not None:  # of Transformers, inherited
        return True
    found = [each for each in (data.trl_argument(owner, name) for owner in ("GRPOConfig", "ModelConfig")) if each]
    return version is None or not found or any(each.exists_in(version) is not False for each in found)


def _remark(setup: Setup, given: Mapping[str, Any], read: from_facts.Read, notes: list[Note], *, argv: bool) -> None:
    """Say what was assumed, and what these figures do not know."""
    if "prompt_length" not in given:
        notes.append(("prompt_length", {"tokens": str(setup.prompt_length)}))
    if "head" not in given:
        if read.trl is None:
            notes.append(("trl_assumed", {}))
        elif setup.head == "full":
            notes.append(("full_logits", {"version": read.trl}))
    if "dtype" not in given and not setup.deepspeed and setup.weights == "float32" and setup.mixed != "no":
        notes.append(("float32" if setup.hardware.half == "bfloat16" else "float32_kept", {}))
    if read.unknown and argv:
        notes.append(("unknown", {"names": ", ".join(f"`{each}`" for each in read.unknown)}))
    if setup.shape.most_experts:
        notes.append(("experts", {}))
    if any(each.vision for each in setup.shape.matrices):
        notes.append(("vision", {}))
    if setup.hardware.host_bytes is None:
        notes.append(("host_unknown", {}))
    if setup.rollout.engine == "colocate":
        notes.append(("old_engine", {}))
    notes.append(("unproven", {}))
