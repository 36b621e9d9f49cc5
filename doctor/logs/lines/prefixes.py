"""What stands in front of a line: colours, container, rank, actor, time and level. Cut off layer by layer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from doctor.base.patterns import later
from doctor.logs.lines.stamps import AMERICAN, COMPACT, GLOG, ISO, NAMED, SHORT, ZONE, Stamp, of_groups

#: stands around a head that was learnt from the log itself, see `doctor.logs.lines.learnt`
LEARNT = "\x1e"
_LAYERS = 8  # deepest nesting seen is container, tee, rank, actor, level: five
_LONGEST_JSON = 1 << 20
_LONGEST_ACTOR = 400  # characters with the brackets

#: colours, also where copying through a web page ate the escape character
ANSI = later(r"\x1b\[[0-9;?]{0,32}[A-Za-z]|\x1b\][^\x07\n]{0,200}\x07|\x1b|\[(?:\d{1,2}(?:;\d{1,3}){0,5})m(?!\])")
#: a colour without its escape character; begins with a literal, so that looking for it costs next to nothing
EATEN = later(r"\[\d{1,2}(?:;\d{1,3}){0,5}m(?!\])")
#: Ray tells how often it folded a line
_REPEATED = later(r"\s*\[repeated (\d{1,9})x across cluster\](?:\s*\(Ray deduplicates logs[^\n]{0,300})?\s*$")
#: a bar without a line end, and then a rank that begins to speak
_BAR = later(r"^[^\n]{0,4000}?(?:it/s|s/it|\?it/s)[^\]\n]{0,200}\](?=\[[A-Za-z_]{1,20}\d{1,5}\]:)")

#: the same before whatever speaks next, a shell for one: tqdm's own additions stand inside the brackets
_WHOLE_BAR = later(
    r"^[^|\n]{0,200}?\d{1,3}%\|[^|\n]{0,400}\| \d[\d.kMG]{0,11}/\d[\d.kMG]{0,11} "
    r"\[[^\]\n]{1,200}(?:it/s|s/it)[^\]\n]{0,200}\](?=[^\s\[])"
)

#: what container engines, collectors and loggers call the line itself
_SAID = ("log", "message", "msg", "textPayload")


class Stripped(NamedTuple):
    """A line without what stands in front of it.

    Args:
        process: who printed it, "" when the line does not say: "rank 3", "EngineCore_DP0 pid=77".
        rank: global rank, None when the line does not say.
        stamp: its first (outermost) time stamp.
        text: the message.
        level: "E", "W", "I", "D" or "F"; "" when the line does not say.
        repeated: how many lines Ray folded into this one beside itself.

    """

    process: str
    rank: int | None
    stamp: Stamp | None
    text: str
    level: str = ""
    repeated: int = 0

    def time_ns(self, default_year: int) -> int | None:
        """Nanoseconds since the epoch, None without a stamp."""
        return self.stamp.ns(default_year) if self.stamp is not None else None


class _Found:
    """What the layers said so far."""

    __slots__ = ("actor", "host", "level", "rank", "stamp")

    def __init__(self) -> None:
        self.actor = self.host = self.level = ""
        self.rank: int | None = None
        self.stamp: Stamp | None = None


_LEVELS = {"ERROR": "E", "WARNING": "W", "WARN": "W", "INFO": "I", "DEBUG": "D", "CRITICAL": "F", "FATAL": "F"}
LEVEL = r"(?P<level>ERROR|WARNING|WARN|INFO|DEBUG|CRITICAL|FATAL)"


def _rank(found: _Found, match: re.Match[str]) -> None:
    found.rank = int(match["rank"])


def _actor(found: _Found, match: re.Match[str]) -> None:
    found.actor = match["actor"].rstrip(", ").lstrip()
    if "rank=" in found.actor and (rank := re.search(r"\brank=(\d{1,6})\b", found.actor)):
        found.rank = int(rank[1])


def _stamped(found: _Found, match: re.Match[str]) -> None:
    """Take time, level and rank of a log record's head; the outermost stamp counts."""
    groups = match.groupdict()
    found.stamp = found.stamp or of_groups(groups)
    if level := groups.get("level"):
        found.level = _LEVELS.get(level.upper(), level[0].upper())
    rank = groups.get("rank")
    if rank and not rank.startswith("-"):  # DeepSpeed's "all ranks" is -1
        found.rank = int(rank)


def _quoted(_found: _Found, _match: re.Match[str]) -> None:
    """Markdown's mark of a quotation, or the name that a program puts before all it says, tell nothing."""


def _named_container(found: _Found, match: re.Match[str]) -> None:
    found.actor = found.actor or match["actor"].strip()


def _hosted(found: _Found, match: re.Match[str]) -> None:
    found.host = found.host or match["host"]


_Layer = tuple[str, re.Pattern[str], Callable[[_Found, re.Match[str]], None]]


def _layer(first: str, pattern: str, handler: Callable[[_Found, re.Match[str]], None]) -> _Layer:
    return first, later(pattern), handler


#: a record of vLLM: asked for before all others, for its servers write one every few seconds, for days
_VLLM = later(rf"{LEVEL} {SHORT} \[?[\w/.\-]{{1,120}}:\d{{1,6}}\] ?")
#: first character of a line ("d" any digit, "A" any letter) -> forms that begin so, in the order of trying
_TABLE: tuple[_Layer, ...] = (
    _layer("[", r"\[rank ?(?P<rank>\d{1,6})\]: ?", _rank),
    _layer("[", r"\[[A-Za-z_]{1,24}(?P<rank>\d{1,6})\]:", _rank),  # torchrun --tee: role and rank
    _layer("[", r"\[(?:[Rr]ank|RANK)[ :=]?(?P<rank>\d{1,6})\]:? ", _rank),
    _layer("[", r"\[(?P<actor>pod/[^\]\n]{1,200})\] ?", _named_container),
    _layer("[", rf"\[{ISO} (?P<level>[EWIDFC]) \d{{1,9}} \d{{1,9}}\] ?", _stamped),  # Ray's C++ side
    # DeepSpeed, SGLang, containers
    _layer("[", rf"\[{ISO}(?: (?:TP|DP|PP|EP)[0-9 TPDE]{{0,20}})?{ZONE}\](?: ?\[{LEVEL}\])?"
                rf"(?: ?\[[\w.<>]{{1,60}}:\d{{1,6}}(?::[\w<>]{{1,60}})?\])?(?: ?\[Rank (?P<rank>-?\d{{1,6}})\])? ?"
                r"(?:\w{1,60}\.py:\d{1,6} - )?", _stamped),  # the last: slime, observability/logging_utils.py
    _layer("[", rf"\[(?P<level>[EWIDFC]){GLOG} [\w/.\-]{{1,120}}:\d{{1,6}}\] ?", _stamped),  # ProcessGroupNCCL
    _layer("[", r"\[(?P<level>[EWIDFC]) [\w/.\-]{1,120}:\d{1,6}\] ?", _stamped),
    _layer("[", rf"\[{LEVEL}\|[^\]\n]{{1,120}}\] ?(?:{ISO} ?)?(?:>> ?)?", _stamped),  # transformers
    _layer("[", rf"\[{LEVEL}\] ", _stamped),
    _layer("[", rf"\[{ISO}(?: {{1,3}}\| {{1,3}}[\w.]{{1,60}})? {{1,3}}\| {{1,3}}{LEVEL}\]:?[ \t]?", _stamped),
    # https://github.com/oumi-ai/oumi/blob/main/src/oumi/utils/logging.py
    _layer("[", rf"\[oumi\]\[rank(?P<rank>\d{{1,6}})\]\[pid:\d{{1,9}}\]\[[^\]\n]{{1,60}}\]\[{LEVEL}\]\]"
                r"(?:\[[\w.]{1,60}:\d{1,6}\] ?)?", _stamped),
    # parts of a post-training run, as scripts that start several of them into one log name these
    _layer("[", r"\[(?P<actor>(?:trainer|train|learner|actor|critic|policy|rollout(?:er)?|sampler|generator|inference|"
                r"vllm|sglang|engine|server|orchestrator|controller|driver|scheduler|router|reward|env|evaluator|worker)"
                r"(?:[-_ ]?\d{1,4})?)\] (?=\S)", _named_container),
    # the role in AReaL's merged.log, filled up to ten characters
    # https://github.com/areal-project/AReaL/blob/main/areal/infra/utils/proc.py
    _layer("[", r"\[(?P<actor>main|actor|critic|ref|rollout|teacher|data|(?:eval|proxy)-rollout)\] {0,5}?(?<=.{10})",
           _named_container),
    # ROLL puts its worker's name in brackets: "(ActorWorker(actor_infer-0) pid=12266, )"
    # https://github.com/alibaba/ROLL/blob/main/roll/distributed/executor/cluster.py
    _layer("(", r"\((?P<actor>(?:[A-Za-z_][\w.:+\- ]{0,80}?(?:\[rank=\d{1,6}\]|\([\w\-]{1,60}\))?)?"
                r"(?: ?(?:rank|pid)=\d{1,9}){1,2}(?:, ?(?:ip=[\w.:]{1,60})?)?"
                r"|raylet(?:, ?ip=[\w.:]{1,60})?|autoscaler [+\w]{1,12}|gcs_server)\) ?", _actor),
    _layer("(", r"\((?P<actor>[A-Za-z][\w.\-]{0,80}, (?:rank=\d{1,6}, )?pid=\d{1,9}(?:, ?ip=[\w.:]{1,60})?)\) ?",
           _named_container),  # SkyPilot: a node or a task by its name; the rank of a node, which is no process's
    # https://github.com/areal-project/AReaL/blob/main/areal/utils/logging.py
    _layer("(", r"\(AReaL\) ", _quoted),
    _layer(LEARNT, rf"{LEARNT}(?P<actor>[^{LEARNT}\n]{{0,100}}){LEARNT}", _named_container),
    _layer(">", r"(?:> ?){1,4}", _quoted),  # a log quoted in an issue or a mail
    _layer("d", rf"{ISO}{ZONE} (?:stdout|stderr) [FP] ", _stamped),  # Kubernetes' container runtime
    # Ray's Python side
    _layer("d", rf"{ISO}{ZONE}[ \t]{{1,4}}{LEVEL}[ \t]{{1,4}}[\w.]{{1,60}}:\d{{1,6}} -- ", _stamped),
    _layer("d", rf"{ISO}{ZONE}(?: ?(?:-|\|) ?[\w.]{{1,80}})?(?: ?(?:-|\|) ?| )(?:{LEVEL}|SUCCESS)\b"
                # logging, loguru; FastChat names the logger in a column, "stderr" for what programs print
                # https://github.com/lm-sys/FastChat/blob/main/fastchat/utils.py (`build_logger`)
                r"(?: {0,5}\| ?(?:[A-Za-z_][\w.\-]{0,60} \|(?: |$))?| ?(?:[-:] ?)?)(?:[\w.:<>]{1,120} - )?", _stamped),
    _layer("d", rf"{COMPACT} [\w.\-/\[\] ]{{1,60}}? {LEVEL}: ", _stamped),  # AReaL
    # a clock without a day places no line, the level counts:
    # https://github.com/PrimeIntellect-ai/prime-rl/blob/main/src/prime_rl/utils/logger.py
    _layer("d", rf"\d\d:\d\d:\d\d {{1,4}}(?:{LEVEL}|SUCCESS) ", _stamped),
    # a loop's own rank behind it
    _layer("d", r"\d\d:\d\d:\d\d(?:[.,]\d{1,6})? (?=\[(?:[Rr]ank|RANK)[ :=]?\d{1,6}\])", _quoted),
    _layer("d", rf"{AMERICAN} - {LEVEL} - [\w.]{{1,80}} - ", _stamped),
    _layer("d", rf"{ISO}{ZONE}(?: ?[-:] ?|[ \t]{{1,4}})", _stamped),
    _layer("d", rf"{AMERICAN}(?: ?[-:] ?| )", _stamped),
    # pdsh, with which DeepSpeed starts several nodes: https://github.com/chaos/pdsh
    _layer("d", r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}): ", _hosted),
    _layer("A", r"(?P<host>[A-Za-z][\w.\-]{0,80}): (?=\[rank ?\d{1,6}\]:)", _hosted),
    _layer("A", rf"{LEVEL} {ISO}{ZONE} ", _stamped),  # cloud consoles
    _layer("A", rf"(?P<level>[EWIDF]){GLOG} [ \d]{{1,12}} [\w/.\-<>]{{1,160}}:\d{{1,6}}\] ?", _stamped),  # torch
    # veRL's workers: https://github.com/verl-project/verl/blob/main/verl/utils/logging_utils.py
    _layer("A", rf"{LEVEL}:{ISO}{ZONE}:", _stamped),
    _layer("A", rf"{LEVEL}:(?: {{1,8}}|[\w.]{{1,80}}:)", _stamped),  # uvicorn, logging.basicConfig
    _layer("A", rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {NAMED} (?P<year>20\d\d) ", _stamped),
    # syslog, journal
    _layer("A", rf"{NAMED} [\w.\-]{{1,80}} (?P<unit>[\w.\-/]{{1,80}})(?:\[\d{{1,9}}\])?: ", _stamped),
    _layer("A", r"(?P<actor>[a-z][\w.\-]{0,60}-\d{1,4}) {1,20}\| ", _named_container),  # docker compose
)  # fmt: skip
_SLURM = later(r" {0,5}(\d{1,5}):(?!\d\d:\d\d) ?")  # no clock
#: what srun's task number stands for: a rank, or a node where the task is a launcher that starts the ranks
RANKS, NODES = 1, 2
#: launchers' own records, and ranks told by torch behind the task number
_OF_LAUNCHER = later(r"torch/distributed/(?:run|launcher/\w+|elastic/[\w/]+)\.py:\d|\[(?:launch|runner)\.py:\d")
_OF_RANK = later(r"\[rank ?(\d{1,6})\]:")

#: what a line with a form begins with: of those that begin with a letter or a digit the whole word
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DIGITS, _OTHERS = frozenset("0123456789"), frozenset(f"[({{>{LEARNT}")
_FIRST_WORD = later(
    rf"(?:[A-Za-z][\w.\-]{{0,80}}:|{LEVEL}(?::.*)?|[EWIDF]\d{{3,4}}|Mon|Tue|Wed|Thu|Fri|Sat|Sun"
    r"|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|[a-z][\w.\-]{0,60}-\d{1,4}"
    r"|20\d\d[-/].*|20\d{6}-\d\d:.*|\d\d:\d\d:\d\d|\d\d/\d\d/20\d\d|\d{1,3}(?:\.\d{1,3}){3}:)\Z", re.DOTALL
)  # fmt: skip
_LONGEST_WORD, _LONGEST_RANK = 100, 16


def _class_of(text: str) -> str:
    first = text[:1]
    if first.isdigit():
        return "d"
    return "A" if first.isalpha() else first


def _any_of(layers: Iterable[_Layer]) -> re.Pattern[str]:
    """Matches where one of some forms does; most texts begin with none, and one search says so for all of them."""
    return later("|".join(f"(?:{_NAME.sub('(?:', pattern.pattern)})" for _, pattern, _ in layers))


_NAME = later(r"\(\?P<\w+>")
_BY_FIRST = {first: tuple(each for each in _TABLE if each[0] == first) for first in ("[", "(", ">", LEARNT, "d", "A")}
_ANY_BY_FIRST = {first: _any_of(layers) for first, layers in _BY_FIRST.items()}


def strip(line: str, *, slurm_labels: int = 0) -> Stripped:
    """Cut off what stands in front of a line, layer by layer: ``[rank0]: ERROR 11-20 16:10:28 [core.py:1512] text``.

    `slurm_labels`: what ``srun --label`` wrote into the file (see `labels_of`): ``3: text`` may be rank 3, or node 3.
    """
    text = line.rstrip("\r\n")
    if not text.startswith("{") and ("\x1b" in text or _has_eaten(text)):
        text = ANSI.sub("", text)  # inside JSON the escape character is written out, and cut once it is read
    repeated = 0
    if text.endswith(("]", ")")) and (match := _REPEATED.search(text)):
        repeated, text = int(match[1]), text[: match.start()]
    rank, host = None, ""
    if slurm_labels and (label := _SLURM.match(text)):
        rank, text = int(label[1]), text[label.end() :]
        if slurm_labels == NODES:
            rank, host = None, f"task {label[1]}"
    if "]" in text and (bar := _bar_before(text)):
        text = text[bar.end() :]
    if rank is None and not may_begin(text):
        return Stripped(host, None, None, text, "", repeated)
    found = _Found()
    found.rank, found.host = rank, host
    for _ in range(_LAYERS):
        shorter = _cut(text, found)
        if shorter is None:
            break
        text = shorter
    process = found.actor or (f"rank {found.rank}" if found.rank is not None else found.host)
    return Stripped(process, found.rank, found.stamp, text, found.level, repeated)


def _bar_before(text: str) -> re.Match[str] | None:
    """A bar that has not ended its line, where another speaks behind it."""
    if "]:" in text and "t/s" in text and (bar := _BAR.match(text)):
        return bar
    return _WHOLE_BAR.match(text) if "%|" in text else None


def _has_eaten(text: str) -> bool:
    """Whether a line that lost its escape characters is coloured, as far as its beginning or its end tells."""
    return "[" in text and ("m" in text[:40] or "[0m" in text) and EATEN.search(text) is not None


def has_codes(text: str) -> bool:
    """Whether a text of many lines holds colours, with or without their escape characters."""
    return "\x1b" in text or EATEN.search(text) is not None


def may_begin(text: str) -> bool:
    """Whether a text may begin with one of the forms; most do not, and their first word says so."""
    first = text[:1]
    if first in _LETTERS:
        end = text.find(" ", 0, _LONGEST_WORD)
        return end < 0 or _is_first_word(text[:end])
    if first in _DIGITS:
        end = text.find(" ", 0, _LONGEST_WORD)
        return end < 0 or _FIRST_WORD.match(text[:end]) is not None
    return first in _OTHERS or text.startswith((" [", " (")) or not first.isascii()


@lru_cache(maxsize=8192)
def _is_first_word(word: str) -> bool:
    return _FIRST_WORD.match(word) is not None


def _cut(text: str, found: _Found) -> str | None:
    """Cut one layer off; None when there is none."""
    if text.startswith("{"):
        return _container_json(text, found)
    head = text.lstrip(" ") if text.startswith((" [", " (")) else text
    first = _class_of(head)
    if first == "(":
        return _without_actor(head, found)
    if first == "[" and (end := head.find("]: ", 0, _LONGEST_RANK) + 3) > 2 and (rank := _rank_in(head[:end])) >= 0:
        found.rank = rank
        return head[end:]
    if first == "A" and (record := _VLLM.match(head)):
        _stamped(found, record)
        return head[record.end() :]
    begins = _ANY_BY_FIRST.get(first)
    if begins is None or (first in "Ad" and not may_begin(head)) or begins.match(head) is None:
        return None
    for _, pattern, handler in _BY_FIRST[first]:
        if match := pattern.match(head):
            handler(found, match)
            return head[match.end() :]
    return None


def _without_actor(text: str, found: _Found) -> str | None:
    """Cut the name of an actor off; there are few of them, and every line of theirs begins with it."""
    end = text.find(")")
    if text.startswith((" pid=", " rank="), end + 1):  # the name itself holds brackets
        end = text.find(")", end + 1)
    told = _actor_in(text[: min(end + 2, _LONGEST_ACTOR)])
    if told is None:
        return None
    match, handler = told
    handler(found, match)
    return text[match.end() :]


@lru_cache(maxsize=4096)
def _rank_in(head: str) -> int:
    """The rank that the first form of the table tells; -1 where it is not that one."""
    match = _TABLE[0][1].fullmatch(head)
    return -1 if match is None else int(match["rank"])


@lru_cache(maxsize=4096)
def _actor_in(head: str) -> tuple[re.Match[str], Callable[[_Found, re.Match[str]], None]] | None:
    """What stands in the brackets at the beginning of a line, and who takes it."""
    for _, pattern, handler in _BY_FIRST["("]:
        if match := pattern.match(head):
            return match, handler
    return None


def _container_json(text: str, found: _Found) -> str | None:
    """Read docker's json-file driver, Kubernetes collectors and structured loggers; None for any other object."""
    if not text.endswith("}") or len(text) > _LONGEST_JSON or not text.startswith(('{"', "{ ")):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    inner = next((record[key] for key in _SAID if isinstance(record.get(key), str)), None)
    if inner is None and isinstance(payload := record.get("jsonPayload"), dict):  # Google's collector
        inner = next((payload[key] for key in _SAID if isinstance(payload.get(key), str)), None)
    if inner is None:
        inner = _of_logger(record)
    if inner is None:
        return None
    for key in ("time", "timestamp", "@timestamp", "ts", "asctime"):
        if isinstance(record.get(key), str) and (match := re.match(ISO + ZONE, record[key])):
            found.stamp = found.stamp or of_groups(match.groupdict())
    level = record.get("level") or record.get("severity") or record.get("levelname") or record.get("log.level")
    if isinstance(level, str):
        found.level = _LEVELS.get(level.upper(), "")
    if isinstance(record.get("rank"), int):
        found.rank = record["rank"]
    return ANSI.sub("", inner.rstrip("\r\n"))


def _of_logger(record: dict[str, Any]) -> str | None:
    """What structlog calls an event, beside a time or a level, and loguru's text, which carries a head of its own."""
    said = record.get("event")
    if isinstance(said, str) and ("level" in record or "timestamp" in record):
        return said
    said = record.get("text")
    return said if isinstance(said, str) and isinstance(record.get("record"), dict) else None


def has_slurm_labels(lines: Iterable[str]) -> bool:
    """Whether a file was written by ``srun --label``: nearly every line that is not empty begins with a task number."""
    seen = labelled = 0
    for line in lines:
        if line.strip():
            seen += 1
            labelled += bool(_SLURM.match(line)) and not line.lstrip().startswith("0:00")
    return seen >= 3 and labelled >= 0.8 * seen


def labels_of(lines: Iterable[str]) -> int:
    """What task numbers before the lines stand for: 0 where there are none, else `RANKS` or `NODES`."""
    texts = list(lines)
    if not has_slurm_labels(texts):
        return 0
    return NODES if any(map(_is_of_node, texts)) else RANKS


def _is_of_node(text: str) -> bool:
    """Whether a labelled line is a launcher's, or one of a rank with another number than the task."""
    label = _SLURM.match(text)
    if label is None:
        return False
    rank = _OF_RANK.match(text, label.end())
    return _OF_LAUNCHER.search(text) is not None or (rank is not None and int(rank[1]) != int(label[1]))
