"""Signs of life and of a good end: progress bars, metric lines, banners with versions, clean shutdowns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import field
from itertools import islice

from doctor.base.patterns import later
from doctor.base.record import mutable
from doctor.logs.lines.lines import Line

#: the run says itself that it is through
_SUCCESS = later(
    r"['\"]train_runtime['\"]: ?|\*{3,} train metrics \*{3,}|Training completed?\b|Training finished\b|Training done\b"
    r"|Final validation metrics|Process \d{1,9} exits successfully|Training Progress: 100%|train_runtime +="
    r"|Explorer training finished|Trainer? finished\b|Job 'raysubmit_\w{1,40}' succeeded"
    r'|"current_steps": \d{1,9}, .{0,300}"percentage": 100(?:\.0)?[,}]'  # LLaMA-Factory's trainer_log.jsonl
    r"|Max number of (?:step|epoch)s has been reached, stopping training early"  # NeMo-RL
    r"|\bpipeline complete!",  # ROLL
    re.IGNORECASE,
)
#: one of these is in every line that `_SUCCESS` matches, in lower case: looking for words is many times as fast
SUCCESS_HINTS = (
    "train_runtime", "train metrics", "training complete", "training finished", "training done",
    "final validation metrics", "exits successfully", "training progress: 100%", "explorer training finished",
    "trainer finished", "traine finished", "raysubmit_", '"percentage": 100',
    "s has been reached, stopping", "pipeline complete!",
)  # fmt: skip
#: somebody asked it to stop: what follows is the noise of a shutdown
_ASKED = later(
    r"trigger received signal=SIG(?:TERM|INT)|API server: shutdown triggered|^Shutting down$|^KeyboardInterrupt\b"
    r"|Received signal 15|received SIGTERM|Received SIGINT|got signal: (?:15|2)\b|SIGTERM received"
)
ASKED_HINTS = ("SIG", "shutdown trig", "Shutting", "KeyboardInt", "signal")
#: what only lines of progress say; then, by a word that each of its matches holds, what they begin with or hold
_GOING_ON = ("Avg generation throughput:", 'HTTP/1.1" 200')
_PROGRESS = (
    ("{", later(r"^\s*\{['\"](?:loss|train_loss|reward)['\"]")),
    ("step:", later(r"\bstep:\d{1,9} - ")),
    ("iteration ", later(r"^ ?iteration +\d{1,9}/")),
    ("{'train/", later(r"\bstep \d{1,9}: \{'train/")),  # slime
    ("| Loss ", later(r"\bStep \d{1,9} \| [^|\n]{1,20} \| Loss ")),  # prime-rl
    ("step:", later(r"(?<!validate )\bstep: +\d{1,9}  loss: ")),  # torchtitan
    ("= Step ", later(r"={10} Step \d{1,9}/\d{1,9} ={10}")),  # NeMo-RL
    (" Train step ", later(r"\bStep [\d/]{1,20} Train step \d{1,9}/\d{1,9} done\.")),  # AReaL
    ("tracking:log:", later(r"\btracking:log:\d{1,6} - Step \d{1,9}: *$")),  # SkyRL
    ("pipeline step ", later(r"\bpipeline step \d{1,9} finished")),  # ROLL
)
#: one of these is in every line that `_is_progress` takes for one, and in every line that `_TRAINING` matches
PROGRESS_HINTS = (*_GOING_ON, "{'", '{"', "step:", "iteration ", "| Loss ", "= Step ", " Train step ", "tracking:log:",
                  "pipeline step ", *(f"{digit} [" for digit in range(10)))  # fmt: skip
_BAR = later(r"\b\d{1,9}/\d{1,9} \[\d{1,4}:\d\d")
_BAR_END = later(r"/\d{1,9} \[\d{1,4}:\d\d")  # begins with a literal: told in a tenth of the time
_TRAINING = later(r"\b(?P<done>\d{1,9})/(?P<all>\d{1,9}) \[(?:\d{1,4}:)?\d{1,4}:\d\d<[^\n]{0,40}(?:it/s|s/it)")
_SERVING = later(r"Application startup complete|HTTP/1\.1\" \d{3}|Avg generation throughput:")
#: somebody asks whether the server lives: that says nothing of the run, which may stand still or have failed
_PROBE = later(r"\"GET /(?:health\w{0,20}|ping|metrics|get_server_info|v1/models)\b")
#: actors of Ray, but a server's own processes and Ray Serve: an engine of a trainer is ready before anything is trained
_ACTOR = later(
    r"(?!APIServer|ApiServer|EngineCore|DPCoordinator|Worker|Vllm|Serve|ProxyActor|HTTPProxy)\w{1,80} pid=\d"
)
SERVING_HINTS = ("Application startup", 'HTTP/1.1" ', "Avg generation throughput:")
#: words before a bar that is not the training's own
_LOADING = later(
    r"Map|Load|Tokeniz|Fetch|Download|checkpoint|Generat|Filter|examples/s|Captur|Process|Iterat", re.IGNORECASE
)
#: the words of a bar, behind whatever stands before them; those that a bar of training steps may have; and work that is
#: none, by its verb ("Writing model shards", "Rendering", "Saving"), whichever program draws it
_WORDS = later(r"(?:^|[\]\r\n)])[^\]\r\n)]{0,20}?(?P<words>[A-Za-z][^\]\r\n:]{0,80}?)\s*:?\s*$")
_OF_TRAINING = later(r"train|epoch|step|episode|iter|progress|fine-?tun|optim|updat|rollout", re.IGNORECASE)
_OTHER_WORK = later(r"(?!(?:fine-?)?(?:train|tun|optimiz|learn|updat)ing\b)[A-Za-z]{2,20}ing\b", re.IGNORECASE)
_WRITING = later(r"writing\b|saving\b", re.IGNORECASE)
#: the drawn part of a bar, between its description and its figures
_WIDTH, _DRAWN = 240, later(r"\d{1,3}%\|[^|\n]{0,160}\|\s{0,8}$")
STEPS_ON = 5  # other ranks print a step or two more when one has failed


@mutable
class Marks:
    """Where a log shows life and how it ended.

    Args:
        success: last line that says the run ended well; `asked`: first that says somebody stopped it.
        progress: where the last lines of progress stand, by source; `steps`: (done, all) of the main bar's last state.
        served: whether a server answered.
        written: whether the last bar of a log is a full one of writing, as of a model at its end.
        full: what the last bar counted to, where it is full; 0 where none is.

    """

    success: Line | None = None
    asked: Line | None = None
    progress: dict[int, list[int]] = field(default_factory=dict)
    steps: tuple[int, int] | None = None
    served: bool = False
    written: bool = False
    full: int = 0
    folded: Line | None = None

    def feed(self, line: Line) -> None:
        """Look at one line."""
        text = line.text
        if line.repeated and self.folded is None:
            self.folded = line
        if (
            not self.served
            and _holds(text, SERVING_HINTS)
            and _SERVING.search(text)
            and not _PROBE.search(text)
            and not _ACTOR.match(line.process)
        ):
            self.served = True
        if _holds(text.lower(), SUCCESS_HINTS) and _SUCCESS.search(text):
            self.success = line
        elif self.asked is None and _holds(text, ASKED_HINTS) and _ASKED.search(text):
            self.asked = line

    def see(self, source: int, progress: Iterable[tuple[int, str]], bars: Iterable[tuple[int, str]]) -> None:
        """Look for the last signs of life of a source.

        Args:
            source: its position.
            progress: (order, text) of lines that may be some, the last first.
            bars: the same of those that may be bars.

        """
        going_on = (order for order, text in progress if _is_progress(text))
        orders = list(islice(going_on, STEPS_ON))
        if orders:
            self.progress[source] = orders[::-1]
        bars = tuple(bars)
        last = [text for order, text in bars[:1] if not orders or order >= orders[0]]
        self.written = self.written or any(map(_is_written, last))
        drawn = [bar for _, text in bars if (bar := _last_bar(text)) is not None]
        if drawn:
            # a short bar that is full may be an evaluation's: it is no end while a longer one is short of its own
            longer = (each for each in drawn if each[1] > drawn[0][1] <= drawn[0][0])
            self.steps = next(longer, drawn[0])
            self.full = drawn[0][1] if drawn[0][0] >= drawn[0][1] else 0

    def went_on(self, line: Line) -> bool:
        """Whether its source shows progress after a line."""
        orders = self.progress.get(line.source, [])
        return len(orders) - bisect_right(orders, line.order) >= STEPS_ON

    def ended_well_before(self, line: Line) -> bool:
        """Whether its source says before a line that the run ended well."""
        return self.success is not None and self.success.source == line.source and self.success.order < line.order

    def ended_well_after(self, line: Line) -> bool:
        """Whether its source says after a line that the run ended well."""
        return self.success is not None and self.success.source == line.source and self.success.order > line.order


def _holds(text: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - a generator would cost more than the search
        if word in text:
            return True
    return False


def _is_progress(text: str) -> bool:
    if " [" in text and _BAR_END.search(text) and _BAR.search(text):
        return True
    if _holds(text, _GOING_ON) and not _PROBE.search(text):
        return True
    for word, pattern in _PROGRESS:  # noqa: SIM110 - see _holds
        if word in text and pattern.search(text):
            return True
    return False


def may_be_bar(text: str) -> bool:
    """Whether a text may be a bar with its rate."""
    return "<" in text and ("it/s" in text or "s/it" in text)


def _last_bar(text: str) -> tuple[int, int] | None:
    """(done, all) of the training bar: the last one whose description, where it has one, names no other work."""
    found = None
    for match in _TRAINING.finditer(text):
        head = _DRAWN.sub("", text[max(0, match.start() - _WIDTH) : match.start()])[-60:]
        if not _LOADING.search(head) and _counts_steps(head):
            found = int(match["done"]), int(match["all"])
    return found


def _is_written(text: str) -> bool:
    """Whether the last bar of a text is full, and of writing."""
    match = next(reversed([*_TRAINING.finditer(text)]), None)
    head = "" if match is None else _DRAWN.sub("", text[max(0, match.start() - _WIDTH) : match.start()])[-60:]
    told = _WORDS.search(head)
    return (
        match is not None and told is not None and match["done"] == match["all"] and bool(_WRITING.match(told["words"]))
    )


def _counts_steps(head: str) -> bool:
    """Whether what stands before a bar names no other work than training."""
    told = _WORDS.search(head)
    if told is None:
        return True
    return _OF_TRAINING.search(told["words"]) is not None and not _OTHER_WORK.match(told["words"])


#: how logs call a distribution whose name they do not spell out
_ALIASES = {"pytorch": "torch", "llm": "vllm", "flash_attn": "flash-attn"}
_VERSION = (
    r"v?(?P<version>\d{1,4}\.\d{1,4}(?:\.\d{1,8})?(?:\.?(?:post|dev|rc|a|b)\d{1,8})?"
    r"(?:\+[a-z0-9]{1,16}(?:\.[a-z0-9]{1,12}){0,3})?)"
)
_NAMES = (
    "PyTorch|torch|transformers|trl|accelerate|peft|deepspeed|datasets|triton|sglang|bitsandbytes|ray|vllm"
    "|flash_attn|verl"
)
_VERSIONS = (
    later(rf"(?P<name>vLLM) (?:API )?(?:server )?version {_VERSION}", re.IGNORECASE),
    later(rf"(?P<name>LLM) engine \({_VERSION}\)"),
    later(rf"(?P<name>DeepSpeed) info: version={_VERSION}"),
    later(rf"\b(?P<name>NCCL) version:? {_VERSION}"),
    later(rf"using (?P<name>nccl)=={_VERSION}"),
    later(rf"(?P<name>wandb)(?:: Tracking run with wandb)? version {_VERSION}"),
    later(
        rf"(?<![\w./])(?P<name>{_NAMES})`? ?(?:version)? ?(?:\([^)\n]{{0,20}}\))?"
        rf"(?:: ?|==| version )\s{{0,20}}"
        rf"{_VERSION}(?![\w/])",
        re.IGNORECASE,
    ),
)
#: one of each is in every line that `_VERSIONS` match, in lower case
_BEFORE_VERSION = later(r"(?:[=:(]|ersion)\s{0,21}v?\d{1,4}\.\d", re.IGNORECASE)
NAME_HINTS = (
    "torch", "vllm", "llm engine (", "transformers", "trl", "accelerate", "peft", "deepspeed", "datasets", "triton",
    "sglang", "bitsandbytes", "ray", "flash_attn", "verl", "nccl version", "nccl==", "wandb version",
)  # fmt: skip
_PYTHON = later(r"[/\\]python(?P<version>3\.\d{1,2})[/\\]")


def versions_in(text: str) -> dict[str, str]:
    """Versions that one line states, by distribution; `python` comes from the paths of frames."""
    found: dict[str, str] = {}
    if "." not in text:
        return found
    if _BEFORE_VERSION.search(text) and _holds(text.lower(), NAME_HINTS):
        for pattern in _VERSIONS:
            for match in pattern.finditer(text):
                name = match["name"].lower()
                found.setdefault(_ALIASES.get(name, name), match["version"])
    if "python3." in text and (python := _PYTHON.search(text)):
        found.setdefault("python", python["version"])
    return found
