"""Arguments that a log says were refused, against the histories of TRL's and Transformers' classes."""

from __future__ import annotations

from collections.abc import Iterator

from doctor import data
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence
from doctor.catalogue.shared.argument_history import came_later, left_before, left_in, replacement_name
from doctor.catalogue.signature import Hits

#: classes of Transformers whose fields `data.training_argument` knows
TRAINING = frozenset({"TrainingArguments", "Seq2SeqTrainingArguments"})
_QUOTED = later(r"'(?:--)?([A-Za-z_][\w\-]{0,80})")


@record
class RefusedArgument:
    """An argument that a class did not take.

    Args:
        owner: the class, "" where Python 3.9 and older or a parser did not say.
        kind: "removed", "not-yet" or "unknown".
        package: "trl" or "transformers", whose history decided; "" for an unknown name.
        confidence: likely where the class or the installed release is not known.

    """

    owner: str
    name: str
    kind: str
    package: str = ""
    history: data.ArgumentHistory | None = None
    confidence: Confidence = CONFIRMED

    @property
    def new(self) -> str | None:
        """The argument that replaces it."""
        return replacement_name(self.history) if self.history else None

    @property
    def gone(self) -> str:
        """The release in which it left."""
        return left_in(self.history) if self.history else "?"


def refusals(hits: Hits) -> Iterator[RefusedArgument]:
    """Judge every argument that the hits name (groups `owner` and `name`, or `names` as a printed list)."""
    seen = set()
    for hit in hits:
        owner = hit.groups.get("owner", "")
        names = [hit.groups["name"]] if hit.groups.get("name") else _QUOTED.findall(hit.groups.get("names", ""))
        for name in names:
            refusal = judged(owner, name.replace("-", "_"), hits)
            if refusal is not None and (owner, name) not in seen:
                seen.add((owner, name))
                yield refusal


def judged(owner: str, name: str, hits: Hits) -> RefusedArgument | None:
    """Say why a class did not take an argument; None where it is no class of TRL's or Transformers' settings."""
    trainer = owner in data.trl_trainers()
    if owner and owner not in TRAINING and not trainer and data.trl_class(owner) is None:
        return None
    candidates = (owner,) if owner and owner not in TRAINING else ("GRPOConfig",) if not owner else ()
    if trainer and name == "tokenizer":
        return None  # TRF005
    for candidate in candidates:
        history = data.trl_argument(candidate, name)
        if history is not None and not history.inherited:
            return _by_history(owner, name, "trl", history, hits)
    history = None if trainer else data.training_argument(name)
    if history is not None:
        return _by_history(owner, name, "transformers", history, hits)
    return RefusedArgument(owner, name, "unknown") if owner and not trainer else None


def _by_history(
    owner: str, name: str, package: str, history: data.ArgumentHistory, hits: Hits
) -> RefusedArgument | None:
    """Removed or not there yet: by the installed release where the log tells it, else by what the newest one has."""
    version = hits.versions.get(package, "")
    sure = CONFIRMED if owner else LIKELY
    if version and left_before(history, version):
        return RefusedArgument(owner, name, "removed", package, history, sure)
    if version and came_later(history, version):
        return RefusedArgument(owner, name, "not-yet", package, history, sure)
    if version and history.exists_in(version):
        return None  # the class of that release takes it: the log is about another environment
    kind = "removed" if history.last is not None else "not-yet"
    if kind == "not-yet" and history.spans[0][0] in _EARLIEST:
        return None
    since_ever = history.spans[0][0] in _first_releases(owner, package)
    return RefusedArgument(owner, name, kind, package, history, sure if kind == "removed" and since_ever else LIKELY)


def _first_releases(owner: str, package: str) -> frozenset[str]:
    """The first known release of a class: what came after it is refused by older ones as well as by newer ones."""
    known = data.trl_class(owner or "GRPOConfig") if package == "trl" else None
    return frozenset({known.spans[0][0]}) if known is not None else _EARLIEST


#: first releases in the data: an argument that has been there since then is in all of them
_EARLIEST = frozenset({"4.37.0"})
