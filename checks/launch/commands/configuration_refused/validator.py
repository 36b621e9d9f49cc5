"""Judges LCH6560/validator, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Message, Skip, found
from doctor.catalogue.words import words_of
from doctor.facts.framework_words import FrameworkWords

TOML = words_of(__name__)
PROBLEM = TOML.problem
SETTINGS, ENVIRONMENT, MISSING = TOML["settings"], TOML["environment"], TOML["missing"]

#: frameworks whose validation also looks at the cards and processes that it finds
_SEES_DEVICES = frozenset({"llamafactory", "swift", "axolotl", "oumi", "openrlhf", "slime"})
_OF_DEVICES = later(
    r"\b(?:cuda|gpus?|npus?|bf16|fp16|tf32|fp8|devices?|driver|world[_ ]size|local_rank|compute capability)\b"
    r"|distributed|torchrun",
    re.IGNORECASE,
)
#: frameworks whose entry point was tried with the real package; that of others is known from its source alone
_TRIED = frozenset({"verl", "areal", "axolotl", "rllm"})
#: what is said where the network is missing, in exceptions that are no OSError
_OF_NETWORK = later(
    r"\b(?:offline|connect(?:ion)?|internet|download|cached? files?|couldn't reach|hub\b.{0,40}\bfind)\b", re.IGNORECASE
)
#: classes that say something of values; others are slips of code, or of the call
_OF_VALUES = later(
    r"ValueError|AssertionError|SystemExit|NotImplementedError|\w*ValidationError"
    r"|(?:Config|Override|MissingConfig|Interpolation|Unsupported|Readonly)\w*|Overrides?Error|Oumi\w{0,40}Error"
)
_OF_IMPORTS = ("ImportError", "ModuleNotFoundError", "PackageNotFoundError")
_VERSION = later(r"[<>=!~]=?\s?v?\d+(?:\.\d+)+|\bversion\b|\binstalled?\b")
#: a setting in the words of a parser: an option, or a name between quotes
_NAMED = later(r"(?<![\w./-])(--[A-Za-z][\w.-]{1,60})|['\"`]\+?([a-z][\w.]{2,80})(?:=[^'\"`\n]{0,80})?['\"`]")
_NAMES = 4
#: pydantic says the place of a value on a line of its own, and quotes the value behind its words
#: (https://docs.pydantic.dev/latest/errors/errors/)
_PYDANTIC = later(r"\bvalidation errors? for \w")
_PLACE, _QUOTED_INPUT = re.compile(r"^([a-z][\w.]{1,80})$", re.MULTILINE), re.compile(r"\[type=[^\n]*")


# these say the same of a setting with the place where it is written, and the validator ends at its first objection
@check(
    PROBLEM,
    requires=(
        "VRL001", "VRL037", "VRL3088/samples", "VRL3088/mini", "VRL3088/mini_above_batch", "VRL3088/micro_unclear",
    ),
)  # fmt: skip
def refused_by_its_validator(framework_words: FrameworkWords) -> Judgement:
    """Judge what can only be said of settings or packages; what the held process lacks is not held against the user."""
    words = framework_words
    if words.outcome == "accepts":
        return
    reason = _not_judged(words)
    if reason is not None:
        yield Skip(reason)
        return
    yield found(
        PROBLEM, _message(words), confidence=CONFIRMED if _proved(words) else LIKELY,
        evidence=(Observed.quoted(f"{words.program}'s validator", words.message or words.kind or ""),),
        program=words.program, version=words.version or "", kind=words.kind, module=words.missing or "",
        place=f"{words.file}:{words.line}" if words.file else words.raised_in or "",
        names=", ".join(f"`{each}`" for each in named(words.message or "")),
    )  # fmt: skip


def _not_judged(words: FrameworkWords) -> str | None:
    """Why nothing follows from an answer, None where something does."""
    message, kind = words.message or "", words.kind or ""
    if words.outcome == "not_asked":
        return f"{words.program}'s own validator was not called: {message}"
    if words.outcome == "timeout":
        return f"{words.program}'s own validator did not answer in time"
    if words.outcome == "signal":
        return f"{words.program}'s own validator ended by {message}"
    # Hydra lists what there is on the lines below, and a name there may be any word
    told = message.partition("\n")[0] if kind == "MissingConfigException" else message
    if words.wanted or words.system or _OF_NETWORK.search(told):
        return f"{words.program}'s own validator needs the network or files that it may not use here"
    if kind in _OF_IMPORTS:
        return (
            None
            if _of_packages(words)
            else f"a module of {words.program} cannot be imported here, for a reason that names no package"
        )
    if not _OF_VALUES.fullmatch(kind):
        return f"{words.program}'s own validator ended with {kind}, which does not concern a setting"
    if words.framework in _SEES_DEVICES and _OF_DEVICES.search(message):
        return f"{words.program}'s own validator depends on GPUs or processes, which it does not see here"
    return None


def _of_packages(words: FrameworkWords) -> bool:
    """Whether a failed import tells a package that is missing, or a version; a library of the driver's is neither."""
    message = words.message or ""
    if ".so" in message or _OF_DEVICES.search(message):
        return False
    if words.missing:
        return words.kind == "ModuleNotFoundError" and words.missing.split(".")[0] != words.framework
    return bool(_VERSION.search(message))


def _message(words: FrameworkWords) -> Message:
    """A package that lacks a module is there in another release."""
    if words.kind not in _OF_IMPORTS:
        return SETTINGS
    return MISSING if words.missing and "." not in words.missing else ENVIRONMENT


def _proved(words: FrameworkWords) -> bool:
    """Only where the framework itself raised, looks at nothing but settings, and was seen to be called as it should."""
    return words.file is not None and words.framework in _TRIED and words.kind not in _OF_IMPORTS


def named(message: str) -> tuple[str, ...]:
    """Settings that a message names between quotes, as options, or as pydantic does, in its order."""
    places: list[str] = []
    if _PYDANTIC.search(message):
        places, message = _PLACE.findall(message), _QUOTED_INPUT.sub("", message)
    names = (option or quoted for option, quoted in _NAMED.findall(message))
    return tuple(dict.fromkeys((*places, *names)))[:_NAMES]
