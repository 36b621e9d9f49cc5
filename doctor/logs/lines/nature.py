"""What was given as a log where it shows nothing of a run: no text at all, wandb's own log, or something else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import PurePath

from doctor.base.patterns import later

EMPTY, BINARY, WANDB, FOREIGN = "empty", "binary", "wandb", "foreign"
#: a collection of problems, see `doctor.logs.lines.notes`
NOTES = "notes"

#: text copied out of a terminal that had broken its lines
WRAPPED = "wrapped"
#: nothing but zero bytes
ZEROS = "zeros"

_ZIP = "PK\x03\x04"
_SAMPLE = 300  # lines, from the beginning and as many from the end
_LONGEST = 2_000  # characters of a line
_MOST_NO_TEXT, _MOST_OWN = 0.05, 0.6  # shares
#: neither text nor what terminals understand; zeros alone are what a truncated log leaves on the disk
_NO_TEXT = later("[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
#: wandb's debug.log, and debug-internal.log and debug-core.log of its newer service
#: https://github.com/wandb/wandb/blob/main/wandb/sdk/wandb_setup.py
_WANDB = later(
    r'\{"time": ?"[^"\n]{10,40}", ?"level": ?"[A-Z]{4,5}", ?"msg": ?"'
    r"|20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]{4,8} {1,5}\w[\w-]{1,40}:\d{1,9} {1,3}"
    r"\[\w{1,40}\.py:[\w.]{1,60}(?:\(\))?:\d{1,6}\]"
)
#: columns of terminals, and words cut at the last one that tell of it
_NARROWEST, _WIDEST, _FEWEST_CUTS = 60, 260, 3
_CUT = later(r"^\w\w$")
#: files of other kinds by their names; a log that is called so shows a step or a failure
_OTHER_FILES = frozenset({".py", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".sh", ".json", ".ipynb", ".csv", ".html"})
#: one of these is in nearly every line that a trainer, a server or a launcher prints
_OF_RUNS = later(
    r"\b(?:torch\w*|cuda|nccl|gpus?|rocm|npu|vllm|sglang|deepspeed|megatron|transformers|accelerate|trl|verl|grpo|ppo"
    r"|dpo|sft|ray\w*|wandb|epochs?|steps?|loss|rewards?|checkpoints?|ranks?|train\w*|fine-?tun\w+|models?|datasets?"
    r"|token\w*|gradients?|optimizers?|llama\w*|qwen\w*|lora|batch\w*|rollouts?|slurm\w*|srun|pip|conda|python\w*"
    r"|error|fail\w*|warning|exception)\b",
    re.IGNORECASE,
)


def nature_of(path: str, lines: Sequence[tuple[int, str]]) -> str:
    """What a file is that shows neither a failure nor progress: one of the words above, "" for a log of a run.

    Args:
        path: of the file, for its name.
        lines: (number, text) of what was kept of it, the beginning and the end among it.

    """
    texts = [text[:_LONGEST] for _, text in (*lines[:_SAMPLE], *lines[max(_SAMPLE, len(lines) - _SAMPLE) :])]
    told = [text for text in texts if text.strip(" \t\r\0")]
    if not told:
        return ZEROS if any("\0" in text for text in texts) else EMPTY
    if told[0].startswith(_ZIP) or sum(len(_NO_TEXT.findall(text)) for text in told) > _MOST_NO_TEXT * sum(
        map(len, told)
    ):
        return BINARY
    if sum(_WANDB.match(text) is not None for text in told) > _MOST_OWN * len(told):
        return WANDB
    if _is_wrapped(told):
        return WRAPPED
    if PurePath(path).suffix in _OTHER_FILES or not any(_OF_RUNS.search(text) for text in told):
        return FOREIGN
    return ""


def _is_wrapped(told: Sequence[str]) -> bool:
    """Whether most lines end at one column, no line goes beyond it, and words are cut there.

    Lines of a table have one width as well, and end in its border; lines that a program prints step by step have one by
    chance, and begin alike.
    """
    width = max(map(len, told))
    full = sum(len(text) == width for text in told)
    if not _NARROWEST <= width <= _WIDEST or full * 2 < len(told):
        return False
    cuts = (
        len(one) == width and bool(_CUT.match(one[-1] + two[0])) and one.split()[:1] != two.split()[:1]
        for one, two in itertools.pairwise(told)
    )  # fmt: skip
    return sum(cuts) >= _FEWEST_CUTS
