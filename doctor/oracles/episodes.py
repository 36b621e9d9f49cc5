"""Episodes of agents: how each ended, and whether its reward says anything about the policy.

Only what the environment said counts, never what the policy wrote: a policy may well write about time-outs. Of plain
text the environment's part is what stands in the marks of chat templates and of the common agent formats (Qwen's
`<tool_response>`, Llama's `ipython`, Search-R1's `<information>`, an observation of ReAct).
https://github.com/volcengine/verl/blob/main/docs/sglang_multiturn/multiturn.rst
https://github.com/PeterGriffinJin/Search-R1
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, Verdict, unseen

#: ends of an episode
DONE, LENGTH, TURNS, TOOL, SANDBOX, REWARD, PARSER = (
    "done", "length-limit", "turn-limit", "tool-error", "sandbox", "reward-service", "parser",
)  # fmt: skip

#: share of the episodes that may fail for the environment's reasons before it is doubtful, and before it is broken
DOUBTFUL_SHARE, BROKEN_SHARE = 0.05, 0.2

#: share of the tool calls that may fail, and how many there must be
TOOL_SHARE, MOST_CALLS_NEEDED = 0.5, 20

#: failures that are no accident, and episodes on each side before means are compared
LEAST_FAILED, LEAST_COMPARED = 3, 5

#: characters of what an environment said that are looked at, at both ends
_LOOKED_AT = 2000

_LATE = r"(?:timed?[ -]?out|time[ -]?limit exceeded|unavailable|unreachable|not respond)"
_NETWORK = re.compile(
    r"connection (?:refused|reset|aborted|error|timed out)|connectionerror|readtimeout|connecttimeout|"
    r"max retries exceeded|name or service not known|temporary failure in name resolution|"
    r"\b50[234]\b.{0,30}(?:gateway|unavailable|server)|service (?:temporarily )?unavailable|"
    r"(?:error|status|http)\W{0,12}429\b|too many requests|rate limit(?:ed| exceeded)",
    re.IGNORECASE,
)
#: a hero may die in an environment and a car crash there, so that only what holds programs is taken at these words
_SANDBOX = re.compile(
    rf"(?:sandbox|container|docker|executor|kernel)\b.{{0,60}}(?:{_LATE}|crashed|died|refused|was killed)|"
    rf"(?:runtime|execution|interpreter|command|environment)\b.{{0,60}}{_LATE}|"
    rf"{_LATE}.{{0,40}}(?:sandbox|execution|command)|"
    r"\btimeout(?:error|expired|exception)?\b\s*(?::|after|$)|no (?:such )?(?:container|sandbox)\b|"
    r"failed to (?:start|create) (?:the )?(?:sandbox|container|environment)",
    re.IGNORECASE,
)
_REWARD = re.compile(
    r"(?:reward|judge|grader|verifier|scorer|scoring)\b.{0,60}"
    rf"(?:{_LATE}|refused|\b50[0234]\b|\b429\b|service failed)",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"max(?:imum)?[ _-]?(?:number of )?(?:turns|steps|iterations|rounds)|(?:turn|step)[ _-]?limit", re.IGNORECASE
)
_PARSER = re.compile(
    r"(?:could not|cannot|can't|failed to|unable to) (?:be )?pars|invalid (?:json|format|action|tool call)|"
    r"no (?:valid )?action",
    re.IGNORECASE,
)
_FAILED = re.compile(r"^\W{0,3}(?:error|exception|traceback|failed|failure)\b|\"error\"\s*:\s*[\"{]", re.IGNORECASE)

#: what stands around the environment's words in text
_MARKED = re.compile(
    r"<tool_response>(.*?)</tool_response>|<information>(.*?)</information>|<(?:result|observation|output)>(.*?)</"
    r"|<\|im_start\|>(?:tool|observation)\n(.*?)<\|im_end\|>"
    r"|<\|start_header_id\|>ipython<\|end_header_id\|>(.*?)<\|eot_id\|>"
    r"|^Observation:(.*?)$|```output\n(.*?)```",
    re.DOTALL | re.MULTILINE,
)
_ENVIRONMENT = frozenset({"tool", "function", "environment", "observation", "ipython"})


class Episode(NamedTuple):
    """One episode.

    Args:
        end: one of `DONE` and the other ends.
        outside: whether it failed for the environment's reasons.
        reward: that it was graded with; None: it was left out.
        acted: whether the policy wrote anything.
        calls: answers of the environment, and `failed` of them.

    """

    end: str
    outside: bool
    reward: Optional[float]
    acted: bool
    calls: int = 0
    failed: int = 0


def environment_words(answer: Any) -> list[str]:
    """What the environment said in an episode, in order: messages of its roles, or marked parts of a text.

    >>> environment_words([{"role": "assistant", "content": "ls"}, {"role": "tool", "content": "a.py"}])
    ['a.py']
    >>> environment_words("ls <tool_response>timed out</tool_response> hm")
    ['timed out']
    """
    if isinstance(answer, str):
        return ["".join(part or "" for part in each) for each in _MARKED.findall(answer)]
    if isinstance(answer, (list, tuple)):
        return [_text(each.get("content")) for each in answer if _is_environment(each)]
    return []


def _is_environment(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") in _ENVIRONMENT


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, Mapping))
    return "" if content is None else str(content)


def episode(
    answer: Any, reward: Optional[float], *, finish: Optional[str] = None, truncated: Optional[bool] = None
) -> Episode:
    """Judge one episode by what its environment said last.

    Args:
        answer: text, or messages, of everything behind the prompt.
        reward: that it was graded with; None or NaN: left out.
        finish: a word of the framework on how it ended (`finish_reason`, `exit_status`, an error's text).
        truncated: whether it was cut off at the length limit.

    >>> episode([{"role": "tool", "content": "Error: execution timed out after 10 s"}], 0.0).end
    'sandbox'
    >>> episode("I think that connection refused is a common error", 1.0).end
    'done'
    """
    said = environment_words(answer)
    graded = None if reward is None or math.isnan(reward) else float(reward)
    end, outside = _end(said, finish or "", truncated)
    failed = sum(bool(_FAILED.search(each[:200]) or _NETWORK.search(_ends(each))) for each in said)
    return Episode(end, outside, graded, _acted(answer), len(said), failed)


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]} {text[-_LOOKED_AT:]}"


def _end(said: Sequence[str], finish: str, truncated: Optional[bool]) -> tuple[str, bool]:
    """How it ended, and whether for the environment's reasons: by the framework's word, then by the last answer."""
    for text in (finish, _ends(said[-1]) if said else ""):
        if not text:
            continue
        if _REWARD.search(text):
            return REWARD, True
        if _NETWORK.search(text):
            return TOOL, True
        if _SANDBOX.search(text):
            return SANDBOX, True
        if _TURNS.search(text):
            return TURNS, False
        if _PARSER.search(text):
            return PARSER, False
    if truncated or finish.strip().lower() in {"length", "max_tokens"}:
        return LENGTH, False
    if said and _FAILED.search(said[-1][:200]):
        return TOOL, False
    return DONE, False


def _acted(answer: Any) -> bool:
    if isinstance(answer, str):
        return bool(_MARKED.sub("", answer).strip())
    if isinstance(answer, (list, tuple)):
        return any(
            _text(each.get("content")).strip() or each.get("tool_calls")
            for each in answer
            if isinstance(each, Mapping) and not _is_environment(each)
        )
    return True


@dataclass
class Episodes:
    """Counts over many episodes; `agents` says whether any environment spoke at all."""

    count: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)
    graded_outside: list[float] = field(default_factory=list)
    graded_tries: list[float] = field(default_factory=list)
    graded: int = 0
    idle: int = 0
    calls: int = 0
    failed: int = 0

    def add(self, each: Episode) -> None:
        """Take one in."""
        self.count += 1
        self.calls += each.calls
        self.failed += each.failed
        self.ends[each.end] = self.ends.get(each.end, 0) + 1
        if each.outside:
            self.outside[each.end] = self.outside.get(each.end, 0) + 1
        if each.reward is None:
            return
        self.graded += 1
        self.idle += not each.acted
        kept = self.graded_outside if each.outside else self.graded_tries
        if len(kept) < 100_000:
            kept.append(each.reward)

    def extend(self, every: Iterable[Episode]) -> None:
        """Take several in."""
        for each in every:
            self.add(each)

    @property
    def agents(self) -> bool:
        """Whether an environment took part."""
        return bool(self.calls or self.outside or self.ends.get(TURNS))


def infrastructure(told: Episodes) -> Verdict:
    """Which share of the episodes failed for the environment's reasons.

    Returns:
        `value` is the share: doubtful above 5 %, broken above 20 %, and at least three. `details`: `ends` (which, how
        many), `graded` (of them) and `reward` (their mean).
    """
    failed = sum(told.outside.values())
    if not told.count or not told.agents:
        return unseen("infrastructure", "no environment was used")
    value, graded = failed / told.count, told.graded_outside
    details = {
        "ends": dict(told.outside),
        "graded": len(graded),
        "reward": sum(graded) / len(graded) if graded else 0.0,
    }
    reason = f"{failed} of {told.count} episodes failed for the environment's reasons, {len(graded)} of them are graded"
    state = HOLDS
    if failed >= LEAST_FAILED and value > DOUBTFUL_SHARE:
        state = BROKEN if value > BROKEN_SHARE else DOUBTFUL
    return Verdict("infrastructure", state, value, DOUBTFUL_SHARE, reason, details)


def default_reward(told: Episodes) -> Verdict:
    """Whether failing pays: episodes that failed outside have one reward, and it is above the mean of the others."""
    outside, tries = told.graded_outside, told.graded_tries
    if min(len(outside), len(tries)) < LEAST_COMPARED:
        return unseen("default-reward", "too few graded episodes failed")
    value, mean = max(outside), sum(tries) / len(tries)
    error = math.sqrt(sum([(each - mean) * (each - mean) for each in tries]) / len(tries) / len(tries))
    pays = value == min(outside) and value > mean + 2 * error
    reason = f"failed episodes get {value:g}, tries {mean:g}"
    return Verdict("default-reward", BROKEN if pays else HOLDS, value, mean, reason)


def idle_episodes(told: Episodes) -> Verdict:
    """Which share of the graded episodes of agents has not one action."""
    if not told.graded or not told.agents:
        return unseen("idle-episodes", "no environment was used")
    value = told.idle / told.graded
    state = DOUBTFUL if told.idle >= LEAST_FAILED and value > DOUBTFUL_SHARE else HOLDS
    return Verdict(
        "idle-episodes", state, value, DOUBTFUL_SHARE, f"{told.idle} of {told.graded} graded episodes have no action"
    )


def tool_failures(told: Episodes) -> Verdict:
    """Which share of the tool calls failed."""
    if told.calls < MOST_CALLS_NEEDED:
        return unseen("tool-failures", f"{told.calls} calls are too few")
    value = told.failed / told.calls
    state = DOUBTFUL if value > TOOL_SHARE else HOLDS
    return Verdict("tool-failures", state, value, TOOL_SHARE, f"{told.failed} of {told.calls} tool calls failed")
