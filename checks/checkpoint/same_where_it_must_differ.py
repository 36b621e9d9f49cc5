"""Words same-where-it-must-differ (CKP3553), whose texts stand in the TOML beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: a text under a short label: `base : "..."`
_LABELLED = later(
    r"^\s*[\[(<*#-]{0,3}\s*(?P<label>[A-Za-z][A-Za-z \-+]{1,28}?)\s*[\])>*]{0,3}\s*[:=]\s*(?P<text>\S.*)$"
)
_BASE = later(
    r"(?i)^(?:the )?(?:base|before|original|un-?trained|pre-?trained|initial)(?: model| training| answer| output)?$"
    r"|\b(?:without|no|off)\b.{0,4}\b(?:adapter|lora)|(?:adapter|lora) off$"
)
_TRAINED = later(
    r"(?i)^(?:the )?(?:q?lora|dora|adapter|sft|dpo|grpo|rl|(?:fine-?)?tuned|trained|after|merged)"
    r"(?: model| training| adapter| answer| output)?$|\b(?:with|on)\b.{0,4}\b(?:adapter|lora)|(?:adapter|lora) on$"
)
#: paths and names are settings; a number of few digits is the same by chance
_NO_ANSWER = later(r"^['\"]?(?:[\w.\-]*/[\w./\-]*|-?\d+(?:\.\d{0,3})?%?|\S+\.(?:json|ya?ml|py|bin|safetensors))['\"]?$")
_SHORTEST = 4
_SAID = later(
    r"(?i)\b(?:same|identical|no different|not differ\w*|exactly equal)\b[^.\n]{0,80}"
    r"\b(?:base|original|untrained|pre-?trained)(?: model)?\b"
    r"|\b(?:base|original|untrained) model\b[^.\n]{0,60}\b(?:the same|identical)\b"
)
_NOT_SAID = later(r"(?i)\bsame base\b|\bfrom the same\b|\bsame (?:original|pre-?trained)\b")
#: code that loads a model shows itself where its weights stop
_CODE = later(
    r"(?m)^\s*(?:[\w.]+\s*=\s*)?(?:[A-Z]\w+\.from_pretrained|get_peft_model|\w+\.load_(?:adapter|state_dict))\("
)
#: `target_modules=["q_proj"]` of an adapter, `--lora-target-modules q_proj k_proj` of a server
_OF_ADAPTER = later(r"(?<![-_])\btarget_modules['\"]?\s?[:=]\s?(?P<names>\[[^\]\n]{2,300}\]|['\"]\w{2,40}['\"])")
_OF_SERVER = later(r"--lora-target-modules[ =](?P<names>\w{2,40}(?:[ ,]\w{2,40}){0,20})(?=\s*(?:$|\n|--|\\))")
_NAME = later(r"\w{2,40}")
_NO_CACHE = later(r"(?i)use_cache\s?=\s?False")
#: settings that name what is loaded
_LOADED = later(r"(?i)adapter|lora_(?:path|modules)|checkpoint|finetuning_type|peft")
_MOST_SETTINGS = 3
_DIGEST = later(r"^\s*(?P<digest>[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})(?:\s|$)")
_WHAT = later(r"['\"]?(?P<what>[A-Za-z_]\w{2,40})[\w.\-*]*\*[\w.*\-]*")


def of_quoted(courses: Courses) -> Finding | None:
    """Answers of a trained model that are those of its base, and files of several steps that hold the same."""
    if not courses.excerpt:
        return None
    answer = _same_answer(courses.words)
    if answer:
        return _of_answers(courses, TOML["answers"], answer=answer)
    said = next((each for each in _SAID.finditer(courses.words) if not _NOT_SAID.search(each[0])), None)
    if said is not None and not _CODE.search(courses.words):
        return _of_answers(courses, TOML["said"], answer="")
    return _same_files(courses.words)


def _of_answers(courses: Courses, message: object, answer: str) -> Finding:
    adapter, server = _names(_OF_ADAPTER, courses.words), _names(_OF_SERVER, courses.words)
    apart = bool(adapter and server) and not any(
        one == other or one.endswith(other) or other.endswith(one) for one in adapter for other in server
    )
    settings = [
        f"`{name}={value}`"
        for name, value in courses.settings.items()
        if _LOADED.search(name) and "." not in name and isinstance(value, str) and value
    ]
    return found(
        PROBLEM, message, confidence=LIKELY, answer=answer[:60], adapter=", ".join(sorted(adapter)) if apart else "",  # type: ignore[arg-type]
        server=", ".join(sorted(server)) if apart else "", cache=bool(_NO_CACHE.search(courses.words)),
        settings=", ".join(settings[:_MOST_SETTINGS]),
    )  # fmt: skip


def _same_answer(text: str) -> str:
    """The text that stands under a label of the base and under one of the trained model; "" where none does."""
    base: set[str] = set()
    trained: set[str] = set()
    for line in text.splitlines():
        match = _LABELLED.match(line[:600])
        words = match["text"].strip().strip("'\"") if match else ""
        if match is None or len(words) < _SHORTEST or _NO_ANSWER.match(words):
            continue
        if _BASE.search(match["label"].strip()):
            base.add(words)
        elif _TRAINED.search(match["label"].strip()):
            trained.add(words)
    # one prompt of several may be answered alike
    return min(base) if base and base == trained else ""


def _names(pattern: re.Pattern[str], text: str) -> set[str]:
    return {name for match in pattern.finditer(text) for name in _NAME.findall(match["names"])}


def _same_files(text: str) -> Finding | None:
    """Checksums of the same files of several steps: all equal of one kind, and all different of another."""
    groups = list(_digests(text))
    moved = any(len(set(digests)) == len(digests) > 1 for _, digests in groups)
    for what, digests in groups:
        if moved and len(digests) > 1 and len(set(digests)) == 1:
            return found(PROBLEM, TOML["files"], confidence=LIKELY, count=len(digests), what=what)
    return None


def _digests(text: str) -> Iterator[tuple[str, list[str]]]:
    """What each run of checksums is of, by the pattern of the line above it."""
    above, digests = "", []
    for line in (*text.splitlines(), ""):
        match = _DIGEST.match(line)
        if match is not None:
            digests.append(match["digest"])
            continue
        if digests:
            what = _WHAT.search(above)
            yield (what["what"] if what else "files"), digests
        above, digests = line[:600], []
