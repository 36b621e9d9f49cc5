"""What differs between two sets of facts: the question "what changed since it last worked"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.base.change import Change, Input
from doctor.base.codec import dump
from doctor.base.evidence import Observed
from doctor.base.redact import redact, redact_text

#: readings that are different every second and say nothing about what changed
NOISE = frozenset({
    "memory_used_bytes", "memory_free_bytes", "memory_available_bytes", "shm_free_bytes", "free_bytes", "free_inodes",
    "temperature_c", "power_w", "sm_clock_mhz", "processes", "seconds", "listeners", "used_bytes", "pcie_generation",
    "chosen_because", "is_own", "session_dir",
})  # fmt: skip


def differences(before: Mapping[str, Observed], after: Mapping[str, Observed]) -> list[Change]:
    """Changes of every fact that either side holds, None for "not there".

    A fact that could be seen on one side only is one change.
    """
    changes: list[Change] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = _plain(before.get(name)), _plain(after.get(name))
        if old is None and new is None:
            continue
        if old is None or new is None:
            changes.append(Change(Input("fact", name), _seen(before.get(name)), _seen(after.get(name))))
            continue
        changes += [
            Change(Input("fact", f"{name}.{path}" if path else name), a, b) for path, a, b in _walk(old, new, "")
        ]
    return changes


#: parts of facts in the order in which they explain a failure: versions, then the machine, then the rest
_FIRST = ("packages.distributions.", "packages.torch_build", "interpreter.version", "cuda", "nvidia", "gpus", "host",
          "environment")  # fmt: skip


def by_weight(changes: Iterable[Change]) -> list[Change]:
    """Versions first, lists of paths and the like last."""

    def weight(change: Change) -> tuple[int, str]:
        name = change.input.name
        if name.startswith(_FIRST[0]) and not name.endswith(".version"):
            return len(_FIRST), name  # where a package lies, and the like
        return next((at for at, each in enumerate(_FIRST) if name.startswith(each)), len(_FIRST)), name

    return sorted(changes, key=weight)


def _plain(state: Observed | None) -> Any:
    return redact(dump(state.value)) if state is not None and state.status == "ok" else None


def _seen(state: Observed | None) -> str:
    if state is None:
        return "not in the file"
    return "seen" if state.status == "ok" else redact_text(f"not seen: {state.reason}")


def _walk(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if (old is None or new is None) and _is_distribution(old or new):
        yield f"{path}.version", (old or {}).get("version"), (new or {}).get("version")
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in NOISE:
                yield from _walk(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(old, list) and isinstance(new, list) and _are_records(old + new):
        for number in range(max(len(old), len(new))):
            a = old[number] if number < len(old) else None
            b = new[number] if number < len(new) else None
            yield from _walk(a, b, f"{path}[{number}]")
    elif old != new:
        yield path, old, new


def _is_distribution(value: Any) -> bool:
    """Whether it is an installed package: one that came or went is told by its version, not by all its metadata."""
    return isinstance(value, dict) and {"name", "version", "location"} <= value.keys()


def _are_records(values: list[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)
