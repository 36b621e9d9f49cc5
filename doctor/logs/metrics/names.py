"""Metric lines of logs -> points of the live series.

Known: dict lines of Transformers, TRL, ms-swift, Trinity-RFT and OpenRLHF (numbers bare or quoted, None, nan, inf),
the same as JSON, those of slime, whose dicts tell a step or a rollout, veRL's ``step:12 - name:value - ...``,
DeepSpeed's overflow lines, vLLM's throughput lines, torchtitan's lines, ROLL's JSON, lines with bars in the style of
Megatron and prime-rl, and what NeMo-RL, AReaL and SkyRL print over several lines (`doctor.logs.metrics.blocks`).
Prefixes (Ray, ranks, colours, stamps) may stand before them: each kind is found by its own first words.

Sources of the formats:
https://github.com/huggingface/transformers/blob/main/src/transformers/trainer_callback.py (class ProgressCallback)
https://github.com/verl-project/verl/blob/main/verl/utils/logger/aggregate_logger.py
https://github.com/modelscope/Trinity-RFT/blob/main/trinity/utils/monitor.py (format_data_str)
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/trainer/ppo_trainer.py
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py (and fused_optimizer.py)
https://github.com/vllm-project/vllm/blob/main/vllm/v1/metrics/loggers.py
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/training.py
https://github.com/THUDM/slime/blob/main/slime/backends/megatron_utils/model.py, slime/observability
https://github.com/PrimeIntellect-ai/prime-rl/blob/main/src/prime_rl/trainer/rl/train.py (and orchestrator/)
https://github.com/pytorch/torchtitan/blob/main/torchtitan/components/metrics.py (and experiments/rl/observability/)
https://github.com/alibaba/ROLL/blob/main/roll/pipeline/rlvr/rlvr_pipeline.py (and utils/metrics/metrics_manager.py)
https://github.com/modelscope/ms-swift/blob/main/swift/megatron/callbacks/print.py (iteration)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Optional

from doctor.base.patterns import later
from doctor.catalogue.columns import MetricRow, points_of
from doctor.catalogue.loss_scale import ATTEMPTED
from doctor.catalogue.metric_words import by_words
from doctor.catalogue.series import ALIASES, Point
from doctor.logs.metrics.blocks import BLOCK_LITERALS, OF_STEP_BEFORE, step_told, told_in_block

#: every metric line holds one of these; cheap to look for, rare in other text
METRIC_LITERALS: tuple[bytes, ...] = (
    b"'loss':", b"'grad_norm':", b"'epoch':", b"'eval_", b"'actor/", b"'critic/", b"'rollout/", b"Global step ",
    b'"loss":', b'"grad_norm":', b"OVERFLOW!", b"dynamic loss scale", b", skipped=", b"Avg prompt throughput",
    b"elapsed time per iteration", b"| loss ", b"'train/grad_norm':", b"'perf/step_time':", b"| Loss ", b"| Reward ",
    b"%)  tps: ", b"Train | Step: ", b'"critic/rewards/mean": ', b'"actor_train/grad_norm": ',
    *BLOCK_LITERALS,
    *(b"step:%d" % digit for digit in range(10)),  # with its digit, for many other lines hold "step: ..."
)  # fmt: skip

#: lines longer than this are rollout text or a dump, not metrics (the longest genuine ones are below 8 KiB)
LONGEST_LINE_BYTES = 65_536

#: names seen are kept so that they need be decoded once; rollout text must not fill the memory
MOST_NAMES = 10_000

NAN = math.nan
Pairs = list[tuple[str, float]]


class MetricValues(NamedTuple):
    """What one line tells: the step where it names one, canonical names and their values in the line's order.

    Rows of one kind share one tuple of names. The step is `OF_STEP_BEFORE` where a line before this one told it.
    """

    step: Optional[int]
    names: tuple[str, ...]
    values: Sequence[float]

    @property
    def pairs(self) -> Pairs:
        """(name, value) in order."""
        return list(zip(self.names, self.values, strict=True))


#: what the Trainer prints once it has ended: seconds that the run took
SUMMARY = "train_runtime"

#: slime counts rollouts, of which each may train for several steps; its metrics go on by their own count
STEP_BEFORE_DICT = later(rb"(?:[Ss]tep|rollout|perf) (\d{1,12}): $")
VERL_STEP = later(rb"(?<![^\s\])])step:(\d{1,12}) - (?=[\w/@.()\-]{1,200}:)")
_NUMPY = later(rb"^np\.\w{1,12}\(([^()]{1,40})\)$")
_NUMPY_FIGURE = later(rb"(?<=:)np\.\w{1,12}\(([^()]{1,40})\)(?= - |$)")
#: releases up to 0.4.1 print three decimals of everything: what that leaves of a learning rate is no figure
#: https://github.com/volcengine/verl/blob/v0.4.0/verl/utils/logger/aggregate_logger.py
_ROUNDED_RATE = later(rb"(?:^| - )[\w/]{1,60}/lr:0\.00{1,8}(?= - |$)")
_ATTEMPTED = later(rb"Attempted loss scale: (\d[\d.e+]{0,30})(?:, reducing to (\d[\d.e+]{0,30}))?")
_FROM_TO = later(rb"(Reducing|Increasing) dynamic loss scale from (\d[\d.e+]{0,30}) to (\d[\d.e+]{0,30})")
_SKIPPED = later(rb"step=(\d{1,12}), skipped=(\d{1,12}), lr=\[([^\],]{1,40})")
VLLM_WORDS = b"Avg prompt throughput: "
VLLM = later(
    rb"Avg prompt throughput: (\d+(?:\.\d+)?) tokens/s, Avg generation throughput: (\d+(?:\.\d+)?) tokens/s, "
    rb"Running: (\d+) reqs?(?:, Swapped: \d+ reqs?)?, (?:Waiting|Pending): (\d+) reqs?"
)
VLLM_CACHE = later(rb"GPU KV cache usage: (\d+(?:\.\d+)?)%")
VLLM_NAMES = (
    "vllm/prompt_tokens_per_s", "vllm/generation_tokens_per_s", "vllm/running", "vllm/waiting", "vllm/kv_cache_usage",
)  # fmt: skip
_MEGATRON = later(rb"\biteration +(\d{1,12})/ *\d{1,12} \|")
_STEP_COLUMN = later(rb"\b[Ss]tep (\d{1,12}) \|")
_COLUMN = later(rb" *([A-Za-z][\w ()./-]{0,60}?)(?::| ) *([+-]?[\d.]\S{0,30}|nan|NaN|inf|-inf)(?: \S{1,12})? *")
#: torchtitan's line; the one of a validation begins alike
_TITAN = later(rb"(?<!validate )\bstep: +(\d{1,12})  (?=loss: )|\bTrain \| Step: +(\d{1,12})  ")
_TITAN_PAIR = later(rb"([A-Za-z][\w/.@\-]{0,80}): +([^\s(]{1,30})")
#: what a few fixed decimals leave of a small figure: it was not zero
_ROUNDED = later(rb"-?0\.0+")
_SMALL = frozenset({"loss", "grad_norm", "kl", "learning_rate", "rewards/margins"})
#: ROLL's value where it does not measure any
_UNMEASURED = {"critic/entropy/mean": 0}


#: a dict line is one of metrics when it holds one of these; a configuration that is printed holds none
_TELLING = (b"'loss': ", b"'grad_norm': ", b"'epoch': ", b"'actor/", b"'critic/", b"'rollout/", b"'train/grad_norm': ")

#: keys of a dict line that tell its step, where nothing before the dict does; ms-swift's tell the last one besides
_STEP_KEYS = frozenset({b"step", b"global_step"})
_STEP_OF_ALL_KEYS = frozenset({b"global_step/max_steps", b"iteration"})

_names: dict[bytes, str] = {}
_kinds: dict[tuple[str, ...], tuple[str, ...]] = {}


class RowShape(NamedTuple):
    """What lines with certain keys tell: names, and which of the values, None for all of them.

    `telling`: whether its own keys say that it is metrics; of others the step before them does.
    """

    names: tuple[str, ...]
    pick: Optional[Callable[[Any], Sequence[float]]]
    telling: bool


#: keys of a line as they stand there -> its shape; a run prints lines of a handful of shapes, thousands of each
DICT_SHAPES: dict[tuple[bytes, ...], RowShape] = {}
VERL_SHAPES: dict[tuple[bytes, ...], RowShape] = {}
MOST_SHAPES = 1000

_renamed = {name.encode() for name in ALIASES}


def name_of(raw: bytes) -> str:
    """Canonical name of a metric, decoded once."""
    name = _names.get(raw)
    if name is None:
        own = raw.decode("utf-8", "replace")
        name = ALIASES.get(own) or by_words(own)
        if name != own:
            _renamed.add(raw)
        if len(_names) < MOST_NAMES:
            _names[raw] = name
    return name


def shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names, as the one tuple of them that all rows share."""
    return _kinds.setdefault(names, names) if len(_kinds) < MOST_SHAPES else _kinds.get(names, names)


def _by_shape(
    shapes: dict[tuple[bytes, ...], RowShape], parts: list[bytes], step: Optional[int]
) -> Optional[MetricValues]:
    """The row of a line that was cut into keys and values in turns, when its shape is known."""
    shape = shapes.get(tuple(parts[::2]))
    if shape is None or len(parts) & 1:
        return None
    names, pick, telling = shape
    if step is None and not telling:
        return None
    try:
        values = tuple(map(float, parts[1::2]))
    except ValueError:  # None, or the odd value with a blank in it: the careful way can tell
        return None
    return MetricValues(step, names, values if pick is None else pick(values))


def _learn(
    shapes: dict[tuple[bytes, ...], RowShape], parts: list[bytes], row: Optional[MetricValues], *, telling: bool
) -> Optional[MetricValues]:
    """Take the shape of a line down, when the quick cut gives the same as the careful way did."""
    keys = tuple(parts[::2])
    if row is None or len(parts) & 1 or keys in shapes or len(shapes) >= MOST_SHAPES or len(row.names) < 2:
        return row
    own = [name_of(key) for key in keys]
    places = [own.index(name) for name in row.names if name in own]
    if len(places) < len(row.names):
        return row
    shape = RowShape(row.names, None if places == list(range(len(keys))) else itemgetter(*places), telling)
    quick = _by_shape({keys: shape}, parts, row.step)
    if quick is not None and repr(list(quick.values)) == repr(list(row.values)):
        shapes[keys] = shape
    return row


def _value(raw: bytes) -> Optional[float]:
    """A value as printed; None for what is no number. `None` and `null` are NaN, see Point."""
    try:
        return float(raw)
    except ValueError:
        if raw in (b"None", b"null"):
            return NAN
        numpy = _NUMPY.match(raw)
        return None if numpy is None else _value(numpy[1])


def parse_row(line: bytes) -> Optional[MetricValues]:
    """What a metric line tells, None when it is none. Prefixes and colours may stand before it."""
    if len(line) > LONGEST_LINE_BYTES:
        return None
    start = line.find(b"{'")
    if start >= 0 and b"': " in line:
        return _dict_row(line, start)
    start = line.find(b'{"')
    if start >= 0:
        return _json_row(line, start)
    for literal, parse in _OTHERS:
        if literal in line:
            return parse(line)
    return None


def _dict_row(line: bytes, start: int) -> Optional[MetricValues]:
    end = line.rfind(b"}")
    if end < start:
        return _block_row(line)
    before = STEP_BEFORE_DICT.search(line, max(0, start - 32), start)
    step = int(before[1]) if before else None
    # quotes out in one go: half of the time of a careful parser, and no metric's name or value holds one
    body = line[start + 1 : end].translate(None, b"'")
    if step is None and (b"'step': " in line or b"'global_step': " in line):
        # the results of an evaluation stand in a line of their own; without a step it may be a list of settings
        telling = b"'eval_" in line or any(each in line for each in _TELLING)
        return _careful_dict_row(None, body) if telling else None
    parts = body.replace(b": ", b", ").split(b", ")
    quick = _by_shape(DICT_SHAPES, parts, step)
    if quick is not None:
        return quick
    telling = any(each in line for each in _TELLING)
    if step is None and not telling:
        return None
    row = _careful_dict_row(step, body)
    # a step inside of the dict is no number, so lines with one never come the quick way
    return _learn(DICT_SHAPES, parts, row, telling=telling)


def _careful_dict_row(step: Optional[int], body: bytes) -> Optional[MetricValues]:
    """Take a dict without quotes apart, pair by pair."""
    pairs: Pairs = []
    aliased = False
    known = _names.get
    for part in body.split(b", "):
        raw, _, value = part.partition(b": ")
        if step is None and raw in _STEP_KEYS and value.isdigit():
            step = int(value)
            continue
        try:
            number = float(value)
        except ValueError:
            if raw in _STEP_OF_ALL_KEYS and value.partition(b"/")[0].isdigit():
                step = int(value.partition(b"/")[0])
            told = _value(value)
            if told is None:
                continue
            number = told
        name = known(raw) or name_of(raw)
        aliased = aliased or raw in _renamed
        pairs.append((name, number))
    return _row(step, pairs, aliased=aliased)


def _row(step: Optional[int], pairs: Pairs, *, aliased: bool) -> Optional[MetricValues]:
    """A row. Of the summary at the end of a run only its time: its means are no part of the series."""
    if not pairs:
        return None
    pairs = [each for each in pairs if each[0] == SUMMARY] or pairs
    if aliased:
        first: dict[str, float] = {}
        for name, value in pairs:
            first.setdefault(name, value)
        pairs = list(first.items())
    return _made(step, pairs)


def _made(step: Optional[int], pairs: Pairs) -> MetricValues:
    return MetricValues(step, shared(tuple(name for name, _ in pairs)), tuple(value for _, value in pairs))


def _json_row(line: bytes, start: int) -> Optional[MetricValues]:
    try:
        data = json.loads(line[start : line.rfind(b"}") + 1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    if "system/step" in data:
        told = {key: value for key, value in data.items() if _UNMEASURED.get(key) != value}
        return row_of_mapping({**told, "step": told.pop("system/step")})
    return row_of_mapping(data) if "loss" in data or "grad_norm" in data else None


def row_of_mapping(data: dict[str, object]) -> Optional[MetricValues]:
    """A row from JSON: one entry of `log_history`, one line of a ``.jsonl``.

    LLaMA-Factory's has `current_steps`; null is there what the stage at hand does not measure, see
    https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/train/callbacks.py
    """
    if "current_steps" in data:
        data = {key: value for key, value in data.items() if value is not None and key != "total_steps"}
        data["step"] = data.pop("current_steps", None)
    told = data.get("step", data.get("global_step", data.get("global_step/max_steps", data.get("iteration"))))
    text = str(told).partition("/")[0]
    pairs: Pairs = []
    for key, value in data.items():
        if key in {"step", "global_step", "total_flos"} or isinstance(value, (bool, dict, list)):
            continue
        number = _value(str(value).encode())
        if number is not None:
            pairs.append((ALIASES.get(key) or by_words(key), number))
    return _row(int(text) if text.isdigit() else None, pairs, aliased=True)


def _verl_row(line: bytes) -> Optional[MetricValues]:
    match = VERL_STEP.search(line)
    if match is None:
        return None
    body, step = line[match.end() :].rstrip(), int(match[1])
    if b":np." in body:
        body = _NUMPY_FIGURE.sub(rb"\1", body)
    if b"/lr:0.00" in body:
        body = _ROUNDED_RATE.sub(b"", body).removeprefix(b" - ")
    parts = body.replace(b" - ", b":").split(b":")
    quick = _by_shape(VERL_SHAPES, parts, step)
    if quick is not None:
        return quick
    pairs: Pairs = []
    for part in body.split(b" - "):
        raw, _, value = part.rpartition(b":")
        number = _value(value)
        if raw and number is not None:
            pairs.append((name_of(raw), number))
    return _learn(VERL_SHAPES, parts, _row(step, pairs, aliased=True), telling=True)


def _overflow_row(line: bytes) -> Optional[MetricValues]:
    """DeepSpeed's lines: ``overflow`` is a skipped step, and the scale is told as attempted and as it is after it.

    Growth is not logged by ZeRO 1 to 3: the scale that was attempted tells of it.
    """
    match = _ATTEMPTED.search(line) or _FROM_TO.search(line)
    if match is None:
        return _made(None, [("overflow", 1.0)]) if b"OVERFLOW! " in line and b"Skipping step" in line else None
    before, after = match.groups()[-2:]
    if b"Increasing" in match[0]:
        pairs: Pairs = [("loss_scale", float(before))]
    else:
        pairs = [(ATTEMPTED, float(before)), ("overflow", 1.0)]
    return _made(None, pairs if after is None else [*pairs, ("loss_scale", float(after))])


def _skipped_row(line: bytes) -> Optional[MetricValues]:
    match = _SKIPPED.search(line)
    if match is None:
        return None
    rate = _value(match[3])
    pairs = [("skipped_steps", float(match[2]))]
    return _made(int(match[1]), pairs if rate is None else [*pairs, ("learning_rate", rate)])


def _vllm_row(line: bytes) -> Optional[MetricValues]:
    match = VLLM.search(line)
    if match is None:
        return None
    told = [float(each) for each in match.groups()]
    cache = VLLM_CACHE.search(line)
    if cache is not None:
        told.append(float(cache[1]) / 100)
    return MetricValues(None, shared(VLLM_NAMES[: len(told)]), tuple(told))


def _columns_row(line: bytes) -> Optional[MetricValues]:
    match = _MEGATRON.search(line) or _STEP_COLUMN.search(line)
    if match is None:
        return None
    pairs: Pairs = []
    for column in line[match.end() :].split(b"|"):
        told = _COLUMN.fullmatch(column.rstrip())
        number = _value(told[2]) if told else None
        if told is None or number is None:
            continue
        name = name_of(told[1])
        if name == "elapsed time per iteration (ms)":
            name, number = "step_time", number / 1000
        pairs.append((name, number))
    return _row(int(match[1]), pairs, aliased=True)


def _titan_row(line: bytes) -> Optional[MetricValues]:
    match = _TITAN.search(line)
    if match is None:
        return None
    return _row(int(match[match.lastindex or 0]), _unrounded(_TITAN_PAIR.findall(line, match.end())), aliased=True)


def _block_row(line: bytes) -> Optional[MetricValues]:
    step = step_told(line)
    if step is not None:
        return _made(step, [("training_step", float(step))])
    return _row(OF_STEP_BEFORE, _unrounded(told_in_block(line)), aliased=True)


def _unrounded(told: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Names and numbers, without those of which fixed decimals left nothing."""
    pairs = [(name_of(raw), _value(value), value) for raw, value in told]
    return [
        (name, number) for name, number, value in pairs
        if number is not None and not (name in _SMALL and _ROUNDED.fullmatch(value))
    ]  # fmt: skip


_OTHERS = (
    (b"%)  tps: ", _titan_row),
    (b"Train | Step: ", _titan_row),
    (b"step:", _verl_row),
    (b"OVERFLOW!", _overflow_row),
    (b"dynamic loss scale", _overflow_row),
    (b", skipped=", _skipped_row),
    (b"Avg prompt throughput", _vllm_row),
    *((literal, _block_row) for literal in BLOCK_LITERALS),
    (b" | ", _columns_row),
)


def where_metrics_begin(line: bytes) -> int:
    """Position behind the prefixes of a metric line; 0 where its own words do not tell."""
    for first in (b"{'", b'{"', VLLM_WORDS):
        if (at := line.find(first)) >= 0:
            return at
    return match.start() if b"step:" in line and (match := VERL_STEP.search(line)) else 0


def parse_line(line: bytes) -> list[Point]:
    """Points of one line; empty when it holds none. Steps only where the line itself names them."""
    row = parse_row(line)
    return [] if row is None else list(points_of(MetricRow(row.step, row.names, row.values)))
