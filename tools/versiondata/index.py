"""Reading the package index through pip's own session and finder, with everything read kept in a cache directory.

pip knows the index, its credentials, proxies and certificates; no host is named here. Three things are read: the list
of files of a project, the METADATA of a release (the small file that the index serves beside a wheel), and single files
out of a wheel, by range requests where the wheel is large. pip's modules used here are internal to pip: they are stable
since pip 22.2, and only this maintainer's tool leans on them.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
import zipfile
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

WHOLE_FILE_LIMIT_BYTES = 2_000_000  # below it one request for the whole wheel is cheaper than several ranges
TRIES = 4


class OfflineError(RuntimeError):
    """Something is not in the cache and the network is not to be used."""


@dataclass(frozen=True)
class File:
    """One file of a project on the index."""

    name: str
    url: str
    version: Version
    requires_python: str | None
    uploaded: str | None  # ISO date
    sha256: str | None
    has_metadata: bool
    yanked: bool
    is_wheel: bool


class Index:
    """The package index as pip sees it; ``offline`` answers from the cache or raises :class:`OfflineError`."""

    def __init__(self, cache: Path, *, offline: bool = False, refresh: bool = False) -> None:
        self._cache = cache
        self._offline = offline
        self._refresh = refresh
        self._pip: tuple[Any, Any] | None = None
        self._opened: tuple[str, zipfile.ZipFile] | None = None
        self._projects: dict[str, list[File]] = {}

    # -- what exists

    def files(self, project: str) -> list[File]:
        """All files of a project whose names are understood, oldest version first."""
        if project not in self._projects:
            listed = [_file(each) for each in self._page(project)]
            understood = [each for each in listed if each is not None]
            self._projects[project] = sorted(understood, key=lambda each: (each.version, each.name))
        return self._projects[project]

    def versions(self, project: str, since: str) -> list[Version]:
        """Final and post releases of a project from ``since`` on, oldest first; yanked ones too, for people have them
        installed.
        """
        oldest = Version(since)
        found = {each.version for each in self.files(project) if each.version >= oldest}
        return sorted(each for each in found if not each.is_prerelease and each.local is None)

    def yanked(self, project: str, version: Version) -> bool:
        """Whether all files of a release are yanked."""
        return all(each.yanked for each in self.files(project) if each.version == version)

    def best_file(self, project: str, version: Version) -> File:
        """The file that speaks for a release: a Linux x86-64 wheel, else any wheel, else the source archive."""
        candidates = [each for each in self.files(project) if each.version == version]
        return min(candidates, key=_preference)

    def uploaded(self, project: str, version: Version) -> str | None:
        """ISO date of a release's first file."""
        dates = [each.uploaded for each in self.files(project) if each.version == version and each.uploaded]
        return min(dates) if dates else None

    # -- what is in them

    def content(self, file: File) -> bytes:
        """A whole file, checked against the index's hash; it is not kept."""
        return self._get(file.url, file.sha256)

    def size_bytes(self, file: File) -> int | None:
        """Size of a file as its server tells it, None when it does not."""
        session, _ = self._connect()
        size = session.head(file.url, headers={"Accept-Encoding": "identity"}).headers.get("content-length")
        return int(size) if size is not None else None

    def metadata(self, project: str, version: Version) -> str | None:
        """METADATA (or PKG-INFO) of a release as text."""
        file = self.best_file(project, version)
        if file.is_wheel:
            if file.has_metadata:
                return self._cached(f"metadata/{file.name}.txt", lambda: self._get(file.url + ".metadata")).decode()
            found = self.read(project, version, [".dist-info/METADATA"])
            return next(iter(found.values()), None)
        return self._cached(f"metadata/{file.name}.txt", lambda: _pkg_info(self._get(file.url, file.sha256))).decode()

    def names(self, project: str, version: Version) -> list[str]:
        """Names of the members of the release's wheel."""
        file = self.best_file(project, version)
        text = self._cached(f"names/{file.name}.txt", lambda: "\n".join(self._open(file).namelist()).encode())
        return text.decode().splitlines()

    def read(self, project: str, version: Version, wanted: list[str]) -> dict[str, str]:
        """Members of the release's wheel whose name ends with one of ``wanted``, as text by name."""
        names = [name for name in self.names(project, version) if name.endswith(tuple(wanted))]
        file = self.best_file(project, version)
        missing = [name for name in names if not self._path(f"files/{file.name}/{name}").exists()]
        if missing:
            archive = self._open(file)
            for name in missing:
                self._cached(f"files/{file.name}/{name}", lambda member=name: archive.read(member))
        return {name: self._path(f"files/{file.name}/{name}").read_text(encoding="utf-8") for name in names}

    # -- plumbing

    def _path(self, name: str) -> Path:
        return self._cache / name

    def _cached(self, name: str, make: Any) -> bytes:
        path = self._path(name)
        if not path.exists():
            if self._offline:
                raise OfflineError(f"{name} is not in the cache")
            content: bytes = make()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return path.read_bytes()

    def _page(self, project: str) -> list[dict[str, Any]]:
        name = f"index/{project}.json"
        if self._refresh and not self._offline:
            self._path(name).unlink(missing_ok=True)
        page: list[dict[str, Any]] = json.loads(self._cached(name, lambda: self._fetch_page(project)))
        return page

    def _fetch_page(self, project: str) -> bytes:
        from pip._internal.models.link import Link

        _, finder = self._connect()
        for location in finder.search_scope.get_index_urls_locations(project):
            if location.startswith("file:"):
                continue
            content = finder._link_collector.fetch_response(Link(location))  # noqa: SLF001  (see the module's docstring)
            if content is not None:
                return json.dumps(entries_of_page(content.content, content.content_type, location)).encode()
        raise RuntimeError(f"no index lists {project}")

    def _connect(self) -> tuple[Any, Any]:
        if self._pip is None:
            if self._offline:
                raise OfflineError("the network is not to be used")
            from pip._internal.commands import create_command

            command: Any = create_command("download")
            options, _ = command.parse_args(["--quiet", "anything"])
            session = command._build_session(options)  # noqa: SLF001
            self._pip = session, command._build_package_finder(options=options, session=session)  # noqa: SLF001
        return self._pip

    def _get(self, url: str, sha256: str | None = None) -> bytes:
        session, _ = self._connect()
        for attempt in range(TRIES):
            try:
                answer = session.get(url, headers={"Accept-Encoding": "identity"})
                answer.raise_for_status()
                content = bytes(answer.content)
            except Exception:
                if attempt == TRIES - 1:
                    raise
                time.sleep(2**attempt)
                continue
            if sha256 and hashlib.sha256(content).hexdigest() != sha256:
                raise RuntimeError(f"{url.rpartition('/')[2]}: content does not match the index's hash")
            return content
        raise AssertionError("unreachable")

    def _open(self, file: File) -> zipfile.ZipFile:
        """The wheel as an archive: whole when it is small, by range requests otherwise; the last one stays open."""
        if not file.is_wheel:
            raise RuntimeError(f"{file.name} is not a wheel")
        if self._opened is None or self._opened[0] != file.name:
            self._opened = file.name, self._open_anew(file)
        return self._opened[1]

    def _open_anew(self, file: File) -> zipfile.ZipFile:
        from pip._internal.network.lazy_wheel import LazyZipOverHTTP

        session, _ = self._connect()
        size = self.size_bytes(file)
        if size is not None and size <= WHOLE_FILE_LIMIT_BYTES:
            return zipfile.ZipFile(io.BytesIO(self._get(file.url, file.sha256)))
        lazy: Any = LazyZipOverHTTP(file.url, session)
        return zipfile.ZipFile(lazy)


class _Anchors(HTMLParser):
    """The files of an index page in HTML, as the entries that the JSON form has."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self._base = base
        self.entries: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag != "a" or not found.get("href"):
            return
        url, _, fragment = urljoin(self._base, found["href"] or "").partition("#")
        entry: dict[str, Any] = {"filename": unquote(url.rpartition("/")[2]), "url": url}
        if fragment.startswith("sha256="):
            entry["hashes"] = {"sha256": fragment[7:]}
        for attribute in ("requires-python", "upload-time"):
            if found.get("data-" + attribute):
                entry[attribute] = found["data-" + attribute]
        entry["yanked"] = "data-yanked" in found
        entry["core-metadata"] = "data-core-metadata" in found or "data-dist-info-metadata" in found
        self.entries.append(entry)


def entries_of_page(content: bytes, content_type: str, base: str) -> list[dict[str, Any]]:
    """The file entries of an index page, JSON or HTML."""
    if "json" in content_type:
        listed: list[dict[str, Any]] = json.loads(content)["files"]
        return listed
    parser = _Anchors(base)
    parser.feed(content.decode())
    return parser.entries


def _file(entry: dict[str, Any]) -> File | None:
    name = entry["filename"]
    try:
        is_wheel = name.endswith(".whl")
        version = parse_wheel_filename(name)[1] if is_wheel else parse_sdist_filename(name)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return File(
        name=name,
        url=entry["url"],
        version=version,
        requires_python=entry.get("requires-python"),
        uploaded=(entry.get("upload-time") or "")[:10] or None,
        sha256=entry.get("hashes", {}).get("sha256"),
        has_metadata=bool(entry.get("core-metadata") or entry.get("dist-info-metadata")),
        yanked=bool(entry.get("yanked")),
        is_wheel=is_wheel,
    )


def _preference(file: File) -> tuple[int, int, str]:
    """Sort key: what a Linux x86-64 machine with a current Python installs comes first."""
    if not file.is_wheel:
        return (4, 0, file.name)
    if file.name.endswith("-any.whl"):
        return (0, 0, file.name)
    if "x86_64" in file.name and "linux" in file.name:
        python = file.name.split("-")[-3]
        return (1, {"cp311": 0, "cp38": 1, "cp312": 2, "cp310": 3}.get(python, 4), file.name)
    return (2, 0, file.name)


def _pkg_info(archive: bytes) -> bytes:
    """PKG-INFO of a source archive; Requires-Dist from its requires.txt where the old format leaves them out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        top = [each for each in opened.getmembers() if each.name.endswith("/PKG-INFO")]
        chosen = min(top, key=lambda each: each.name.count("/"))
        text = _member(opened, chosen)
        if "\nRequires-Dist:" in text:
            return text.encode()
        listed = [each for each in opened.getmembers() if each.name.endswith(".egg-info/requires.txt")]
        if not listed:
            return text.encode()
        head, separator, body = text.partition("\n\n")
        lines = _requires_lines(_member(opened, listed[0]))
        return (head + "\n" + "\n".join(lines) + separator + body).encode()


def _member(opened: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    handle = opened.extractfile(member)
    return handle.read().decode("utf-8", "replace") if handle else ""


def _requires_lines(text: str) -> list[str]:
    """A requires.txt as Requires-Dist lines; its sections are ``[extra]``, ``[:marker]`` or ``[extra:marker]``."""
    lines, suffix = [], ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            extra, _, marker = line.strip("[]").partition(":")
            terms = ([f"({marker})"] if marker else []) + ([f'extra == "{extra}"'] if extra else [])
            suffix = "; " + " and ".join(terms) if terms else ""
        elif line:
            lines.append(f"Requires-Dist: {line}{suffix}")
    return lines
