"""Rollout dumps in JSON lines: veRL's, Trinity-RFT's, and tables of prompt, completion and rewards as TRL names them.

veRL writes `<step>.jsonl` under `trainer.rollout_data_dir` with `input, output, score, step`, newer ones `gts`, and a
column for each figure that the reward function returned beside the score (0.4 to 0.9, `_dump_generations`):
https://github.com/volcengine/verl/blob/main/verl/trainer/ppo/ray_trainer.py
Trinity-RFT's file storage writes one experience a line: `eid, prompt_text, response_text, messages, reward, metrics,
truncate_status` (0.3 to 0.6, `Experience.to_dict`):
https://github.com/modelscope/Trinity-RFT/blob/main/trinity/common/experience.py
SkyRL dumps evaluations alone as text: `global_step_<n>_evals/<data source>.jsonl` with `input_prompt, output_response,
score, stop_reason` (`dump_per_dataset_eval_results`); its score may be one reward a token.
https://github.com/NovaSky-AI/SkyRL/blob/main/skyrl/train/utils/trainer_utils.py
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from doctor.logs.read.streams import StreamError, open_stream
from doctor.logs.rollouts import nemo, results
from doctor.logs.rollouts.sample import (
    ENDS,
    DumpNotReadable,
    Sample,
    answer_of,
    episode_of,
    missing_is_nan,
    number,
    text_of,
    whole,
)

#: no answer makes a longer line; what is longer is passed over and counted
LONGEST_LINE = 64 << 20
_PEEK_BYTES = 1 << 20
#: an advantage below is 0
_ROUNDING = 1e-6

#: SkyRL's folder of one evaluation
_SKYRL_FOLDER = re.compile(r"global_step_(\d{1,11})_evals")

Row = dict[str, Any]


def kind_of(row: Mapping[str, Any]) -> str:
    """Who wrote a row, one of `_MAKERS`; "" for no rollout (a dataset has answers and no reward)."""
    if {"input", "output", "score"} <= row.keys():
        return "verl"
    if {"input_prompt", "output_response", "score"} <= row.keys():
        return "skyrl"
    if "eid" in row and ("response_text" in row or "messages" in row or "reward" in row):
        return "trinity"
    answered = "completion" in row or "response" in row
    if "prompt" in row and answered and ("reward" in row or "advantage" in row):
        return "trl"
    if nemo.is_row(row):
        return "nemo"
    return "episodes" if results.is_row(row) else ""


def sniff(path: Path) -> str:
    """Kind of the dump at `path` by its first line; "" for everything else.

    Datasets have such columns too, so a step must stand in the row or be the file's name.
    """
    first = b""
    try:
        with open_stream(path) as stream:
            for chunk in stream:
                first += chunk
                if b"\n" in chunk or len(first) > _PEEK_BYTES:
                    break
        row = json.loads(first.partition(b"\n")[0])
    except (StreamError, ValueError, RecursionError):
        return ""
    if not isinstance(row, dict):
        return ""
    kind = kind_of(row)
    told = kind in ("trinity", "episodes") or "step" in row or _step_named(path) is not None
    return kind if kind and told else ""


def _step_named(path: Path) -> int | None:
    """Step in a file's name: veRL's `120.jsonl`, NeMo-RL's `train_data_step120.jsonl`."""
    if match := nemo.NAME.fullmatch(path.name):
        return int(match[1])
    stem = path.name.partition(".")[0]
    if stem.isdigit() and len(stem) < 12:
        return int(stem)
    folder = _SKYRL_FOLDER.fullmatch(path.parent.name)
    return int(folder[1]) if folder else None


class Reader:
    """Samples of one file, a line at a time.

    Attributes:
        unread: lines that are no JSON object of the kind, or too long; a torn last line is one.

    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.unread = 0

    def __iter__(self) -> Iterator[Sample]:
        """Read the file once.

        Raises:
            DumpNotReadable: it cannot be opened or unpacked.

        """
        named = _step_named(Path(self.path))
        try:
            with open_stream(self.path) as stream:
                for number_, line in self._lines(stream):
                    sample = self._sample(line, number_, named)
                    if sample is not None:
                        yield sample
        except StreamError as error:
            raise DumpNotReadable(str(error)) from None

    def _lines(self, chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        tail, count = b"", 0
        held: list[bytes] = []  # a line of many portions is joined once
        size = 0
        for chunk in chunks:
            parts = chunk.split(b"\n")
            for part in parts[:-1]:
                count += 1
                held.append(part)
                if size + len(part) <= LONGEST_LINE:
                    yield count, b"".join(held)
                else:
                    self.unread += 1
                held, size = [], 0
            tail = parts[-1]
            size += len(tail)
            if size <= LONGEST_LINE:
                held.append(tail)
            else:
                held = []
        if size > LONGEST_LINE:
            self.unread += 1
        elif held:
            yield count + 1, b"".join(held)

    def _sample(self, line: bytes, at: int, named: int | None) -> Sample | None:
        if not line.strip():
            return None
        try:
            row = json.loads(line)
            kind = kind_of(row) if isinstance(row, dict) else ""
        except (ValueError, RecursionError):
            kind = ""
        if not kind:
            self.unread += 1
            return None
        try:
            sample = _MAKERS[kind](row, self.path, at)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
            self.unread += 1  # a row whose fields are of other kinds than any writer gives them
            return None
        if sample.step is None:
            sample.step = named
        return sample


_VERL_COLUMNS = frozenset({"input", "output", "gts", "score", "step", "uid", "request_id"})


def _skyrl(row: Row, path: str, at: int) -> Sample:
    """A row of SkyRL, by veRL's names."""
    score = row["score"]
    figures = [number(each) for each in score] if isinstance(score, list) else []
    if figures and None not in figures:
        score = sum(each for each in figures if each is not None)
    others = {name: row[name] for name in ENDS if name in row}
    named = {**others, "input": row["input_prompt"], "output": row["output_response"], "score": score}
    return _verl(named, path, at)


def _verl(row: Row, path: str, at: int) -> Sample:
    uid = row.get("uid")  # `<prompt>_<rollout>_<output>` from 0.9 on
    return Sample(
        step=whole(row.get("step")),
        group=uid.rsplit("_", 2)[0] if isinstance(uid, str) and uid.count("_") >= 2 else hash(str(row["input"])),
        text=text_of(row["output"]),
        reward=missing_is_nan(row["score"]),
        file=path,
        line=at,
        parts=_parts(row, _VERL_COLUMNS),
        episode=episode_of(row, row["output"], missing_is_nan(row["score"])),
    )


def _parts(row: Mapping[str, Any], others: frozenset[str]) -> dict[str, float]:
    """Columns that hold a figure; None stands for NaN only where the name is that of a reward."""
    parts: dict[str, float] = {}
    for name, value in row.items():
        if name in others:
            continue
        figure = missing_is_nan(value) if "reward" in name else number(value)
        if figure is not None:
            parts[name] = figure
    return parts


def _trinity(row: Row, path: str, at: int) -> Sample:
    eid = row["eid"] if isinstance(row["eid"], dict) else {}
    info = row["info"] if isinstance(row.get("info"), dict) else {}
    metrics = row["metrics"] if isinstance(row.get("metrics"), dict) else {}
    status = row.get("truncate_status")
    said = row.get("response_text")
    return Sample(
        step=whole(eid.get("batch")) if eid.get("batch") not in ("", None) else whole(info.get("model_version")),
        group=_told((eid.get("batch"), eid.get("task"))) if eid.get("task") not in ("", None) else None,
        run=_told(eid.get("run")),
        text=text_of(said) if said is not None else answer_of(row.get("messages")),
        reward=missing_is_nan(row.get("reward")),
        file=path,
        line=at,
        parts={name: float(value) for name, value in metrics.items() if _is_reward(name) and number(value) is not None},
        truncated=status == "response_truncated" if isinstance(status, str) else None,
        tokens=whole(row.get("response_length")),
        episode=episode_of({**info, **row}, row.get("messages") or said, missing_is_nan(row.get("reward"))),
    )


def _told(value: Any) -> Any:
    """The value, fit to be a key; a list or an object in its place, which no writer makes, as text."""
    try:
        hash(value)
    except TypeError:
        return json.dumps(value, default=str)[:200]
    return value


def _is_reward(name: str) -> bool:
    return any(word in name for word in ("reward", "accuracy", "format", "correct"))


_TRL_COLUMNS = frozenset({"prompt", "completion", "reward", "advantage", "step"})


def _trl(row: Row, path: str, at: int) -> Sample:
    if "completion" not in row:
        row = {("completion" if name == "response" else name): value for name, value in row.items()}
    return of_table(row, path, at, _TRL_COLUMNS)


def of_table(row: Mapping[str, Any], path: str, at: int, others: frozenset[str] = _TRL_COLUMNS) -> Sample:
    """A row of TRL's completion table; without a total the rewards of the functions are summed, as weights of 1 do."""
    parts = _parts(row, others)
    known = [each for each in parts.values() if not math.isnan(each)]  # TRL leaves NaN out of its sum
    total = missing_is_nan(row["reward"]) if "reward" in row else sum(known) if known else None
    advantage = number(row.get("advantage"))
    return Sample(
        step=whole(row.get("step")),
        group=hash(str(row.get("prompt"))),
        text=answer_of(row.get("completion")),
        reward=math.nan if total is None and parts else total,
        file=path,
        line=at,
        parts=parts,
        deviates=None if advantage is None or math.isnan(advantage) else abs(advantage) > _ROUNDING,
        episode=episode_of(row, row.get("completion"), total),
    )


_MAKERS: dict[str, Callable[[Row, str, int], Sample]] = {
    "verl": _verl,
    "skyrl": _skyrl,
    "trinity": _trinity,
    "trl": _trl,
    "nemo": nemo.sample_of,
    "episodes": results.sample_of,
}
