"""Takes apart an exception of Python that no signature knows: who asked what of whom, by its type, words and frames.

Python words these exceptions itself, so their parts stand in fixed places: the name, the class, the key, the function
(https://docs.python.org/3/library/exceptions.html). The innermost frame that asked tells whose code it is, and its line
of which expression it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.unrecognised import Mismatch
from doctor.data import training_argument, trl_argument, trl_classes
from doctor.data.api import distribution, has_class, packages, parameters_of
from doctor.logs.failures import extremes, recursion, wordings
from doctor.logs.failures.asked import (
    asked_for_attribute,
    asked_for_entry,
    asked_for_length,
    asking_frame,
    code_of,
    raised_at,
)
from doctor.logs.failures.beside import switches
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.handed import handed_down
from doctor.logs.failures.paths import PATH, kind_of, settings_of_path
from doctor.logs.failures.raised import Raised
from doctor.logs.failures.replaced import in_place_of_unknown
from doctor.logs.failures.spoken import settings_that_name
from doctor.logs.failures.typeless import lines_of
from doctor.logs.failures.unrecognised import place_of
from doctor.logs.lines.lines import Line
from doctor.logs.metrics.courses import settings_of

_AREA = "python"
_LONGEST = 600  # characters of a message
_MOST_LINES, _AGAIN = 20_000, 3
#: "... failed: local variable 'x' referenced before assignment", as handlers log an exception that they caught
_REPORTED = later(
    r"(?i)\b(?:error|fail(?:ed|ure)?|exception)\b[^\n]{0,300}?: (?P<words>(?-i:[A-Za-z_'\[][^\n]{8,300}))$"
)

_UNSET = later(r"^name '(?P<name>\w{1,80})' is not defined")
_UNBOUND = later(
    r"^(?:local variable '(?P<old>\w{1,80})' referenced before assignment"
    r"|cannot access (?:local|free) variable '(?P<name>\w{1,80})' where it is not associated with a value)"
)
_KEY = later(r"^(?P<quote>['\"])(?P<name>[^'\"\n]{1,120})(?P=quote)$")
_LACKS = later(
    r"^(?:(?:type object )?'(?P<of>[\w.]{1,80})'(?: object)?|object) has no attribute '(?P<name>\w{1,80})'"
    r"(?:\. Did you mean: '(?P<meant>\w{1,80})')?"
)
_NONE = later(
    r"^(?:'NoneType' object (?:has no attribute '(?P<name>\w{1,80})'|is not (?P<how>subscriptable|iterable|callable)"
    r"|does not support item assignment)|object of type 'NoneType' has no (?P<len>len)\(\)"
    r"|argument of type 'NoneType' is not (?:iterable|a container or iterable))"
)
_KEYWORD = later(
    r"^(?P<of>[A-Za-z_][\w.<>]{0,160})\(\) got an unexpected keyword argument '(?P<name>\w{1,80})'"
    r"(?:\. Did you mean '(?P<meant>\w{1,80})')?"
)
_COUNT = later(
    r"^(?P<of>[A-Za-z_][\w.<>]{0,160})\(\) takes (?P<taken>(?:from \d+ to )?\d+) positional arguments? but "
    r"(?P<given>\d+) (?:was|were) given"
)
_MISSING = later(
    r"^(?P<of>[A-Za-z_][\w.<>]{0,160})\(\) missing \d{1,2} required (?:positional|keyword-only) arguments?: "
    r"'(?P<name>\w{1,80})'"
)
_OTHER = later(
    r"^(?:'(?P<of>\w{1,80})' object (?:is not (?:subscriptable|iterable|callable)"
    r"|does(?: not|n't) support item (?:assignment|deletion))|(?P<indexed>list|string|tuple) indices must be integers"
    r"|object of type '(?P<sized>\w{1,80})' has no len\(\)|unhashable type: '(?P<hashed>\w{1,80})')"
)
_NOT_LISTED = later(r"^(?P<value>'[^'\n]{1,300}'|\"[^\"\n]{1,300}\"|-?[\d.]{1,20}) is not in (?:list|tuple|deque)$")
#: a requirement, as people write what they have installed
_PIN = later(
    r"(?m)^\s{0,8}(?P<name>[A-Za-z][\w.\-]{1,40})\s?(?P<sign>[=><~]=)\s?(?P<version>\d[\w.+!]{0,30})\s*(?:#|$)"
)
_MOST_INSTALLED, _MOST_SETTINGS, _PRINTED = 6, 3, 200
#: a keyword of a call, and a tensor of one number as it is printed: `'num_items_in_batch': tensor(38544.`
_GIVEN = later(r"(?<![\w.])(?P<name>[a-z]\w{1,60})\s?=(?!=)")
_SINGLE = later(r"['\"]?(?P<name>[A-Za-z_]\w{1,60})['\"]?\s?[:=]\s?tensor\(-?\d")
#: a line of a message, as it stands below `raise Error(`
_LITERAL = later(r"""^f?(?P<quote>['"])(?P<words>[^\n]{10,300}?)(?P=quote)?,?$""")
_HOLE, _WORD, _FEWEST_WORDS = later(r"\{[^{}\n]{1,120}\}"), later(r"[A-Za-z]{2,}"), 5
_CHECKPOINT = later(r"\bcheckpoint-\d{1,9}\b")

#: what is asked for its next entry: `next(iter(loader))`, `next(prompts)`
_NEXT = later(r"\bnext\((?P<what>(?:iter\()?[\w.\[\]'\"]{1,80})\)")
_LOADER = "torch/utils/data/dataloader.py"
#: a parameter by its name or its identity, what wraps a model, and what replaces its parameters
_WEIGHT = later(r"^[A-Za-z_]\w*(?:\.\w+)+\.(?:weight|bias|lora_[AB](?:\.\w+)*)$")
_IDENTITY = later(r"^\d{9,20}$")
_OPTIMIZER = ("torch/optim/optimizer.py", "torch/distributed/checkpoint/state_dict.py")
_WRAPS = later(r"(?i)compile|dynamo|fsdp_version|\blora|peft")
_SHARDS = later(r"(?i)fsdp|zero_stage|zero_optimization|tensor_parallel|\blora|peft")
_OFF = (None, False, 0, "no", "none", "null", "NO", "default")
#: where an object that another process sent is made again
_RECEIVERS = ("multiprocessing/connection.py", "multiprocessing/queues.py", "multiprocessing/reduction.py",
              "pickle.py", "cloudpickle/cloudpickle.py", "ray/_private/serialization.py")  # fmt: skip
#: parts of a path from its end that may be named, and those of them that no other path has: `step_41`, `checkpoint-500`
_NAMED_PARTS, _TELLING = 4, later(r"[A-Za-z_-]\w*[-_]?\d|\w{12,}")
_REMOVES = later(
    r"(?i)\b(?:clean(?:ing|ed)?(?: up)?|remov(?:e|ing|ed)|delet(?:e|ing|ed)|evict(?:ing|ed)?|prun(?:e|ing|ed)|rm)\b"
)
#: classes that only a library of Python's own raises, in its own code
_WORDED_BY_LIBRARY = frozenset({"JSONDecodeError", "CalledProcessError"})
#: types under which handlers raise again what they caught, and how: `raise RuntimeError(error)`
_WRAPPING = frozenset({"RuntimeError", "Exception", "ValueError", "ImportError"})
_PASSES_ON = later(r"^raise \w+\((?:str\(|repr\()?(?:e|ex|exc|err|error|exception)\)")
#: whose words these are, where they stand alone
_WORDED = (
    (_UNSET, "NameError"), (_UNBOUND, "UnboundLocalError"), (_LACKS, "AttributeError"), (_NONE, "TypeError"),
    (_KEYWORD, "TypeError"), (_COUNT, "TypeError"), (_MISSING, "TypeError"), (_OTHER, "TypeError"),
    (PATH, "FileNotFoundError"),
)  # fmt: skip
#: what holds an entry, by the last part of its name
_STATE = later(
    r"(?i)state_?dicts?$|(?:^|_)(?:ckpt|checkpoint|sd|saved|param_groups|optim(?:izer)?_state\w*|loaded\w*)$|_state$"
)
_ROW = later(
    r"(?i)^(?:row|rows|sample|samples|record|item|example|examples|feature|features|batch|inputs?|model_inputs|"
    r"data|datum|line|element|instance|instances|ds|df|dataset)$"
    r"|(?:^|_)(?:batch|inputs|features|examples|samples|row|dataset|rows)$"
)
_TABLE = later(r"^[A-Z][A-Z0-9_]{3,}$|(?i:(?:registry|mapping|_map|_table|_classes|_choices|_types|factory)$)")
_SETTING = later(r"(?i)(?:config|cfg|conf|args|kwargs|opts?|options|params|settings|hparams)$")
_VARIABLE = later(r"(?:^|\.)environ$")
_OUTPUTS = later(r"(?i)(?:^|_)(?:outputs?|out|result|model_outputs?)$")
#: outputs that a model of Transformers gives only where a setting or an argument asks for them
#: https://huggingface.co/docs/transformers/main_classes/output
_PARTS = frozenset({"logits", "loss", "hidden_states", "attentions", "past_key_values", "last_hidden_state", "scores"})
_MATCHED = frozenset({"group", "groups", "groupdict"})
#: classes of Python and of arrays, of which no library has another release
_PLAIN = frozenset({
    "list", "str", "dict", "tuple", "set", "int", "float", "bool", "function", "method", "generator", "bytes", "type",
    "Tensor", "ndarray", "builtin_function_or_method", "map", "range", "partial", "module", "object", "deque",
})  # fmt: skip
#: modules that scripts of the stack import by these names
_MODULES = frozenset({"torch", "np", "os", "re", "json", "math", "random", "sys", "time", "pd", "nn", "F", "dist"})


def told(
    findings: Sequence[Finding], case: Case, entries: Mapping[str, Entry], unknown: Collection[str]
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings, an answer that knew nothing of an exception replaced by what its parts show.

    Args:
        findings: root cause first.
        case: what the logs say.
        entries: the catalogue.
        unknown: ids of the problems that say only that nothing is known.

    """

    def answer_to(first: Finding) -> Finding | None:
        raised = raised_at(first, case)
        mismatch = _Taken(first, raised, case).mismatch() if raised is not None else _of_lines(first, case)
        return _answer(mismatch, entries.values()) if mismatch is not None else None

    return in_place_of_unknown(findings, unknown, "mismatches", answer_to)


def _answer(mismatch: Mismatch, entries: Iterable[Entry]) -> Finding | None:
    for entry in entries:
        function = function_of(entry, "of_mismatch") if entry.area == _AREA else None
        finding = function(mismatch) if function is not None else None
        if isinstance(finding, Finding):
            return finding
    return None


def _of_lines(first: Finding, case: Case) -> Mismatch | None:
    """What a quoted message without its type shows, which Python words for one type alone."""
    for line in (*lines_of(case), *_reported(case)):
        kind = next((kind for pattern, kind in _WORDED if pattern.fullmatch(line.text)), "")
        if not kind:
            continue
        quote = Observed.quoted(line.file, redact_text(line.text)[:500], line.number)
        told_there = replace(first, where=Where(file=line.file, line=line.number), evidence=(quote,))
        mismatch = _Taken(told_there, Raised(kind, line.text, (), line, line.number), case).mismatch()
        if mismatch is not None:
            return mismatch
    return None


def _reported(case: Case) -> Iterator[Line]:
    """Errors that a program reports again and again without a traceback, by what stands behind their last colon.

    Of a run that shows no failure and no end; once alone it may mean nothing.
    """
    if case.failures or case.exits or not case.whole or case.lines > _MOST_LINES:
        return
    seen: dict[str, int] = {}
    for place, kept in enumerate(case.kept):
        for number, whole in kept:
            match = _REPORTED.search(whole[:_LONGEST])
            if match is None:
                continue
            words = match["words"].strip()
            seen[words] = seen.get(words, 0) + 1
            if seen[words] == _AGAIN:
                yield Line(words, "", None, None, case.sources[place].path, number, source=place)


class _Taken:
    """One exception with its frames, and the families that it is tried with."""

    def __init__(self, first: Finding, raised: Raised, case: Case) -> None:
        self._first, self._raised, self._case = first, raised, case
        self._message = redact_text(raised.unbroken[:_LONGEST], homes=False).strip()
        self._frame = asking_frame(raised.frames)
        self._code = redact_text(code_of(raised, case), homes=False)

    def mismatch(self) -> Mismatch | None:
        """What it shows; None where its words are none of Python's own, or tell too little."""
        kind = self._raised.name or self._raised.type
        if kind == "RecursionError":
            return self._recursion()
        if kind in _WRAPPING and _PASSES_ON.search(self._code):  # Python's own words, under another type
            inner = next((each for pattern, each in _WORDED if pattern.search(self._message)), "")
            if inner in {"AttributeError", "TypeError"}:
                self._code = ""  # the line that failed is another one
                return self._attribute() if inner == "AttributeError" else self._type()
        if self._code.startswith("raise ") and not PATH.search(self._message) and kind not in _WORDED_BY_LIBRARY:
            return None  # somebody's own words, which only look like Python's
        families = {
            "NameError": self._name, "UnboundLocalError": self._name, "KeyError": self._key,
            "AttributeError": self._attribute, "TypeError": self._type, "ValueError": self._value,
            "StopIteration": self._exhausted,
            "FileNotFoundError": self._path, "NotADirectoryError": self._path, "IsADirectoryError": self._path,
        }  # fmt: skip
        known = families[kind]() if kind in families else None
        return known if known is not None else self._worded(kind)

    # families -----------------------------------------------------------------------------------------------------

    def _name(self) -> Mismatch | None:
        unbound = _UNBOUND.search(self._message)
        match = unbound or _UNSET.search(self._message)
        if match is None:
            return None
        name = match["name"] or match.groupdict().get("old") or ""
        if self._asker:
            return self._made("name_branch" if unbound else "name_library", name, settings=self._speaking(name))
        imported = name in _MODULES or name in packages() or name in trl_classes()
        return self._made("name_import" if imported and not unbound else "name_own", name)

    def _key(self) -> Mismatch | None:
        match = _KEY.search(self._message)
        if match is None:
            return self._of_parameters()
        key = match["name"]
        subject = asked_for_entry(self._code, key)
        last = subject.removesuffix("()").rpartition(".")[2]
        if _WEIGHT.search(key) and not _STATE.search(last) and self._asker:
            return self._made("key_weight", key, subject=subject, settings=self._wrapping())
        for case, pattern in (
            ("key_variable", _VARIABLE), ("key_state", _STATE), ("key_table", _TABLE), ("key_row", _ROW),
            ("key_setting", _SETTING),
        ):  # fmt: skip
            if pattern.search(subject if case == "key_variable" else last) or (case == "key_row" and len(subject) == 1):
                return self._made(case, key, subject=subject, settings=self._speaking(key))
        written = re.search(rf"\[\s*f?['\"]{re.escape(key)}['\"]\s*\]", self._code) is not None
        if subject and written and self._frame is not None and self._frame.own:
            return self._made("key_own", key, subject=subject)
        return None

    def _of_parameters(self) -> Mismatch | None:
        """A number that an optimizer looks up: the identity of a parameter, which none of its groups holds any more."""
        frames = [each for each in self._raised.frames if each.path.endswith(_OPTIMIZER)]
        if not (_IDENTITY.search(self._message) and frames):
            return None
        made = settings_of(self._case)
        eager = [f"{name}={value}" for name, value in made.items() if _SHARDS.search(name) and value not in _OFF]
        return self._made("key_parameter", self._message, settings=tuple(eager[:_MOST_SETTINGS]))

    def _wrapping(self) -> tuple[str, ...]:
        """Settings by which a model is wrapped, so that its parameters get other names."""
        made = settings_of(self._case).items()
        return tuple(f"{name}={value}" for name, value in made if _WRAPS.search(name) and value not in _OFF)[
            :_MOST_SETTINGS
        ]

    def _attribute(self) -> Mismatch | None:
        if none := _NONE.search(self._message):
            return self._of_none(none["name"] or "")
        match = _LACKS.search(self._message)
        if match is None:
            return None
        name, of, meant = match["name"], match["of"] or "", match["meant"] or ""
        subject = asked_for_attribute(self._code, name)
        if not of:
            settings = self._speaking(name)
            return self._made("attribute_setting", name, settings=settings) if settings else None
        if of in _PLAIN:
            plain = self._made("other_type", name, of=of, subject=subject, meant=meant)
            return plain if subject or self._frame is not None else None
        own = self._frame is not None and self._frame.own
        ranks = self._ranks_behind_main()
        if ranks and has_class(self._asker, of):  # its own class: no other release of another package
            return self._made("attribute_of_main", name, of=of, subject=subject, given=ranks)
        case = (
            "attribute_own" if own else "attribute_itself" if subject == "self" and self._asker else "attribute_library"
        )
        return self._made(case, name, of=of, subject=subject, settings=self._speaking(name), meant=meant)

    def _of_none(self, name: str) -> Mismatch | None:
        subject = asked_for_attribute(self._code, name) if name else self._subject()
        owners = _config_classes(name)
        if owners:
            return self._made("none_arguments", name, of=owners, subject=subject)
        owner, _, part = subject.rpartition(".")
        if name in _MATCHED:
            return self._made("none_match", name, subject=subject)
        if part in _PARTS and _OUTPUTS.search(owner.rpartition(".")[2]):
            fused = list(_fused(settings_of(self._case))) if part in {"logits", "loss"} else []
            settings = tuple(dict.fromkeys((*fused, *self._speaking(part))))
            return self._made("none_output", part, subject=subject, settings=settings)
        settings = self._speaking(f"{subject.replace('.', ' ')} {name}")
        if subject and settings:
            return self._made("none_setting", name, subject=subject, settings=settings)
        shown = wordings.returned_none(self._code, name)
        return self._of(shown) if shown is not None else self._of_handed(subject, name)

    def _of_handed(self, subject: str, name: str) -> Mismatch | None:
        """None that a library was given: by whom, as far up as the frames show it."""
        handed = handed_down(self._raised.frames, subject) if subject and self._asker else None
        if handed is None:
            return None
        case = "none_handed" if handed.given else "none_left_out"
        given = handed.given or self._left_out(handed.of, subject)
        return self._made(case, name, of=handed.of, subject=subject, given=given, taken=place_of(handed.frame))

    def _left_out(self, of: str, subject: str) -> str:
        """Parameters of that release, named like what is None, that the call as it is quoted does not give."""
        text = self._case.given.text[:20_000]
        call = re.search(rf"\b{re.escape(of)}\((?P<given>[^()]*(?:\([^()]*\)[^()]*)*)\)", text)
        version = self._case.versions.get(self._asker, "")
        if call is None or not self._asker or not version:
            return ""
        given = set(_GIVEN.findall(call["given"]))
        known = parameters_of(f"{of}.__init__", version, self._asker) or parameters_of(of, version, self._asker)
        part = subject.partition(".")[0]
        missing = sorted(each for each in known - given if part in each.split("_") and each != part)
        return ", ".join(missing[:_MOST_SETTINGS]) if given else ""

    def _ranks_behind_main(self) -> str:
        """Ranks that miss what rank 0 does not: all that raised this, where rank 0 is not among them."""
        alike = [each for each in self._case.failures if each.cause.says == self._raised.says]
        ranks = sorted({each.first.rank for each in alike if each.first.rank is not None})
        if not ranks or 0 in ranks or not self._asker or any(each.first.rank is None for each in alike):
            return ""
        return ", ".join(map(str, ranks[:_MOST_SETTINGS]))

    def _subject(self) -> str:
        return asked_for_length(self._code) if "len()" in self._message else asked_for_entry(self._code)

    def _type(self) -> Mismatch | None:
        if none := _NONE.search(self._message):
            return self._of_none(none["name"] or "")
        if match := _KEYWORD.search(self._message):
            return self._made("call_keyword", match["name"], of=match["of"], meant=match["meant"] or "")
        if match := _COUNT.search(self._message):
            return self._made("call_count", of=match["of"], given=match["given"], taken=match["taken"])
        if match := _MISSING.search(self._message):
            unpickled = match["of"].endswith(".__init__") and _is_unpickling(self._raised.frames)
            return self._made("call_unpickled" if unpickled else "call_missing", match["name"], of=match["of"])
        if self._asker and (words := _about_to_say(self._code)):
            return self._made("refusal", words)
        if match := _OTHER.search(self._message):
            of = next(each for each in match.groups() if each).replace("string", "str")
            subject = asked_for_length(self._code) if match["sized"] else asked_for_entry(self._code)
            known = bool(subject) and (of in _PLAIN or self._frame is not None)
            return self._made("other_type", of=of, subject=subject) if known else None
        return None

    def _value(self) -> Mismatch | None:
        match = _NOT_LISTED.search(self._message)
        if match is None:
            return None
        value = match["value"].strip("'\"")
        if checkpoint := _CHECKPOINT.search(value):
            return self._made("not_listed_checkpoint", checkpoint[0])
        return self._made("not_listed", value) if self._code else None

    def _exhausted(self) -> Mismatch | None:
        """What has no next entry: a loader whose iterator is made in the same line never had one."""
        frames = self._raised.frames
        own = [each for each in frames if each.own]
        asked = _NEXT.search(own[-1].code or "") if own else None
        if asked is None or not (frames[-1].own or frames[-1].path.endswith(_LOADER)):
            return None
        fresh = asked["what"].startswith("iter(")
        subject = asked["what"].removeprefix("iter(") if fresh else asked["what"]
        return self._made("next_of_none" if fresh else "next_beyond", subject=subject)

    def _worded(self, kind: str) -> Mismatch | None:
        """What the words of a value show with the line, for all that is not asked of an object."""
        shown = wordings.shown_by(kind, self._message, self._code, self._frame)
        if shown is not None and shown.case == "no_dimension":
            shown = shown._replace(name=self._single_number())
        elif shown is not None and shown.case == "none_value":
            shown = shown._replace(given=", ".join(extremes.before(self._case, self._raised)))
        made = self._of(shown) if shown is not None else None
        # a condition alone is what the unknown answer quotes as well
        return None if made is not None and made.case == "asserted" and not made.settings else made

    def _single_number(self) -> str:
        """The name under which a tensor without dimensions is printed; "" where none is, or several are."""
        kept = self._case.kept[self._raised.line.source] if self._case.kept else []
        shown = "\n".join([self._case.given.text[:20_000], *(text[:2_000] for _, text in kept[-_PRINTED:])])
        names = {match["name"] for match in _SINGLE.finditer(shown)}
        return names.pop() if len(names) == 1 else ""

    def _of(self, shown: wordings.Shown) -> Mismatch:
        speaking = self._speaking(f"{shown.name} {shown.subject.replace('.', ' ')}")
        named = switches.that_name(self._raised.frames, self._code, settings_of(self._case))
        settings = tuple(dict.fromkeys((*named, *speaking)))[:_MOST_SETTINGS]
        return self._made(
            shown.case, shown.name, of=shown.of, subject=shown.subject, settings=settings, given=shown.given,
            taken=shown.taken,
        )  # fmt: skip

    def _recursion(self) -> Mismatch | None:
        found = recursion.shown_by(self._raised.frames)
        if found is None:
            return None
        shown, self._frame = found
        return self._of(shown)

    def _path(self) -> Mismatch | None:
        match = PATH.search(self._message)
        if match is None:
            return None
        settings = tuple(settings_of_path(match["path"], settings_of(self._case)))[:_MOST_SETTINGS]
        if removed := self._removed(match["path"]):
            return self._made("path_removed", match["path"], of=removed, settings=settings)
        return self._made(
            kind_of(match["number"], match["path"], self._raised.frames), match["path"], settings=settings
        )

    def _removed(self, path: str) -> str:
        """The place of an earlier line that says that the path, or a folder on its way, was removed."""
        parts = [each for each in path.replace("\\", "/").split("/")[-_NAMED_PARTS:] if _TELLING.search(each)]
        line = self._raised.line
        for number, text in self._case.kept[line.source] if self._case.kept and parts else ():
            if number >= line.number:
                break
            if _REMOVES.search(text) and any(each in text for each in parts):
                return f"{PurePath(line.file).name}:{number}"
        return ""

    # what all have ------------------------------------------------------------------------------------------------

    @property
    def _asker(self) -> str:
        return self._frame.package if self._frame is not None else ""

    def _speaking(self, words: str) -> tuple[str, ...]:
        return settings_that_name(f"{words} {words.replace('_', ' ')}", settings_of(self._case))

    def _made(
        self,
        case: str,
        name: str = "",
        of: str = "",
        subject: str = "",
        settings: tuple[str, ...] = (),
        given: str = "",
        taken: str = "",
        meant: str = "",
    ) -> Mismatch:
        frame, asker = self._frame, self._asker
        library = distribution(asker).replace("_", "-") if asker else ""
        mine = [each for each in reversed(self._raised.frames) if each.own and each != frame]
        versions = self._case.versions
        return Mismatch(
            case, self._first.where, self._first.evidence, name, of, subject,  # type: ignore[arg-type]
            place_of(frame) if frame is not None else "", library, frame is not None and frame.own,
            versions.get(library, "") or versions.get(asker, ""), _installed(versions, self._case.given.text),
            place_of(mine[0]) if mine else "", _callers(self._raised.frames, asker), settings, given, taken, meant,
        )  # fmt: skip


def _is_unpickling(frames: Sequence[Frame]) -> bool:
    """Whether the innermost frame makes an object of what another process sent: pickle itself is C and shows none."""
    last = frames[-1] if frames else None
    return last is not None and last.path.endswith(_RECEIVERS) and last.function in {"recv", "loads", "get", "load"}


def _about_to_say(code: str) -> str:
    """The words of a message that a line was about to make when it failed; "" where it makes none."""
    match = _LITERAL.match(code)
    words = " ".join(_HOLE.sub("…", match["words"]).split()) if match else ""
    return words if len(_WORD.findall(words)) >= _FEWEST_WORDS else ""


def _installed(versions: Mapping[str, str], context: str) -> tuple[str, ...]:
    """Versions that the log tells, and pins of the context, of any package: `mbridge==0.15.1`."""
    pins = {match["name"]: f"{match['sign'].strip('=')}{match['version']}" for match in _PIN.finditer(context[:20_000])}
    told_ = {name.lower().replace("_", "-"): version for name, version in (*pins.items(), *versions.items())}
    return tuple(f"{name} {version}" for name, version in list(told_.items())[:_MOST_INSTALLED])


def _callers(frames: Sequence[Frame], asker: str) -> tuple[str, ...]:
    """Libraries on the way to the one that asked, nearest first; through torch everything is called."""
    others = (each.package for each in reversed(frames) if each.package not in {"", asker, "torch", "multiprocess"})
    return tuple(distribution(each).replace("_", "-") for each in dict.fromkeys(others))[:2]


def _config_classes(name: str) -> str:
    """Classes of training arguments that have a field of this name, up to two; "" where none has."""
    if not name or name in _MATCHED:
        return ""
    owners = sorted(each for each in trl_classes() if each.endswith("Config") and trl_argument(each, name) is not None)
    owners = [each for each in ("GRPOConfig", "SFTConfig", "DPOConfig") if each in owners] or owners
    inherited = ["TrainingArguments"] if training_argument(name) is not None else []
    return ", ".join((*inherited, *owners)[:2])


def _fused(settings: Mapping[str, object]) -> Iterable[str]:
    """Settings of a fused loss, which makes no logits: https://github.com/linkedin/Liger-Kernel#patching."""
    for name, value in settings.items():
        if value is True and "." not in name and ("liger" in name or "fused_linear" in name or "cut_cross" in name):
            yield f"{name}={value}"
