"""Arguments of configuration classes against their history: which settings count, and how sure one can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.base.spelling import nearest
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence
from doctor.facts.launch import Launch
from doctor.facts.training import Training

_IDENTIFIER = later(r"[a-z][a-z0-9_]*")


@record
class Named:
    """A setting meant for a configuration class.

    `confidence` is likely where another class of the script could take the argument: from a command line or YAML
    that the script's own parser reads. `in_call`: it is a keyword of the class's call in the script.
    """

    setting: Observed
    confidence: Confidence
    in_call: bool


def own_settings(training: Training, launch: Launch | None) -> Iterator[Named]:
    """Yield the settings of the configuration class, with how sure it is that they go there.

    Attributes set after the call are left out: no constructor sees them. So are names that another class takes.
    """
    for name, setting in training.arguments.items():
        if name in training.set_later or name in training.shared:
            continue
        place, call = setting.place, training.config_place
        in_call = place is not None and call is not None and place.file == call.file
        sure = in_call or (launch is not None and launch.kind == "trl")
        yield Named(setting, CONFIRMED if sure else LIKELY, in_call)


def near(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `name`, None when none is alike."""
    return nearest(name, candidates)


def known_elsewhere(name: str) -> bool:
    """Tell whether any TRL configuration class has ever had the argument."""
    return any(data.trl_argument(owner, name) is not None for owner in data.trl_classes())


def came_later(history: data.ArgumentHistory, version: str) -> bool:
    """Tell whether a release is older than the argument, be it one from before the data begin."""
    return history.predated_by(version) or (history.exists_in(version) is False and _older(version, history.first))


def sure_of(named: Named, history: data.ArgumentHistory, version: str) -> Confidence:
    """How sure it is that a release lacks an argument: of one from before the data begin nobody looked."""
    return named.confidence if history.exists_in(version) is not None else LIKELY


def left_before(history: data.ArgumentHistory, version: str) -> bool:
    """Tell whether the argument had left when a release came out."""
    last = history.last
    return history.exists_in(version) is False and last is not None and _older(last, version)


def left_in(history: data.ArgumentHistory) -> str:
    """Return the release in which an argument left, as well as the data know it."""
    return history.removed_in or f"> {history.last}"


def replacement_name(history: data.ArgumentHistory) -> str | None:
    """Return the new name of a renamed argument, None where no single name replaces it."""
    text = history.replacement or ""
    return text if _IDENTIFIER.fullmatch(text) else None


def history_of(package: str, history: data.ArgumentHistory) -> tuple[Observed, ...]:
    """Quote what the doctor's data know of an argument."""
    spans = ", ".join(f"{first} to {last or 'now'}" for first, last in history.spans)
    text = f"{history.owner}.{history.name}: in {package} {spans}"
    return (
        Observed.quoted("release history", f"{text}; instead: {history.replacement}" if history.replacement else text),
    )


def _older(one: str, other: str) -> bool:
    from packaging.version import Version

    try:
        return Version(one) < Version(other)
    except ValueError:
        return False


def takes_same_value(history: data.ArgumentHistory, name: str) -> bool:
    """Tell whether the new name of `name` takes the value of the old one, as alike names do that no note sets apart."""
    new = replacement_name(history)
    return new is not None and not history.note and new.endswith(name.rpartition("_")[2])
