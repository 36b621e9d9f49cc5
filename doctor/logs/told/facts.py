"""Makes facts of what lines say: the same ones that `doctor check` judges, each open, each part with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from doctor import data
from doctor.base.evidence import AFTER_DEATH, UNKNOWN, Observations, Observed, Origin, Place
from doctor.base.opened import NotSeen, opened, partly
from doctor.base.patterns import later
from doctor.logs.told.said import Said

#: characters of a line that is quoted whole
_LONG = 300
#: owners of settings that a training's arguments are made of, but for the classes themselves
_TRAINING = "training"
_SERVING_FIELDS = {
    "model": "model", "model_tag": "model", "tensor_parallel_size": "tensor_parallel_size",
    "data_parallel_size": "data_parallel_size", "pipeline_parallel_size": "pipeline_parallel_size", "dtype": "dtype",
    "max_model_len": "max_model_len", "gpu_memory_utilization": "gpu_memory_utilization",
    "quantization": "quantization", "host": "host", "port": "port",
}  # fmt: skip
#: keys are written in their order, so a file with this one was not cut off
_LAST_OF_ACCELERATE = "use_cpu"
_TRAINER = later(r"\b(?P<name>GRPO|SFT|DPO|RLOO|KTO|ORPO|PPO|OnlineDPO|GKD|Reward)(?:Trainer|Config)\b")
#: classes by whose own arguments it is told which class an argument belongs to
_CLASSES = ("GRPOConfig", "SFTConfig", "DPOConfig", "RLOOConfig", "KTOConfig", "RewardConfig")


def world_of(said: Sequence[Said], words: str = "", world_size: int | None = None) -> Observations:
    """What is known of the patient by what lines say.

    Args:
        said: of all logs and of the context.
        words: in which a trainer may be named: of the failures and the context.
        world_size: number of ranks, where the logs tell it.

    """
    world = Observations(believed=AFTER_DEATH)
    by_kind: dict[tuple[str, bool, str], list[Said]] = {}
    once: dict[tuple[str, str, str, str, bool], Said] = {}  # ranks and processes say the same
    for each in said:
        once.setdefault((each.owner, each.name, repr(each.value), each.file, each.exact), each)
    for each in once.values():
        by_kind.setdefault((each.file, each.exact, _kind(each.owner)), []).append(each)
    trainer = _trainer_in(words, [each for each in said if _kind(each.owner) == _TRAINING])
    makers: dict[str, Callable[[list[Said]], Made]] = {**_MAKERS, _TRAINING: partial(_training, trainer=trainer)}
    for (file, exact, kind), members in by_kind.items():
        origin = Origin("log" if exact else "pasted", file, members[0].line)
        for name, value in makers[kind](members) if kind in makers else ():
            world.add(Observed(name, value, origin, exact))
    from doctor.facts.world import World

    if world_size is not None:
        world.add(Observed("world", opened(World(processes=world_size), seen={"processes"}), Origin("log")))
    if (nodes := _once(each for each in said if each.name in _NODES).get("NNODES")) and not _has_machines(world):
        address = _once(each for each in said if each.name == "MASTER_ADDR").get("MASTER_ADDR")
        told = _nodes(World(), nodes, address)
        if told is not None:
            world.add(Observed("world", told, Origin("pasted", nodes.file, nodes.line)))
    return world


_NODES = ("NNODES",)


def _has_machines(world: Observations) -> bool:
    """Whether another source has told how many machines there are."""
    told = world.value("world")
    try:
        return told is not None and told.machines is not None
    except NotSeen:
        return False


def _nodes(blank: Any, nodes: Said, address: Said | None) -> Any:
    """How many machines there are and where they meet, as variables of a launch script say; None where none does."""
    if not str(nodes.value).isdigit():
        return None
    from doctor.base.record import replace

    where = str(address.value) if address is not None else None
    told = replace(blank, machines=int(str(nodes.value)), master_addr=where)
    seen = {"machines", "master_addr"} if where else {"machines"}
    return opened(told, seen=seen, teller=_quote(address or nodes))


def _kind(owner: str) -> str:
    return _TRAINING if owner.endswith(("Config", "TrainingArguments")) else owner


def _once(members: Iterable[Said]) -> dict[str, Said]:
    """By name; what is said in two ways is not known."""
    found: dict[str, Said | None] = {}
    for each in members:
        known = found.get(each.name, each)
        same = known is not None and type(known.value) is type(each.value) and known.value == each.value
        found[each.name] = each if same else None
    return {name: each for name, each in found.items() if each is not None and each.value is not UNKNOWN}


def _quote(each: Said) -> Observed:
    """The line, as what an answer rests on; of a long one, a dump of many settings, the one that is meant."""
    origin = Origin("log" if each.exact else "pasted", each.file, each.line)
    text = each.text.strip()
    return Observed(
        each.name, each.value, origin, each.exact, text if len(text) <= _LONG else f"{each.name}={each.value}"
    )


def _settings(members: Mapping[str, Said]) -> dict[str, Observed]:
    return {
        name: Observed.written(
            name, each.value, text=str(each.value), place=Place(each.file, each.line) if each.file else None
        )
        for name, each in members.items()
    }


def _tellers(field: str, members: Mapping[str, Said]) -> dict[str, Observed]:
    return {f"{field}.{name}": _quote(each) for name, each in members.items()}


Made = Iterator[tuple[str, Any]]


def _environment(members: list[Said]) -> Made:
    from doctor.facts.environment import Environment

    found = _once(members)
    variables = {name: str(each.value) for name, each in found.items()}
    yield "environment", opened(Environment(variables), seen=(), teller=_tellers("variables", found))


def _packages(members: list[Said]) -> Made:
    from doctor.facts.packages import Distribution, Packages, normalised
    from doctor.readers.pasted.stated import build_of

    found = {normalised(name): each for name, each in _once(members).items()}
    installed = {name: Distribution(name, str(each.value)) for name, each in found.items()}
    build = build_of(str(found["torch"].value)) if "torch" in found else None
    seen = {"torch_build"} if build is not None else set()
    told = Packages(installed, torch_build=build, source="log")
    yield "packages", opened(told, seen=seen | {"source"}, teller=_tellers("distributions", found))


def _interpreter(members: list[Said]) -> Made:
    from doctor.facts.interpreter import Interpreter

    if version := _once(members).get("python"):
        told = Interpreter("", str(version.value))
        yield "interpreter", opened(told, seen={"version"}, teller=_quote(version))


def _training(members: list[Said], trainer: str | None) -> Made:
    """Arguments of one class; of the user's own lines the class may be told elsewhere."""
    from doctor.facts.training import Training

    classes = {each.owner for each in members if each.owner != _TRAINING}
    if len(classes) > 1:
        return
    name = next(iter(classes), trainer)
    found = {name: each for name, each in _once(members).items() if name}
    nested = {key: each for key, each in found.items() if "." in key}
    plain = {key: each for key, each in found.items() if "." not in key}
    # what the process had in the end: nothing was set behind these, and the variables that it shows are its own
    seen = {"set_later", "shared", "trainer_origin", "config_origin", "environment_set"}
    known = data.trl_class(name) is not None if name else False
    told = Training(
        config_class=name, config_origin=f"trl.{name}" if known else "", arguments=_settings(plain),
        nested=_settings(nested),
    )  # fmt: skip
    seen |= {"config_class"} if name else set()
    yield "training", opened(told, seen=seen, teller={"": _quote(members[0]), **_tellers("arguments", found)})


def _serving(members: list[Said]) -> Made:
    from doctor.facts.serving import Serving

    found = _once(members)
    fields: dict[str, Any] = {}
    for name, each in found.items():
        if (field := _SERVING_FIELDS.get(name)) is not None and each.value is not None:
            fields.setdefault(field, each.value)
    told = Serving("vllm-serve", arguments=_settings(found), **fields)
    tellers = {"": _quote(members[0]), **_tellers("arguments", found)}
    yield "serving", opened(told, seen=set(fields), teller=tellers)


def _verl(members: list[Said]) -> Made:
    from doctor.facts.verl_config import VerlConfig

    found = _once(members)
    told = VerlConfig("verl.trainer.main_ppo", overrides=_settings(found))
    yield "verl_config", opened(told, seen={"absent", "broken"}, teller=_tellers("overrides", found))


def _deepspeed(members: list[Said]) -> Made:
    from doctor.facts.deepspeed_config import DeepspeedConfig

    found = _once(members)
    whole = len(found) == len({each.name for each in members})
    seen = {"path", "broken", "repeated_keys", "named_by", *({"settings"} if whole else ())}
    told = DeepspeedConfig(None, _settings(found))
    yield "deepspeed_config", opened(told, seen=seen, teller=_tellers("settings", found))


def _accelerate(members: list[Said]) -> Made:
    from doctor.facts.accelerate_config import AccelerateConfig

    found = _once(members)
    whole = len(found) == len({each.name for each in members}) and _LAST_OF_ACCELERATE in found
    seen = {"path", "broken", "repeated_keys", *({"settings"} if whole else ())}
    told = AccelerateConfig(members[0].file or "accelerate's configuration", _settings(found))
    yield "accelerate_config", opened(told, seen=seen, teller=_tellers("settings", found))


def _gpus(members: list[Said]) -> Made:
    from doctor.facts.gpus import Gpu, Gpus
    from doctor.readers.pasted.capability import capability

    cards: dict[int, dict[str, Any]] = {}
    for name, each in _once(members).items():
        number, _, field = name.partition(".")
        cards.setdefault(int(number), {})[field] = each.value
    rows = []
    for index, values in sorted(cards.items()):
        if (able := capability(values.get("name") or "")) is not None:
            values["compute_capability"] = able
        rows.append(opened(Gpu(index, **values), seen={"index", *values}, teller=_quote(members[0])))
    yield "gpus", opened(Gpus(gpus=partly(rows, "gpus", "gpus")), seen={"gpus"}, teller=_quote(members[0]))


def _launched(members: list[Said]) -> Made:
    """The one command of a launch, and what its own words make known."""
    from doctor.logs.told.launched import facts_of

    # each machine shows its own of one launch; the one that is not the first tells more of how they meet
    commands = {tuple(_MACHINE.sub("", word) for word in _paired(each.value)): each for each in members}
    if len(commands) == 1:
        shown = next((each for each in members if not _FIRST.search(" ".join(each.value))), members[0])
        for name, value in facts_of(shown.value, _quote(shown)):
            written = name == "training" and not shown.exact  # by a person, who may leave words out
            yield name, opened(value) if written else value


def _paired(words: Sequence[str]) -> Iterator[str]:
    """Words, an option together with its value where that stands behind it: `--node_rank 1`."""
    left = list(words)
    while left:
        word = left.pop(0)
        behind = left and word in _RANK_OPTIONS and not left[0].startswith("-")
        yield f"{word}={left.pop(0)}" if behind else word


_RANK_OPTIONS = frozenset({"--node_rank", "--node-rank", "--machine_rank"})
_MACHINE = later(r"(?:(?:--(?:node|machine)[_-]rank)|NODE_RANK)=\d{1,5}\Z")
_FIRST = later(r"(?:--(?:node|machine)[_-]rank[= ]|\bNODE_RANK=)0(?!\d)")


def _tables(members: list[Said]) -> Made:
    """Facts that a table tells whole; of two different tables none."""
    yield from ((name, each.value) for name, each in _once(members).items())


_MAKERS: Mapping[str, Callable[[list[Said]], Made]] = {
    "variable": _environment, "package": _packages, "python": _interpreter, "vllm": _serving, "verl": _verl,
    "deepspeed": _deepspeed, "accelerate": _accelerate, "gpu": _gpus, "command": _launched, "fact": _tables,
}  # fmt: skip


def _trainer_in(words: str, settings: Iterable[Said]) -> str | None:
    """The configuration class that the run fills, where words or an argument of one class alone tell it."""
    named = {f"{match['name']}Config" for match in _TRAINER.finditer(words)}
    if len(named) == 1:
        return named.pop()
    if named:
        return None
    for each in settings:
        owners = [name for name in _CLASSES if data.trl_argument(name, each.name) is not None]
        if len(owners) == 1 and data.training_argument(each.name) is None:
            return owners[0]
    return None
