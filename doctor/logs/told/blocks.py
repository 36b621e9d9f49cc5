"""What several lines tell together: printed configurations, argument classes, tables of packages and cards."""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence

from doctor.base.evidence import UNKNOWN
from doctor.base.patterns import later
from doctor.base.redact import hide
from doctor.logs.lines.prefixes import strip
from doctor.logs.told.lines import ARGUMENTS, is_of_the_stack
from doctor.logs.told.said import Said, flattened, members, value_of

#: (number, message) of the lines of one process, in their order
Lines = Sequence[tuple[int, str]]

_LONGEST_BLOCK = 700  # lines: a printed configuration of veRL has some 400
_CLASS = later(r"(?:^|[\s=(])(?P<class>(?:[A-Z]\w{0,40})?(?:TrainingArguments|Config|Arguments))\((?P<rest>.*)$")
#: classes of TRL and Transformers whose arguments are a training's
_OF_TRAINING = later(r"(?:Seq2Seq)?TrainingArguments\Z|(?:GRPO|SFT|DPO|RLOO|KTO|ORPO|PPO|OnlineDPO|GKD|Reward)Config\Z")
#: https://github.com/verl-project/verl/blob/v0.5.0/verl/trainer/main_ppo.py prints `OmegaConf.to_container` by pprint
_VERL_DICT = later(
    r"^\{'(?:actor_rollout_ref|algorithm|data|trainer|critic|custom_reward_function|ray_init|ray_kwargs)'"
)
_VERL_YAML = later(r"^(?:actor_rollout_ref|algorithm|custom_reward_function|ray_init|ray_kwargs):\s*$")
_YAML_LINE = later(r"^(?:\s+\S|[a-z_]+:(?:\s|$)|- )")
#: https://github.com/deepspeedai/DeepSpeed/blob/v0.16.0/deepspeed/runtime/config.py (`print_user_config`)
_DEEPSPEED = "json = {"
#: accelerate's own file, printed or pasted, whose keys it writes in their order, and what `accelerate env` prints of it
#: https://github.com/huggingface/accelerate/blob/v1.6.0/src/accelerate/commands/config/config_args.py
#: https://github.com/huggingface/accelerate/blob/v1.6.0/src/accelerate/commands/env.py
_ACCELERATE = later(r"^(?P<listed>\s*- )?compute_environment: ?[\"']?(?:LOCAL_MACHINE|AMAZON_SAGEMAKER)\b")
#: a file of YAML with a training's settings, printed or pasted
_SETTING = later(r"^\s*(?P<name>[a-z]\w{1,60}): +(?P<value>[^\s#{\[&*|>][^#\n]{0,80}?)\s*(?:#.*)?$")
_LISTED = later(r"^\s*- (?P<name>[a-z_]{1,60}): ?(?P<value>.*?)\s*$")
#: a variable of a container of Kubernetes
#: https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/
_NAMED = later(r"^\s*- name: [\"']?(?P<name>[A-Z][A-Z0-9_]{3,60})[\"']?\s*$")
_VALUED = later(r"^\s+value: (?P<quote>[\"']?)(?P<value>[^\s\"'$]{1,200})(?P=quote)\s*$")
_FEWEST = 3  # lines of a file of settings
_TABLE = later(r"^\s*(?:\| NVIDIA-SMI \d|Package\s+Version\b)")
_BEGINNINGS = (
    _DEEPSPEED, "TrainingArguments(", "Config(", "{'", "actor_rollout_ref:", "algorithm:", "custom_reward_function:",
    "ray_init:", "ray_kwargs:", "NVIDIA-SMI ", "Package  ", "compute_environment:", "- name: ",
    "per_device_train_batch_size:", "gradient_checkpointing:",
)  # fmt: skip


def of_block(lines: Lines, place: int) -> Iterator[Said]:
    """What begins at a line and goes on in those behind it.

    Args:
        lines: as they stand in the log; what stands in front of a message is cut off.
        place: of the line that may begin a block.

    """
    text = strip(lines[place][1]).text
    for begins, read in _READERS:
        if begins(text):
            block = lines[place : place + _LONGEST_BLOCK]
            yield from read([(number, strip(each).text) for number, each in block])
            return


def begins_block(text: str) -> bool:
    """Whether a line, as it stands in the log, may begin a block; cheap, for it is asked of many lines."""
    return any(each in text for each in _BEGINNINGS)


def _balanced(lines: Lines, opening: str) -> tuple[str, int] | None:
    """The text from an opening bracket to the one that closes it, and how many lines it takes."""
    depth, quote, text = 0, "", ""
    for count, (_, line) in enumerate(lines, 1):
        part = line[line.index(opening) :] if count == 1 else line
        for place, letter in enumerate(part):
            if quote:
                quote = "" if letter == quote and part[place - 1 : place] != "\\" else quote
            elif letter in "'\"":
                quote = letter
            elif letter in "([{":
                depth += 1
            elif letter in ")]}":
                depth -= 1
                if depth == 0:
                    return text + part[: place + 1], count
        quote = ""
        text += part + "\n"
    return None


def _verl_dict(lines: Lines) -> Iterator[Said]:
    found = _balanced(lines, "{")
    if found is None:
        return
    try:
        value = ast.literal_eval(found[0])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return
    yield from _leaves("verl", value, lines[: found[1]])


def _verl_yaml(lines: Lines) -> Iterator[Said]:
    yield from _yaml("verl", lines, omegaconf=True)


def _yaml(owner: str, lines: Lines, *, omegaconf: bool = False) -> Iterator[Said]:
    from doctor.readers.files.yaml_positions import parse_yaml

    end = next((place for place, (_, text) in enumerate(lines) if text and not _YAML_LINE.match(text)), len(lines))
    located = parse_yaml("\n".join(text for _, text in lines[:end]) + "\n", "", omegaconf=omegaconf)
    for name, each in located.settings.items():
        number, text = lines[(each.place.line or 1) - 1] if each.place is not None else lines[0]
        yield Said(owner, name, each.value if each.known else UNKNOWN, number, text)


def _accelerate(lines: Lines) -> Iterator[Said]:
    """A file of accelerate: which one a launch reads nobody says, so it is not a program's own word."""
    begins = _ACCELERATE.match(lines[0][1])
    found = _listed(lines) if begins is not None and begins["listed"] else _yaml("accelerate", lines)
    yield from (each._replace(exact=False) for each in found)


def _listed(lines: Lines) -> Iterator[Said]:
    for number, text in lines:
        if (field := _LISTED.match(text)) is None:
            return
        value = value_of(field["value"])
        members = flattened(value) if isinstance(value, dict) else [("", value)]
        for name, each in members:
            yield Said("accelerate", f"{field['name']}.{name}".rstrip("."), each, number, text.strip())


def _deepspeed(lines: Lines) -> Iterator[Said]:
    found = _balanced(lines, "{")
    if found is None:
        return
    try:
        value = json.loads(found[0])
    except ValueError:
        return
    yield from _leaves("deepspeed", value, lines[: found[1]])


def _leaves(owner: str, value: dict[str, object], lines: Lines) -> Iterator[Said]:
    """Every setting of a nested configuration, each with the first line that has its last name."""
    where: dict[str, tuple[int, str]] = {}
    for number, text in lines:
        for name in re.findall(r"['\"]([\w.\-]+)['\"]\s*:", text):
            where.setdefault(name, (number, text))
    for dotted, each in flattened(value):
        number, text = where.get(dotted.rpartition(".")[2], lines[0])
        yield Said(owner, dotted, hide(dotted, each) if isinstance(each, str) else each, number, text.strip())


def _of_training(text: str) -> bool:
    match = _CLASS.search(text)
    return match is not None and _OF_TRAINING.match(match["class"]) is not None


def _arguments(lines: Lines) -> Iterator[Said]:
    """`TrainingArguments(` with a field a line, as Transformers prints it, or a call in a line of code."""
    number, text = lines[0]
    match = _CLASS.search(text)
    if match is None:
        return
    owner, rest = match["class"], match["rest"].strip()
    exact = not rest  # printed; else a line of the user's code
    yield Said(owner, "", None, number, text, exact)
    if rest:
        for name, value in members(f"({rest}"):
            yield Said(owner, name, _hidden(name, value_of(value)), number, text, exact=False)
        return
    for line, each in lines[1:]:
        field = re.match(r"\s*(?P<name>[a-z_][a-z0-9_]*)=(?P<value>.*?),?\s*$", each)
        if field is None:
            return
        yield Said(owner, field["name"], _hidden(field["name"], value_of(field["value"])), line, each.strip())


def _is_setting(text: str) -> bool:
    match = _SETTING.match(text)
    return match is not None and match["name"] in ARGUMENTS


def _settings(lines: Lines) -> Iterator[Said]:
    """A training's settings, one a line among others: one alone may be what somebody advises."""
    fields = ((number, text, _SETTING.match(text)) for number, text in lines)
    block = [
        (number, text, field) for number, text, field in itertools.takewhile(lambda each: each[2], fields) if field
    ]
    told = [each for each in block if each[2]["name"] in ARGUMENTS]
    if len(block) >= _FEWEST or len(told) > 1:
        for number, text, field in told:
            yield Said("training", field["name"], value_of(field["value"]), number, text.strip(), exact=False)


def _report(lines: Lines) -> Iterator[Said]:
    """Tables of packages and of cards, as their own programs print them."""
    from doctor.readers.pasted import read_report

    number, text = lines[0]
    for name, state in read_report("\n".join(each for _, each in lines), "the log").items():
        if state.status == "ok":
            yield Said("fact", name, state.value, number, text.strip())


def _variable(lines: Lines) -> Iterator[Said]:
    """A name, and its value in the line below."""
    name = _NAMED.match(lines[0][1])
    value = _VALUED.match(lines[1][1]) if len(lines) > 1 else None
    if name is not None and value is not None and is_of_the_stack(name["name"]):
        number, text = lines[1]
        yield Said("variable", name["name"], hide(name["name"], value["value"]), number, text.strip())


def _hidden(name: str, value: object) -> object:
    return hide(name, value) if isinstance(value, str) else value


_READERS: tuple[tuple[Callable[[str], object], Callable[[Lines], Iterator[Said]]], ...] = (
    (_VERL_DICT.match, _verl_dict),
    (_VERL_YAML.match, _verl_yaml),
    (lambda text: _DEEPSPEED in text, _deepspeed),
    (_ACCELERATE.match, _accelerate),
    (_of_training, _arguments),
    (_is_setting, _settings),
    (_TABLE.match, _report),
    (_NAMED.match, _variable),
)
