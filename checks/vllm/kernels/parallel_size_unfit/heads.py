"""Judges VLL9193/heads, a row of parallel-size-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.engine_gpus import colocated_parallel, overridden
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.shared.recipes import recipe_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
KEYS = TOML["keys"]


#: model types whose vLLM implementation divides or copies key-value heads evenly, each read in 0.8.5 and 0.33.0
DIVIDED_KEYS = {"llama", "qwen2", "qwen3", "mistral"}
LARGEST = 64
#: frameworks whose settings are options; those of the others are keys
OPTIONS = {"openrlhf"}
ENGINE = "actor_rollout_ref.rollout."


def _judged(model: Model, setting: Observed | None, flag: str, most: int = LARGEST) -> Judgement:
    """Judge a size; what is proposed instead is at most `most`, the GPUs that there are for one copy."""
    parallel = whole(setting.value) if setting is not None and setting.known else None
    heads, keys = model.attention_heads, model.kv_heads
    if setting is None or parallel is None or parallel < 2 or heads is None:
        return
    if heads % parallel:
        message, wrong = MESSAGE, heads
    elif keys and model.model_type in DIVIDED_KEYS and keys % parallel and parallel % keys:
        message, wrong = KEYS, keys
    else:
        return
    fitting = [size for size in range(1, LARGEST + 1) if not heads % size and (not keys or not keys % size)]
    best = max(size for size in fitting if size <= max(min(parallel, most), 1))
    yield found(
        PROBLEM,
        message,
        parallel=parallel,
        heads=wrong,
        model=model.name,
        fitting=", ".join(map(str, fitting)),
        where=place_of(setting),
        commands=(f"{flag}{best}",),
        evidence=(proof(setting), Observed.quoted(model.stated_in, f"{heads} heads, {keys} key-value heads")),
    )


@check(PROBLEM)
def served_heads(model: Model, serving: Serving | None, world: World | None) -> Judgement:
    """An explicit size above 1 against the heads of config.json."""
    if serving is not None and not overridden(serving):
        copies = serving.arguments.get("data_parallel_size")
        most = _for_each(world.visible_gpus if world is not None else None, copies)
        yield from _judged(model, serving.arguments.get("tensor_parallel_size"), "--tensor-parallel-size ", most)


def _for_each(visible: tuple[int, ...] | None, copies: Observed | None) -> int:
    """How many of the visible GPUs each copy of the model can have."""
    count = (whole(copies.value) or 1) if copies is not None and copies.known else 1
    return len(visible) // max(count, 1) if visible else LARGEST


@check(PROBLEM)
def colocated_heads(
    model: Model, training: Training | None, packages: Packages | None, world: World | None
) -> Judgement:
    """The engine inside TRL's trainer, which spans its processes."""
    most = world.processes if world is not None else None
    yield from _judged(model, colocated_parallel(training, packages), "--vllm_tensor_parallel_size ", most or LARGEST)


@check(PROBLEM)
def rollout_heads(model: Model, verl_config: VerlConfig | None) -> Judgement:
    """VeRL's rollout engine, where it is vLLM."""
    if verl_config is None:
        return
    name = verl_config.get(ENGINE + "name")
    if name is None or name.value == "vllm":
        key = ENGINE + "tensor_model_parallel_size"
        yield from _judged(model, verl_config.get(key), f"{key}=")


@check(PROBLEM)
def engine_heads(model: Model, framework_config: FrameworkConfig | None, launch: Launch | None) -> Judgement:
    """The engine of another framework, by its own name for the size."""
    recipe = recipe_of(launch, None, None, framework_config)
    setting = recipe.settings.get("tensor_parallel") if recipe is not None else None
    if setting is not None and framework_config is not None:
        typed = framework_config.framework in OPTIONS
        yield from _judged(model, setting, f"--{setting.name} " if typed else f"{setting.name}=")


def explain(hits: Hits) -> Finding | None:
    """Name the sizes that divide the heads."""
    heads, size = int(hits.get("heads") or 0), int(hits.get("size") or 0)
    fitting = [each for each in range(1, min(heads, 16) + 1) if heads and heads % each == 0 and each != size]
    smaller = max((each for each in fitting if each < size), default=1)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"--tensor-parallel-size {smaller}",),
        heads=heads,
        size=size,
        fitting=", ".join(str(each) for each in fitting),
    )
