"""Judges deepspeed-values-disagree (DSP004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import effective, proofs, written
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import compares_arguments, unread
from doctor.checks.deepspeed._pairs import Pair, differ, from_json, from_yaml, whole_batch
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
QUOTED = TOML["quoted"]
MESSAGE = TOML["main"]
LEFT_OUT = TOML["left_out"]


def _automatic(pair: Pair) -> str:
    """The line to write: DeepSpeed's JSON, or the key of the accelerate file."""
    name = pair.key.rpartition(".")[2]
    return f"{name}: auto" if pair.ours.name.startswith("deepspeed_config.") else f'"{name}": "auto"'


@check(PROBLEM)
def values_disagree(
    world: World,
    training: Training,
    deepspeed: DeepspeedConfig | None,
    accelerate: AccelerateConfig | None,
    packages: Packages | None,
) -> Judgement:
    """Pair by pair; what cannot be compared is said once."""
    if world.backend != "deepspeed" or not compares_arguments(training, packages):
        return
    if deepspeed is not None:
        pairs = list(from_json(deepspeed, training, packages))
        product = whole_batch(deepspeed, training, packages, world)
        pairs += [product] if product is not None else []
    elif accelerate is not None:
        pairs = list(from_yaml(accelerate, training, packages))
    else:
        pairs = []
        yield from unread(training)
    guesses_batch = training.value("auto_find_batch_size")
    for pair in pairs:
        theirs = pair.theirs
        if theirs is None or not differ(pair) or (guesses_batch and pair.key.startswith("train_")):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            key=pair.key,
            ours=repr(pair.ours.value),
            argument=theirs.name,
            theirs=theirs.value,
            place=written(theirs),
            where=place_of(pair.ours, theirs),
            commands=(_automatic(pair),),
            evidence=proofs(pair.ours, theirs),
        )
    if any(pair.theirs is None for pair in pairs):
        keys = ", ".join(f"`{pair.key}`" for pair in pairs if pair.theirs is None)
        yield Skip(f"{keys} of the DeepSpeed configuration could not be compared with the training arguments")


@check(PROBLEM)
def accumulation_left_out(
    launch: Launch, world: World, training: Training, deepspeed: DeepspeedConfig | None, packages: Packages | None
) -> Judgement:
    """Only through accelerate: a file given as `deepspeed=` is compared before the gap is filled."""
    if launch.kind not in {"accelerate", "trl"} or world.backend != "deepspeed":
        return
    if not compares_arguments(training, packages):
        return
    key = "gradient_accumulation_steps"
    if deepspeed is None or deepspeed.broken or deepspeed.path is None:
        return
    if key in deepspeed.settings or training.get("deepspeed"):
        return
    theirs = effective(training, packages, key)
    if theirs is None or (whole(theirs.value) or 1) == 1:
        return
    yield found(
        PROBLEM,
        LEFT_OUT,
        key=key,
        file=deepspeed.path.rpartition("/")[2],
        argument=key,
        theirs=theirs.value,
        place=written(theirs),
        where=place_of(theirs),
        commands=('"gradient_accumulation_steps": "auto"',),
        evidence=proofs(theirs),
    )


def explain(hits: Hits) -> Finding | None:
    """Name the pairs that the following lines list."""
    if not hits.of(0):
        return None
    listed = [hit.groups for hit in hits.of(1)]
    pairs = [f"`{each['key']}` ({each['ours']}) and `{each['argument']}` ({each['theirs']})" for each in listed[:2]]
    keys = ", ".join(f"`{each['key']}`" for each in listed[:3])
    quoted = bool(listed) and all(each["ours"] == each["theirs"] for each in listed)
    return found(
        PROBLEM,
        QUOTED if quoted else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        pairs=", ".join(pairs) or "some values",
        keys=keys or "them",
    )
