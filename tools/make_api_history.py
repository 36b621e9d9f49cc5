"""Make doctor/data/{names,members}/*.json.gz: what came or went in which release of the stack.

    python tools/make_api_history.py --cache DIR                  read the index through pip and make all files
    python tools/make_api_history.py --cache DIR --only trl       write those of one library
    python tools/make_api_history.py --cache DIR --offline        from the cache alone
    python tools/make_api_history.py --cache DIR --verify         what the releases import of themselves must be there

The sources of the releases (about 1,000 archives; 2 GB of Python files stay in the cache as zips) are parsed by `ast`,
never imported. What was read of a library is kept beside them as a pickle of this tool's own making; remove it to read
the library again. A first run takes about 10 minutes of downloads and 25 minutes of one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from apihistory.history import History
from apihistory.packages import LIBRARIES, Library
from apihistory.release import Read, read_release
from apihistory.seed import SEED
from apihistory.sources import SourceStore
from apihistory.tables import members_table, names_table
from versiondata.index import Index

DATA = Path(__file__).resolve().parent.parent / "doctor" / "data"
SCHEMA = "doctor-api/1"


def history_of(library: Library, store: SourceStore, folder: Path) -> History:
    """All releases of a library laid over each other, from the pickle of an earlier run where there is one."""
    kept = folder / f"{library.name}.pkl"
    if kept.exists():
        with kept.open("rb") as handle:
            found: History = pickle.load(handle)  # noqa: S301 - written by this tool below
        return found
    followed = frozenset(each.package for each in LIBRARIES)
    history, before = History(), Read()
    for version in store.versions(library):
        archive = store.fetch(library, version)
        release, read = read_release(archive, library, followed, before) if archive else (None, before)
        if release is not None and read:
            history.add(str(version), release)
            before = read
    folder.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as handle:
        pickle.dump(history, handle)
    return history


def write(table: str, name: str, content: dict[str, Any]) -> int:
    """Write one table; its bytes depend on the content alone. Returns their number."""
    text = json.dumps({"schema": SCHEMA, **content}, separators=(",", ":"), ensure_ascii=False)
    packed = gzip.compress(text.encode(), 9, mtime=0)
    (DATA / table / f"{name}.json.gz").write_bytes(packed)
    return len(packed)


def verify(store: SourceStore, libraries: list[Library]) -> int:
    """Print what the shipped files tell wrongly; returns the exit status."""
    sys.path.insert(0, str(DATA.parent.parent))
    from apihistory.verify import wrong_of

    status = 0
    for library in libraries:
        for version in store.versions(library):
            archive = store.path(library, version)
            wrong = wrong_of(archive, library.package, str(version)) if archive.exists() else []
            if wrong:
                print(f"{library.name} {version}: {', '.join(wrong)}", flush=True)
                status = 1
    return status


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="directory that keeps the sources of all releases")
    parser.add_argument("--only", metavar="NAME", help="write the files of one library, such as trl")
    parser.add_argument("--offline", action="store_true", help="use the cache alone")
    parser.add_argument("--verify", action="store_true", help="hold the shipped files against the cached sources")
    options = parser.parse_args(arguments)
    if options.only and options.only not in {each.name for each in LIBRARIES}:
        parser.error(f"no library {options.only!r}; there are {', '.join(each.name for each in LIBRARIES)}")
    store = SourceStore(options.cache / "src", Index(options.cache / "cache", offline=options.offline))
    if options.verify:
        return verify(store, [each for each in LIBRARIES if options.only in (None, each.name)])
    histories = {each.package: history_of(each, store, options.cache / "hist") for each in LIBRARIES}
    for each in LIBRARIES:
        if each.closed:
            histories[each.package].came_with_none()
    for package, changes in SEED.items():
        histories[package].amend(changes)
    for library in LIBRARIES:
        if options.only in (None, library.name):
            others = {package: each for package, each in histories.items() if package != library.package}
            history = histories[library.package]
            size = write("names", library.package, names_table(library, history, others))
            size += write("members", library.package, members_table(library, history))
            print(f"{library.name}: {len(history.versions)} releases, {size:,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
