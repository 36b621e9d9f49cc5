"""Judges llamafactory-data-refused (DAT043) before launch; its words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Message, found
from doctor.catalogue.settings import at
from doctor.catalogue.shared.trainers import listing
from doctor.catalogue.words import words_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.llamafactory_data import Declared, LlamafactoryData

TOML = words_of(__name__)
PROBLEM = TOML.problem
ENTRY = TOML["dataset_entry"]
READ = TOML["read"]
FILE = TOML["data_file"]
RANKED = TOML["ranked_for_single"]
NOT_RANKED = TOML["single_for_ranked"]
COLUMN = TOML["column_absent"]
KEY = TOML["key_absent"]
ROLES = TOML["roles_differ"]
NO_TEXT = TOML["answers_no_text"]

#: stages that read pairs, and those that refuse them
#: (https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.3/src/llamafactory/data/loader.py, `_get_merged_dataset`)
_OF_PAIRS, _OF_ANSWERS = frozenset({"rm", "dpo", "orpo"}), frozenset({"pt", "sft", "ppo", "kto"})
#: read with a default where the rows are OpenAI's
_OPTIONAL = frozenset({"system", "tools"})
_ROLES = ("user_tag", "assistant_tag", "observation_tag", "function_tag", "system_tag")


@check(PROBLEM)
def data_refused(framework_config: FrameworkConfig, llamafactory_data: LlamafactoryData) -> Judgement:
    """Each dataset against the stage, its file and the first rows; a dataset has one finding."""
    data = llamafactory_data
    if data.broken is not None:
        yield found(
            PROBLEM, READ, confidence=LIKELY, where=at(data.broken.place), file=_short(data.info),
            evidence=(Observed.quoted(data.info, data.broken.message),),
        )  # fmt: skip
        return
    stage = framework_config.value("stage")
    for each in data.declared:
        told = next(_of_entry(each, stage if isinstance(stage, str) else None), None)
        if told is not None:
            yield told


def _of_entry(entry: Declared, stage: str | None) -> Iterator[Finding]:
    if not entry.defined:
        yield _told(entry, ENTRY, dataset=entry.name, file="dataset_info.json")
    elif entry.file_absent:
        yield _told(entry, FILE, file=_short(entry.file or ""))
    elif stage in _OF_PAIRS and not entry.ranking:
        yield _told(entry, NOT_RANKED, name=entry.name, stage=stage)
    elif stage in _OF_ANSWERS and entry.ranking:
        yield _told(entry, RANKED, name=entry.name, stage=stage)
    elif entry.row_columns:
        yield from _of_rows(entry)


def _of_rows(entry: Declared) -> Iterator[Finding]:
    for name, column in entry.columns.items():
        optional = entry.formatting == "openai" and name in _OPTIONAL
        if column not in entry.row_columns and not optional:
            yield _told(
                entry, COLUMN, name=entry.name, key=name, column=column, file=_short(entry.file or ""),
                columns=listing(entry.row_columns[:6]),
            )  # fmt: skip
    answers = entry.columns.get("response")
    if entry.formatting == "alpaca" and not entry.ranking and answers in entry.no_texts:
        yield _told(entry, NO_TEXT, name=entry.name, column=answers, file=_short(entry.file or ""))
    if entry.formatting == "alpaca" or not entry.message_keys:
        return
    for tag in ("role_tag", "content_tag"):
        key = entry.tags.get(tag)
        if key not in entry.message_keys:
            keys = listing(entry.message_keys[:6])
            yield _told(entry, KEY, name=entry.name, tag=tag, key=key or "None", keys=keys)
    accepted = [entry.tags[tag] for tag in _ROLES if tag in entry.tags]
    others = [each for each in entry.roles if each not in accepted]
    if others:
        yield _told(entry, ROLES, name=entry.name, roles=listing(others[:4]), accepted=listing(accepted))


def _told(entry: Declared, message: Message, **values: Any) -> Finding:
    shown = f"{entry.name}: formatting {entry.formatting}, ranking {str(entry.ranking).lower()}"
    if entry.row_columns:
        shown += f"; first rows: {', '.join(entry.row_columns[:8])}"
    evidence = (Observed.quoted(entry.place.file, shown, entry.place.line),)
    return found(PROBLEM, message, confidence=LIKELY, where=at(entry.place), evidence=evidence, **values)


def _short(path: str) -> str:
    return path.rpartition("/")[2]
