"""What an exception says against the parallel layout of its run: a group of one, a layer of another stage, a share.

Frameworks make the mesh or group of a dimension only where more than one rank shares it, a rank holds the layers of
its own pipeline stage alone, and of a split tensor its own part. Code that takes one of these for granted fails by
names and sizes that tell which dimension it means.
https://docs.nvidia.com/megatron-core/developer-guide/latest/user-guide/parallelism-guide.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.shared.shares import same_elements, share_in
from doctor.catalogue.unrecognised import Asked, Mismatch
from doctor.data.api import distribution
from doctor.logs.failures.asked import asked_for_attribute, asked_for_entry, asking_frame, code_of, raised_at
from doctor.logs.failures.case import Case
from doctor.logs.failures.raised import Raised
from doctor.logs.failures.replaced import in_place_of_unknown
from doctor.logs.failures.unrecognised import place_of
from doctor.logs.metrics.courses import settings_of

#: the problems that word these: a name that is not there, and sizes that do not fit
_OF_NAMES, _OF_SIZES = "PYT4665", "TOR052"


class _Dimension(NamedTuple):
    """A dimension over which ranks share the work: its words in names of objects, and the settings of its size."""

    words: frozenset[str]
    setting: re.Pattern[str]


def _sized(*names: str) -> re.Pattern[str]:
    whole, short = "|".join(names[:-1]), names[-1]
    return later(
        rf"(?i)^(?:\w{{1,40}}_)?(?:(?:{whole})_(?:model_)?parallel(?:_size|_degree|ism)?|{short}(?:_size|_degree))$|^{short}$"
    )


_DIMENSIONS = (
    _Dimension(frozenset({"ep", "expert", "experts", "moe"}), _sized("expert", "ep")),
    _Dimension(frozenset({"cp", "context"}), _sized("context", "cp")),
    _Dimension(frozenset({"tp", "tensor"}), _sized("tensor", "tp")),
    _Dimension(frozenset({"pp", "pipeline", "stage"}), _sized("pipeline", "pp")),
    _Dimension(frozenset({"sp", "ulysses", "sequence"}), _sized("sequence", "ulysses_sequence", "sp")),
)
_PIPELINE, _TENSOR = _DIMENSIONS[3], _DIMENSIONS[2]
#: over which the tokens of a row are cut
_OF_ROWS = (_DIMENSIONS[1], _DIMENSIONS[4])
#: torch, of a piece with no entries that is put where some are expected
_EMPTY_SHARE = later(r"expanded size of the tensor \([1-9]\d{0,8}\) must match the existing size \(0\)")
#: what code that cuts rows speaks of
_CUT_ROWS = frozenset({"cp", "seqlen", "seqlens", "seqs", "packed", "ulysses", "sp", "context", "chunk", "chunks"})
_PARTS = later(r"[a-z]+")
#: objects that are made for the ranks of one dimension
_MADE = later(r"(?<![\w.])(?:[\w.]{1,60}\.)?(?P<name>[a-z][a-z0-9_]{0,40}_(?:mesh|groups?|comm|pg|ranks?|submesh))\b")
_NONE = later(r"^'NoneType' object |^object of type 'NoneType' |\bNoneType\b")
#: what a program says of an object that nobody made
_UNMADE = later(
    r"(?i)\bmust be (?:set|created|initiali[sz]ed|built|given|provided)\b"
    r"|\bis (?:None|not (?:set|initiali[sz]ed|created))"
    r"|\b(?:has|was) not (?:been )?(?:set|initiali[sz]ed|created|built)|\bnot initiali[sz]ed\b|\bcannot be None\b"
)
#: a parameter of one layer of a model, as loaders look it up
_LAYER = later(r"^['\"]?(?P<name>(?:[\w]+\.)*(?:layers|blocks|h)\.(?P<layer>\d{1,4})\.[\w.]{2,120})['\"]?$")
#: what holds the parameters of the model, not those of a file
_PARAMETERS = later(r"(?i)(?:^|[._])(?:param\w*|named_param\w*|buffers?|modules?)(?:_dict|_map)?$")
#: settings under which an engine stores weights in a layout of its own
_REPACKS = later(r"(?i)^quantiz\w*|^load_format$|^load_in_[48]bit$|^kv_cache_dtype$|_quant(?:ization)?$|^fp8")
#: values of a setting with which it asks for nothing
_NOTHING = (None, False, 0, 1, "", "0", "1", "none", "None", "null", "false", "False", "off", "default")
_LONGEST, _MOST = 600, 3


def told(
    findings: Sequence[Finding], case: Case, entries: Mapping[str, Entry], unknown: Collection[str]
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings, an answer that knew nothing of an exception replaced by what the run's layout says of it.

    Args:
        findings: root cause first.
        case: what the logs say.
        entries: the catalogue.
        unknown: ids of the problems that say only that nothing is known.

    """

    def answer_to(first: Finding) -> Finding | None:
        raised = raised_at(first, case)
        return _Taken(raised, case, entries).answer() if raised is not None else None

    return in_place_of_unknown(findings, unknown, "layouts", answer_to)


class _Taken:
    """One exception beside the settings of its run."""

    def __init__(self, raised: Raised, case: Case, entries: Mapping[str, Entry]) -> None:
        self._raised, self._case, self._entries = raised, case, entries
        self._message = redact_text(raised.unbroken[:_LONGEST], homes=False).strip()
        self._settings = settings_of(case)
        self._code = redact_text(code_of(raised, case), homes=False)

    def answer(self) -> Finding | None:
        """What the layout says of it; None where it says nothing."""
        return (
            self._of_nothing_left() or self._of_share() or self._of_elements() or self._of_stage() or self._of_group()
        )

    def _of_nothing_left(self) -> Finding | None:
        """A share of a row that is empty, in a run that cuts rows over ranks: the row is too short for all of them."""
        entry = self._entries.get(_OF_SIZES)
        judge = function_of(entry, "of_empty_share") if _EMPTY_SHARE.search(self._message) and entry else None
        code = set(_PARTS.findall(" ".join([self._code, *(frame.function for frame in self._raised.frames)]).lower()))
        cut = [(name, size) for each in _OF_ROWS for name, size in _sizes(each, self._settings).items() if size > 1]
        if judge is None or not cut or not code & _CUT_ROWS:
            return None
        both = [(name, size) for name, size in _sizes(_TENSOR, self._settings).items() if size > 1]
        finding: Finding = judge((*cut, *both), self._where, self._evidence)
        return finding

    def _of_share(self) -> Finding | None:
        share = share_in(self._message, self._settings)
        entry = self._entries.get(_OF_SIZES)
        judge = function_of(entry, "of_share") if entry is not None and share is not None else None
        if judge is None:
            return None
        finding: Finding = judge(share, self._where, self._evidence)
        return finding

    def _of_elements(self) -> Finding | None:
        """Two shapes of one number of elements: what repacks them is named where settings say it."""
        shapes = same_elements(self._message)
        entry = self._entries.get(_OF_SIZES)
        judge = function_of(entry, "of_elements") if entry is not None and shapes is not None else None
        if judge is None:
            return None
        packing = tuple(
            f"{name}={value}"
            for name, value in self._settings.items()
            if _REPACKS.search(name.rpartition(".")[2])
            and value not in _NOTHING
            and not _is_short(name, self._settings)
        )
        finding: Finding = judge(shapes, packing[:_MOST], self._where, self._evidence)
        return finding

    def _of_stage(self) -> Finding | None:
        """A layer's parameter that a loader looks up on a rank whose stage may not have the layer."""
        match = _LAYER.search(self._message) if self._raised.name == "KeyError" else None
        sizes = _sizes(_PIPELINE, self._settings) if match is not None else {}
        split = [(name, size) for name, size in sizes.items() if size > 1]
        if match is None or not split:
            return None
        subject = asked_for_entry(self._code)
        if not _PARAMETERS.search(subject):
            return None
        name, size = split[0]
        return self._made("key_stage", match["name"], subject, (f"{name}={size}",), str(size), match["layer"])

    def _of_group(self) -> Finding | None:
        """A mesh or group that is None, or said not to be made, of a dimension that is not split."""
        for name in self._unmade():
            parts = set(name.lower().split("_"))
            for dimension in _DIMENSIONS:
                sizes = _sizes(dimension, self._settings) if parts & dimension.words else {}
                if not sizes or max(sizes.values()) != 1:
                    continue
                setting = next(iter(sizes))
                asking = tuple(
                    f"{other}={value}"
                    for other, value in self._settings.items()
                    if other not in sizes and value not in _NOTHING and _speaks_of(other, dimension, self._settings)
                )
                return self._made("group_of_one", name, setting, asking[:_MOST], setting.rpartition(".")[2])
        return None

    def _unmade(self) -> list[str]:
        """Names of objects for the ranks of a dimension of which the exception says that they are not there."""
        if _NONE.search(self._message):
            subject = asked_for_entry(self._code) or asked_for_attribute(self._code, _attribute(self._message))
            return [match["name"] for match in _MADE.finditer(subject)]
        said = _UNMADE.search(self._message) is not None
        return [match["name"] for match in _MADE.finditer(self._message)] if said else []

    @property
    def _where(self) -> Where:
        line = self._raised.line
        return Where(file=line.file, line=line.number, rank=line.rank)

    @property
    def _evidence(self) -> tuple[Observed, ...]:
        line = self._raised.line
        return (Observed.quoted(line.file, f"{self._raised.type}: {self._message}"[:500], line.number),)

    def _made(
        self, case: Asked, name: str, subject: str, settings: tuple[str, ...], given: str, taken: str = ""
    ) -> Finding | None:
        entry = self._entries.get(_OF_NAMES)
        judge = function_of(entry, "of_mismatch") if entry is not None else None
        if judge is None:
            return None
        frame = asking_frame(self._raised.frames)
        asker = frame.package if frame is not None else ""
        library = distribution(asker).replace("_", "-") if asker else ""
        finding: Finding | None = judge(
            Mismatch(
                case, self._where, self._evidence, name, subject=subject,
                place=place_of(frame) if frame is not None else "", asker=library,
                own=frame is not None and frame.own, version=self._case.versions.get(library, ""), settings=settings,
                given=given, taken=taken,
            )
        )  # fmt: skip
        return finding


def _sizes(dimension: _Dimension, settings: Mapping[str, object]) -> dict[str, int]:
    """Name -> size of each setting that says over how many ranks a dimension is split; of dotted names the whole."""
    found = {}
    for name, value in settings.items():
        text, last = str(value).strip(), name.rpartition(".")[2].replace("-", "_")
        if text.isdigit() and int(text) > 0 and dimension.setting.match(last) and not _is_short(name, settings):
            found[name] = int(text)
    return found


def _is_short(name: str, settings: Mapping[str, object]) -> bool:
    return "." not in name and any(other.endswith(f".{name}") for other in settings)


def _speaks_of(name: str, dimension: _Dimension, settings: Mapping[str, object]) -> bool:
    """Whether a setting is about splitting the same dimension: `expert_parallel_comm_backend`."""
    parts = set(name.rpartition(".")[2].lower().split("_"))
    return bool(parts & dimension.words) and "parallel" in parts and not _is_short(name, settings)


def _attribute(message: str) -> str:
    match = re.search(r"has no attribute '(?P<name>\w{1,80})'", message)
    return match["name"] if match else ""
