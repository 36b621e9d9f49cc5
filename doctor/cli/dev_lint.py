"""What `doctor dev lint` finds fault with: what a schema cannot say of a problem's files."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from doctor import data
from doctor.base.redact import redact_text
from doctor.catalogue.finding import OPTION, Message, Phrase, Words
from doctor.catalogue.index import Entry, catalogue_roots, having_words, load
from doctor.catalogue.malformed import CHINESE
from doctor.catalogue.manual import HEADINGS, manual
from doctor.catalogue.pages.scaffold import UNFILLED
from doctor.catalogue.problem import AREAS, ERROR
from doctor.catalogue.problem_files import declared
from doctor.catalogue.retired_ids import RETIRED
from doctor.catalogue.shared.said import RELATIONS
from doctor.catalogue.shared.triggers import triggers_of
from doctor.catalogue.signature import Signature
from doctor.catalogue.words import LOG, MAIN, ProblemWords, words_of
from doctor.data.records import Defect
from doctor.logs.match.lint import lint as lint_pattern
from doctor.logs.match.problems import STANDARD_VALUES, named_groups
from doctor.logs.told.judged import is_id

_LONGEST_TITLE, _LONGEST_HEADLINE = 110, 90
#: a brace at the end holds a sentence of its own
_ENDS = (".", "。", "`", ")", ")", "}")
_ADDRESS = re.compile(r"https://[^\s]+\.[^\s]+")
_SMALL_TALK = re.compile(r"(?i)\b(please|simply)\b|might possibly")
_QUOTED = re.compile(r"`[^`]*`")
#: the beginning of `[?name|...?]`
_OPENED = re.compile(r"\[[?!]\w+\|")


def faults_of_catalogue() -> Iterator[str]:
    """What is wrong with the catalogue, one line each, in order of id."""
    entries = load()
    ids = {each.id for each in entries}
    yield from _faults_of_ids(entries)
    yield from _faults_of_foreseen(entries)
    yield from faults_of_defects(data.defects())
    for entry in entries:
        yield from (f"{entry.id} {entry.name}: {fault}" for fault in faults_of(entry, ids))
    problems = {entry.module for entry in entries}
    for module in (each for each in having_words() if each not in problems):
        yield from (f"{module}: {fault}" for fault in faults_of_all_words(module, words_of(module)))
    yield from _strays()


def faults_of_defects(defects: Iterable[Defect]) -> Iterator[str]:
    """Defects without an upper bound, or with an open one of which nobody says when it was seen."""
    for defect in defects:
        bounds = [part for versions in defect.when.values() for part in versions.split(",")]
        if not any(part.startswith(("<", "==")) for part in bounds):
            yield f"defect {defect.id}: no package has an upper bound of its versions"
        if any(part.startswith("<=") for part in bounds) != (defect.open_on is not None):
            yield f"defect {defect.id}: `<=` is for a defect that is open, and `open_on` says when that was seen"


def faults_of(entry: Entry, ids: set[str]) -> Iterator[str]:
    """What is wrong with one problem.

    Args:
        entry: the problem.
        ids: of all problems.

    """
    yield from _faults_of_entry(entry)
    yield from _faults_of_manual(entry)
    words = declared(entry)
    yield from faults_of_all_words(entry.module, words)
    for number, signature in enumerate(words.signatures):
        yield from (f"signature {number}: {fault}" for fault in _faults_of_signature(signature, ids))
    yield from _faults_of_triggers(words)
    yield from _faults_of_leads(entry, words.leads_to, ids)
    yield from _faults_of_braces(entry)


def _faults_of_foreseen(entries: Iterable[Entry]) -> Iterator[str]:
    """Problems that are said to be foreseen by others which have no check."""
    entries = tuple(entries)
    checked = {each.id for each in entries if each.checks}
    for entry in entries:
        for other in declared(entry).foreseen:
            if other not in checked:
                yield f"{entry.id} {entry.name}: foreseen: {other} has no check"


def _faults_of_triggers(words: ProblemWords) -> Iterator[str]:
    """Triggers without a condition, that name what is not there, or leave a brace of their message open."""
    idioms = {each.id for each in data.idioms()}
    for number, trigger in enumerate(triggers_of(words)):
        name = trigger.message or (MAIN if MAIN in words.messages else LOG)
        if name not in words.messages:
            yield f"trigger {number}: there is no message `{name}`"
            continue
        if trigger.code and trigger.code not in idioms:
            yield f"trigger {number}: there is no idiom `{trigger.code}`"
        if not (trigger.code or trigger.conditions or len(trigger.when) > 1):
            yield f"trigger {number}: a release alone is no trigger"
        if strays := sorted({each for _, each, _ in trigger.conditions} - RELATIONS):
            yield f"trigger {number}: there is no relation {', '.join(strays)}"
        said = words[name].words("en")
        texts = (said.headline, said.explanation, said.remedy)
        wanted = {field for text in texts for _, field, _, _ in string.Formatter().parse(text) if field}
        if lacking := sorted({re.split(r"[.\[?|]", each)[0] for each in wanted} - trigger.values.keys()):
            yield f"trigger {number}: nothing fills {', '.join(lacking)}"


def faults_of_all_words(module: str, words: ProblemWords) -> Iterator[str]:
    """What is wrong with messages and phrases.

    Args:
        module: dotted name of the files; of a problem, or of words that several share.
        words: what they declare.

    """
    for name, message in words.messages.items():
        yield from (f"message `{name}`: {fault}" for fault in _faults_of_message(message))
    code = _code_beside(module) if words.all_phrases else ""
    for name, phrase in words.all_phrases.items():
        yield from (f"phrase `{name}`: {fault}" for fault in _faults_of_phrase(phrase))
        if not re.search(rf"""["']{re.escape(name.partition(".")[0])}["'.]""", code):
            yield f"phrase `{name}`: the Python beside does not name it"


def _code_beside(module: str) -> str:
    """The Python that may say the words of a module: its own, and that of the table and the rows that it belongs to."""
    package, root = next(each for each in catalogue_roots().items() if module.startswith(f"{each[0]}."))
    path = Path(root, *module[len(package) + 1 :].split("."))
    table = path.parent if path.parent.with_suffix(".toml").is_file() else path
    files = [path.with_suffix(".py"), *(table.glob("*.py") if table.is_dir() else ())]
    return "\n".join(each.read_text(encoding="utf-8") for each in files if each.is_file())


def _faults_of_phrase(phrase: Phrase) -> Iterator[str]:
    if phrase.zh is None:
        yield f"it has no Chinese words (`{CHINESE}/`, under the same name)"
        return
    if _named(phrase.en) != _named(phrase.zh):
        yield "the braces, or what depends on `[?name|...?]`, are not the same in both languages"
    yield from _faults_of_text("words", phrase.en)
    yield from _faults_of_text("words", phrase.zh)


def _named(text: str) -> set[str]:
    """What a text asks for."""
    return _braces(OPTION.sub(r"\3", text)) | {name for _, name, _ in OPTION.findall(text)}


def _faults_of_leads(entry: Entry, leads_to: tuple[str, ...], ids: set[str]) -> Iterator[str]:
    """What a problem leads to: problems that there are, and patterns that the failure alone matches."""
    if leads_to and not entry.checks:
        yield "it leads to something, and no check finds it before"
    for each in leads_to:
        if is_id(each):
            if each not in ids:
                yield f"leads_to: {each} is not a problem"
            continue
        try:
            found = re.compile(each).search("")
        except re.error as error:
            yield f"leads_to: {each!r} is not a pattern: {error}"
            continue
        if found is not None:
            yield f"leads_to: {each!r} matches anything"


def _faults_of_ids(entries: tuple[Entry, ...]) -> Iterator[str]:
    for key in ("id", "name"):
        seen: set[str] = set()
        for entry in (each for each in entries if key == "id" or not each.is_row):
            value = getattr(entry, key)
            if value in seen:
                yield f"the {key} {value} is used twice"
            seen.add(value)
    for entry in entries:
        if entry.id in RETIRED:
            yield f"the id {entry.id} was retired, and is never used again"


def _faults_of_entry(entry: Entry) -> Iterator[str]:
    folder = entry.module.split(".checks.")[-1].split(".")[0]
    if AREAS.get(folder, entry.id[:3]) != entry.id[:3]:
        yield f"ids of the area {folder} begin with {AREAS[folder]}"
    if not entry.ends_run and entry.severity is ERROR:
        yield "an error ends a run, or ruins it; `ends_run = false` does not go with it"
    if entry.area == "perf" and entry.ends_run:
        yield "a slow run goes on: `ends_run = false`"


def _faults_of_manual(entry: Entry) -> Iterator[str]:
    text = manual(entry)
    if tuple(text.sections) != HEADINGS or not all(section.strip() for section in text.sections.values()):
        yield f"the manual lacks one of: {', '.join(HEADINGS)}"
    if not _ADDRESS.search(text.sections.get("References", "")):
        yield "the references name no public source"
    if len(text.title) > _LONGEST_TITLE:
        yield f"the title has {len(text.title)} columns, {_LONGEST_TITLE} are enough"
    for section in (text.title, *text.sections.values()):
        if UNFILLED in section:
            yield "the manual is not filled in"
            return


def _faults_of_message(message: Message) -> Iterator[str]:
    if message.zh is None:
        yield f"it has no Chinese words (`{CHINESE}/`, under the same name)"
    yield from _faults_of_words(message.en)
    if message.zh is not None:
        yield from (f"in Chinese, {fault}" for fault in _faults_of_words(message.zh))
    ours = _QUOTED.sub("", " ".join(vars(message.en).values()))
    if found := _SMALL_TALK.search(ours):
        yield f"`{found[0]}` says nothing"
    headline = string.Formatter().vformat(OPTION.sub("", message.en.headline), (), _Blank())
    if len(headline) > _LONGEST_HEADLINE:
        yield f"the headline has {len(headline)} columns without its values, {_LONGEST_HEADLINE} are enough"
    if message.zh is not None:
        known = set().union(*map(_braces, vars(message.en).values()))
        if _options(message.en) != _options(message.zh):
            yield "what depends on `[?name|...?]` is not the same in both languages"
        told = (OPTION.sub("", text) for text in vars(message.zh).values())
        asked = {each for text in told for each in _braces(text)}
        if unknown := sorted(asked - known):
            yield f"the Chinese words have braces that the English ones lack: {', '.join(unknown)}"


def _options(words: Words) -> set[str]:
    """Names on which a part of the words depends."""
    return {name for text in vars(words).values() for _, name, _ in OPTION.findall(text)}


def _faults_of_words(words: Words) -> Iterator[str]:
    if words.headline.endswith((".", "。")):
        yield "the headline ends with a period"
    for part in ("explanation", "remedy"):
        if not OPTION.sub(r"\3", getattr(words, part)).rstrip().endswith(_ENDS):
            yield f"the {part} is not a sentence: {getattr(words, part)!r}"
    for part, text in vars(words).items():
        yield from _faults_of_text(part, text)


def _faults_of_text(part: str, text: str) -> Iterator[str]:
    if redact_text(text) != text:
        yield f"the {part} looks like a secret, which would be taken out of a report"
    if UNFILLED in text:
        yield f"the {part} is not filled in"
    rest = OPTION.sub("", text)
    if "?]" in rest or _OPENED.search(rest):
        yield f"the {part} has a `[?name|...?]` without its beginning or its end"


def _faults_of_signature(signature: Signature, ids: set[str]) -> Iterator[str]:
    yield from lint_pattern(signature)
    if UNFILLED in signature.pattern:
        yield "the pattern is not filled in"
    for other in (*signature.symptom_of, *signature.contributes_to):
        if other != "*" and other not in ids and other not in AREAS.values():
            yield f"{other} is not a problem"


def _faults_of_braces(entry: Entry) -> Iterator[str]:
    """Braces of what is said of hits that a signature does not capture."""
    words = declared(entry)
    shown = [each for each in words.signatures if each.kind != "sign"]
    if not shown or ((entry.has_code or entry.shares_code) and _explains(entry)):
        return
    said: list[tuple[int, Message, tuple[str, ...]]]
    standard: tuple[str, ...]
    if words.cases:
        said = [(number, case.message, ()) for number, case in enumerate(words.cases)]
        standard = ()
    elif LOG in words.messages or MAIN in words.messages:
        message = words.messages.get(LOG) or words[MAIN]
        said = [(number, message, words.commands) for number in range(len(words.signatures))]
        standard = STANDARD_VALUES
    else:
        yield f"there is no message `{LOG}` or `{MAIN}` for what is said of hits"
        return
    for number, message, commands in said:
        signature = words.signatures[number]
        texts = [text for each in (message.en, message.zh) if each is not None for text in vars(each).values()]
        wanted = set().union(*map(_braces, (*texts, *commands)))
        missing = sorted(wanted - set(named_groups(signature)) - set(standard))
        if missing and signature.kind != "sign":
            yield f"signature {number}: does not capture {', '.join(missing)}, which the words about it ask for"


def _explains(entry: Entry) -> bool:
    from doctor.catalogue.problem_files import function_of

    return function_of(entry, "explain") is not None


def _strays() -> Iterator[str]:
    """Chinese words of no problem."""
    known = set(having_words())
    for package, root in catalogue_roots().items():
        for path in sorted(Path(root).rglob(f"{CHINESE}/*.toml")):
            dotted = ".".join((package, *path.parent.parent.relative_to(root).parts, path.stem))
            if dotted not in known:
                yield f"{path}: there is no problem of this name in the folder above"


def _braces(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


class _Blank(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "8"
