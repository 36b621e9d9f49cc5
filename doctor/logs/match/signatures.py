"""The signatures of the catalogue as the matcher needs them, without importing the files that declare them.

They are kept beside the index in the user's cache folder, with their literals, until a file of the catalogue changes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from doctor import __version__
from doctor.base.record import names_of, restored
from doctor.base.whole_file import write_whole
from doctor.catalogue.index import CATALOGUE, Entry, cache_folder, catalogue_roots, load, stamp
from doctor.catalogue.malformed import CatalogueError
from doctor.catalogue.problem_files import declared
from doctor.catalogue.signature import Signature
from doctor.logs.match.literals import literals_of
from doctor.logs.match.matcher import Compiled, forms_of

FORMAT = 3  # raise when the derivation of literals, or of their forms, changes
_OTHERS_KEPT = 4  # several environments share a home
_FIELDS = list(names_of(Signature))
_OF_SEVERAL = {"keywords", "symptom_of", "contributes_to"}


def load_signatures(roots: Mapping[str, Path] | None = None) -> tuple[Compiled, ...]:
    """Every signature of the catalogue, by id of its problem and position there.

    Raises:
        CatalogueError: a problem's file is malformed, or no line could be told to be worth a signature's try.

    """
    roots = roots or catalogue_roots()
    path = cache_folder() / f"signatures-{_key(roots):08x}.json"
    kept = _read(path)
    if kept is not None:
        return kept
    signatures = compiled(load(roots))
    _keep(path, signatures)
    return signatures


def compiled(entries: Iterable[Entry]) -> tuple[Compiled, ...]:
    """The signatures that problems declare, with their literals."""
    return tuple(
        Compiled(entry.id, number, signature, literals, forms_of(literals))
        for entry in entries
        if entry.has_signatures
        for number, signature in enumerate(declared(entry).signatures)
        for literals in (_literals(entry, number, signature),)
    )


def _literals(entry: Entry, number: int, signature: Signature) -> tuple[bytes, ...]:
    try:
        literals = literals_of(signature)
    except re.error as error:
        reason = str(error)
    else:
        if literals:
            return literals
        reason = "no literal of 4 bytes can be derived from it; name `keywords`"
    message = f"{entry.module}: signature {number} ({signature.pattern!r}): {reason}"
    raise CatalogueError(message)


def _key(roots: Mapping[str, Path]) -> int:
    """A number that changes with any file that signatures are made of; third parties' helper modules included."""
    seen = [f"{FORMAT} {_FIELDS} {__version__} {stamp(roots)}"]
    for package, root in roots.items():
        if package == CATALOGUE:
            continue
        for each in sorted(root.rglob("*.py")):
            status = each.stat()
            seen.append(f"{package} {each} {status.st_size} {status.st_mtime_ns}")
    return zlib.crc32("\n".join(seen).encode())


def from_json(data: bytes) -> tuple[Compiled, ...]:
    """Signatures as `to_json` has written them."""
    return tuple(_compiled(*row) for row in json.loads(data))


def to_json(signatures: Iterable[Compiled]) -> str:
    """Signatures with their literals."""
    return json.dumps([
        (
            each.problem_id, each.index, _told(each.signature), _texts(each.literals),
            None if each.wanted == each.literals else _texts(each.wanted),
        )
        for each in signatures
    ])  # fmt: skip


def _read(path: Path) -> tuple[Compiled, ...] | None:
    try:
        return from_json(path.read_bytes())
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _told(signature: Signature) -> dict[str, Any]:
    """A signature's fields without the empty ones, which are empty by default too: each post-mortem reads thousands."""
    return {name: value for name, value in asdict(signature).items() if value}


def _texts(literals: Iterable[bytes]) -> list[str]:
    return [each.decode() for each in literals]


def _compiled(
    problem_id: str, index: int, signature: dict[str, Any], literals: list[str], forms: list[str] | None
) -> Compiled:
    for name in _OF_SEVERAL & signature.keys():
        signature[name] = tuple(signature[name])
    known = tuple([each.encode() for each in literals])
    wanted = known if forms is None else tuple([each.encode() for each in forms])
    values = {"problem_id": problem_id, "index": index, "literals": known, "forms": wanted}
    return restored(Compiled, {**values, "signature": restored(Signature, signature)})


def _keep(path: Path, signatures: tuple[Compiled, ...]) -> None:
    """Write them for next time; a read-only home costs only the imports."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        others = sorted(path.parent.glob("signatures-*.json"), key=lambda each: each.stat().st_mtime)
        for old in others[:-_OTHERS_KEPT]:
            old.unlink()
        write_whole(path, to_json(signatures))
    except OSError:
        return
