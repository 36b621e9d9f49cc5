"""Pieces of a pasted text that are code or configuration: statements of Python, JSON, YAML, launch commands, overrides.

A thread quotes its script between prose and log lines. What parses as a statement of Python, as an object of JSON or as
YAML with the keys of a framework is that; all other lines are none of it. Nothing is run.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import mutable

#: lines of a text that is read so: a pasted thread, never the log of a training
MOST_LINES = 400
_LONGEST = 4_000  # characters of a line
_STATEMENT = 150  # lines of one
#: lines of a block of Python that is read although nothing in it configures a training: patterns of code may be in it
_BLOCK = 3
#: calls that make a statement worth reading
CALLS = later(
    r"\b(?:[A-Z]\w*Config|\w*(?:Trainer|TrainingArguments)|LLM|SamplingParams|FastLanguageModel\.\w+|\w*[Mm]odel\w*"
    r"\.from_pretrained|get_peft_model|TrlParser|HfArgumentParser|apply_chat_template|train_on_responses_only"
    r"|re\.(?:match|search|fullmatch|findall)|\w*(?:loss|masked_mean|kl_penalty)\w*|rewards\.(?:view|reshape)|DistributedSampler|DataLoader"
    r"|accelerator\.\w+|dist(?:ributed)?\.\w+|[Tt]rainer\.(?:save_model|evaluate)|(?:add_special_)?tokens|\w+\.wake_up)\("
)
_BEGINS = later(
    r"(?:import|from|def|class|if|for|while|with|try|@|async)\b|@|[A-Za-z_][\w.\[\]'\", ]{0,120}\s*(?:=(?!=)|\()"
)
_HEAD = later(r"(?:async\s+)?(?:def|class|if|for|while|with|try|elif|else|except|finally)\b.*|@.*")
_GOES_ON = later(r"(?:elif|else|except|finally)\b")
_QUOTED = later(r"^(?:>>> |\.\.\. |> )")
_DOTS = later(r",\s*(?:\.\.\.|…)(?=\s*[,)])")
_FRAME = later(r"^\s*File \"[^\"]+\", line \d+")
_SIMPLE = (ast.Import, ast.ImportFrom, ast.Assign, ast.AugAssign)
_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.With, ast.Try)
#: sections of DeepSpeed's JSON (https://www.deepspeed.ai/docs/config-json/)
_DEEPSPEED = frozenset({
    "zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps", "fp16",
    "bf16", "optimizer", "scheduler", "gradient_clipping", "zero_allow_untested_optimizer", "activation_checkpointing",
    "wall_clock_breakdown", "steps_per_print", "zero_force_ds_cpu_optimizer", "communication_data_type",
})  # fmt: skip
#: keys of the file that `accelerate config` writes
#: (https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/commands/config/config_args.py)
_ACCELERATE = frozenset({
    "compute_environment", "distributed_type", "mixed_precision", "num_processes", "num_machines", "machine_rank",
    "deepspeed_config", "fsdp_config", "main_training_function", "rdzv_backend", "same_network", "use_cpu", "gpu_ids",
    "main_process_port", "main_process_ip", "downcast_bf16", "debug", "enable_cpu_affinity", "parallelism_config",
})  # fmt: skip
_OF_ACCELERATE = frozenset({"distributed_type", "deepspeed_config", "fsdp_config"})
_KEY = later(r"^(?P<key>[a-z_]\w{1,60}):(?:\s|$)")
_OF_YAML = later(r"^(?:\s+\S|[a-z_]\w*:(?:\s|$)|- )")
_OVERRIDE = later(r"(?<!\S)\+{0,2}(?P<name>[a-z_]\w{1,60}(?:\.\w{1,60}){1,6})=(?P<value>'[^']*'|\"[^\"]*\"|[^\s\\,]+)")
_VERL = ("actor_rollout_ref.", "algorithm.", "data.", "trainer.", "critic.", "reward_model.", "custom_reward_function.")
_ELIDED = ("...", "…")

#: (number, text), numbers from 1
Lines = Sequence[tuple[int, str]]


@mutable
class Pieces:
    """What of a text is code or configuration.

    Args:
        python: the text with all lines blank that are no statements, so that line numbers stay those of the text.
        deepspeed: (first line, settings) of each JSON or dictionary with DeepSpeed's sections.
        accelerate: (first line, text) of each YAML with accelerate's keys.
        verl: (line, name, value) of overrides.
        commands: (line, command), continuation lines joined.
        taken: numbers of the lines that are read so.

    """

    python: str = ""
    deepspeed: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    accelerate: list[tuple[int, str]] = field(default_factory=list)
    verl: list[tuple[int, str, str]] = field(default_factory=list)
    commands: list[tuple[int, str]] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)


def pieces_in(lines: Lines) -> Pieces:
    """Take a text apart; nothing of one that is longer than a pasted text is."""
    found = Pieces()
    if not 0 < len(lines) <= MOST_LINES or any(len(text) > _LONGEST for _, text in lines):
        return found
    _python(lines, found)
    rest = [(number, "" if number in found.taken else text) for number, text in lines]
    _json(rest, found)
    _yaml(rest, found)
    _commands(rest, found)
    _overrides(rest, found)
    if found.taken:
        found.taken |= {number for number, text in lines if text.lstrip().startswith("# ")}
    return found


# --- Python ---


def _python(lines: Lines, found: Pieces) -> None:
    """Keep the statements, where one of them calls what configures a training, or is a block of several lines."""
    if not any(CALLS.search(text) or _HEAD.match(text.lstrip()) for _, text in lines):
        return
    texts = [_unelided(_QUOTED.sub("", text)) for _, text in lines]
    kept: dict[int, str] = {}
    calling: set[int] = set()
    place = 0
    while place < len(texts):
        if place and _FRAME.match(texts[place - 1]):
            place += 1  # a library's line or the user's, in a frame: a part of a statement
            continue
        count, tree = _statement(texts, place)
        if tree is not None:
            indent = len(texts[place]) - len(texts[place].lstrip())
            kept.update((each, texts[each][indent:]) for each in range(place, place + count))
            if count >= _BLOCK or CALLS.search("\n".join(texts[place : place + count])):
                calling.update(range(place, place + count))
            found.deepspeed += _dictionaries(tree, lines[place][0])
        place += max(1, count)
    if calling:
        last = max(number for number, _ in lines)
        rows = dict.fromkeys(range(1, last + 1), "")
        rows.update((lines[each][0], text) for each, text in kept.items())
        found.python = "\n".join(rows.values()) + "\n"
        found.taken |= {lines[each][0] for each in kept}


def _unelided(text: str) -> str:
    """A line without the dots that stand for what was left out."""
    return "" if text.strip() in ("...", "…", "....", "...,") else _DOTS.sub("", text)


def _statement(texts: Sequence[str], place: int) -> tuple[int, ast.stmt | None]:
    """The statement that begins at a line: how many lines it takes, and its tree; (0, None) where there is none."""
    first = texts[place]
    indent = len(first) - len(first.lstrip())
    if not _BEGINS.match(first.lstrip()):
        return 0, None
    end = _body(texts, place, indent) if _HEAD.match(first.lstrip()) else _closed(texts, place)
    if end is None:
        return 0, None
    source = "\n".join(each[indent:] for each in texts[place:end])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0, None
    if len(tree.body) != 1 or not _is_code(tree.body[0]):
        return 0, None
    return end - place, tree.body[0]


def _is_code(node: ast.stmt) -> bool:
    """Whether a statement is one that a script has, and no word, number or dictionary that happens to parse."""
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(value, ast.Call)
    return isinstance(node, (*_SIMPLE, *_COMPOUND))


def _closed(texts: Sequence[str], place: int) -> int | None:
    """Behind the line that closes the brackets of a simple statement."""
    depth, quote = 0, ""
    for at in range(place, min(len(texts), place + _STATEMENT)):
        text, index = texts[at], 0
        while index < len(text):
            if quote:
                if text[index] == "\\":
                    index += 1
                elif text.startswith(quote, index):
                    index += len(quote) - 1
                    quote = ""
            elif text[index] in "'\"":
                triple = text[index] * 3
                quote = triple if text.startswith(triple, index) else text[index]
                index += len(quote) - 1
            elif text[index] == "#":
                break
            else:
                depth += (text[index] in "([{") - (text[index] in ")]}")
            index += 1
        quote = quote if len(quote) == 3 else ""
        if depth <= 0 and not quote and not text.rstrip().endswith("\\"):
            return at + 1
    return None


def _body(texts: Sequence[str], place: int, indent: int) -> int | None:
    """Behind the last line of a compound statement."""
    if (at := _closed(texts, place)) is None:
        return None
    decorated = texts[place].lstrip().startswith("@")
    while at < len(texts) and at < place + _STATEMENT:
        text = texts[at]
        deeper = not text.strip() or len(text) - len(text.lstrip()) > indent
        if decorated and (closed := _closed(texts, at)) is not None:
            decorated = text.lstrip().startswith("@")
            at = closed
        elif deeper:
            at += 1
        elif _GOES_ON.match(text.lstrip()) and (closed := _closed(texts, at)) is not None:
            at = closed
        else:
            break
    while at > place + 1 and not texts[at - 1].strip():
        at -= 1
    return at


def _dictionaries(tree: ast.stmt, first: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """DeepSpeed's sections in a dictionary of the code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            try:
                value = ast.literal_eval(node)
            except (ValueError, TypeError, RecursionError, MemoryError):
                continue
            if _is_deepspeed(value):
                yield first + node.lineno - 1, value


# --- configurations ---


def _is_deepspeed(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    known = _DEEPSPEED.intersection(key for key in value if isinstance(key, str))
    return len(known) >= 2 and ("zero_optimization" in known or "train_micro_batch_size_per_gpu" in known)


def _json(lines: Lines, found: Pieces) -> None:
    """Objects that stand by themselves: JSON, or a dictionary."""
    place = 0
    while place < len(lines):
        text = lines[place][1]
        end = _closed([each for _, each in lines], place) if text.lstrip().startswith("{") else None
        if end is None:
            place += 1
            continue
        body = "\n".join(each for _, each in lines[place:end])
        value = _object(body)
        if _is_deepspeed(value):
            found.deepspeed.append((lines[place][0], value))
            found.taken |= {number for number, _ in lines[place:end]}
        place = end


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _yaml(lines: Lines, found: Pieces) -> None:
    """Blocks of YAML with accelerate's keys."""
    place = 0
    while place < len(lines):
        end = place
        while end < len(lines) and _OF_YAML.match(lines[end][1]):
            end += 1
        block = lines[place:end]
        keys = {match["key"] for _, text in block if (match := _KEY.match(text))}
        if len(keys & _ACCELERATE) >= 3 and keys & _OF_ACCELERATE:
            found.accelerate.append((block[0][0], "\n".join(text for _, text in block) + "\n"))
            found.taken |= {number for number, _ in block}
        place = max(end, place + 1)


# --- command lines ---


def _commands(lines: Lines, found: Pieces) -> None:
    """Commands with their continuation lines; one of which words are left out is none."""
    from doctor.logs.told.lines import commands

    for number, text, numbers in _joined(lines):
        if any(mark in text for mark in (*_ELIDED, "<", "$")) or not any(commands(text, number)):
            continue
        found.commands.append((number, text))
        found.taken |= numbers


def _joined(lines: Lines) -> Iterator[tuple[int, str, set[int]]]:
    """(first line, text, lines) of each line with those that continue it."""
    parts: list[str] = []
    numbers: list[int] = []
    for number, text in lines:
        ends = text.rstrip().endswith("\\")
        parts.append(text.rstrip().rstrip("\\").strip() if ends else text.strip())
        numbers.append(number)
        if not ends:
            yield numbers[0], " ".join(parts), set(numbers)
            parts, numbers = [], []
    # what a backslash continues and the text does not is cut off


def _overrides(lines: Lines, found: Pieces) -> None:
    """Overrides of veRL's settings, on lines without their command."""
    if not any("actor_rollout_ref." in text for _, text in lines):
        return
    for number, text in lines:
        if number in found.taken:
            continue
        for match in _OVERRIDE.finditer(text):
            if match["name"].startswith(_VERL):
                found.verl.append((number, match["name"], match["value"]))
