"""What processes recorded of their own end and no given log holds, written as logs of theirs while it is examined.

Ray's workers write into a folder of their own, torchrun sends the output of ranks into files (`--redirects`), and what
a notebook printed is nowhere: the guard's events and the capsules have the exceptions all the same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.base.scratch import Folder
from doctor.logs.capsules.read import Capsule, CapsuleFailure, Capsules, as_log
from doctor.logs.events import exceptions_of

#: file and function of the frames of `python -c`, and where a traceback names both
_OF_A_SHELL = ("<string>", "<module>")
_PLACE = later(r'^  File "([^"\n]{1,400})", line \d{1,9}, in (\S{1,200})$', re.MULTILINE)


@record
class Unprinted:
    """An exception that ended a process and stands in no log.

    Args:
        stem: name of the log of that process, "rank3".
        text: a log with its traceback.
        told_by: the file that holds it.

    """

    stem: str
    text: str
    told_by: str


class Written:
    """Logs made out of such exceptions; removed with this object.

    Args:
        capsules: of the same run.
        paths: logs and folders that were given, run folders among them.

    Attributes:
        paths: folders of such logs; none where the logs hold everything.
        names: (folder, the folder that it stands for).

    """

    def __init__(self, capsules: Capsules, paths: Sequence[str]) -> None:
        """Write what is missing."""
        self.paths: list[str] = []
        self.names: list[tuple[str, str]] = []
        missing: dict[str, Unprinted] = {}
        for each in (*_of_capsules(capsules, paths), *_of_events(paths)):
            missing.setdefault(each.stem, each)  # a capsule says more of an exception than the event of the same rank
        if not missing:
            return
        self._folder = Folder("recorded")
        folder = os.path.realpath(self._folder.name)
        for stem, each in missing.items():
            Path(folder, f"{_file_stem(stem)}.log").write_text(each.text, encoding="utf-8", errors="replace")
        self.paths.append(folder)
        first = next(iter(missing.values()))
        self.names.append((folder, str(Path(first.told_by).parent)))


def _file_stem(stem: str) -> str:
    """A stem that can be a file's name: a recorded host name may hold anything, and be of any length."""
    plain = re.sub(r"[/\\\x00-\x1f]", "_", stem).encode("utf-8", "replace")
    if len(plain) > _LONGEST_STEM:
        digest = hashlib.sha256(plain).hexdigest()[:12]
        plain = plain[: _LONGEST_STEM - len(digest) - 1].decode("utf-8", "ignore").encode() + b"-" + digest.encode()
    return plain.decode("utf-8")


#: bytes; file systems take 255 of a name (https://man7.org/linux/man-pages/man3/limits.h.3.html: NAME_MAX)
_LONGEST_STEM = 200


def _of_capsules(capsules: Capsules, paths: Sequence[str]) -> Iterator[Unprinted]:
    for each in capsules.capsules:
        ended = [one for one in each.failures if one.ends and one.source != "exit" and one.chain]
        last = [one.chain[-1] for one in ended if any(link.frames for link in one.chain) and not _asked(one)]
        if last and not any(_holds(path, link.message, link.name) for path in paths for link in last):
            yield Unprinted(_stem(each.rank, each), as_log(each), each.path)


def _asked(failure: CapsuleFailure) -> bool:
    """Whether a shell asked `python -c 'import a'` and threw the answer's text away: a question, and no failure.

    veRL's scripts find their device so: https://github.com/verl-project/verl/tree/main/examples/grpo_trainer
    """
    frames = [each for link in failure.chain for each in link.frames]
    return bool(frames) and all((each.file, each.function) == _OF_A_SHELL for each in frames)


def _stem(rank: int | None, capsule: Capsule) -> str:
    return f"rank{rank}" if rank is not None else Path(capsule.path).stem


def _of_events(paths: Sequence[str]) -> Iterator[Unprinted]:
    for event, file in exceptions_of(paths):
        data, rank = event["data"], event["rank"]
        text, traceback = str(data.get("text", "")), str(data.get("traceback", ""))
        places = _PLACE.findall(traceback)
        if places and all(each == _OF_A_SHELL for each in places):
            continue
        if traceback and not any(_holds(path, text, str(data.get("type", ""))) for path in paths):
            stem = f"rank{rank}" if rank is not None else f"{event['host']}-{event['pid']}"
            yield Unprinted(stem, traceback.rstrip() + "\n", file)


def _holds(path: str, message: str, name: str) -> bool:
    """Whether a log, or one of the logs of a run folder, holds what an exception says."""
    import mmap

    words = (message.splitlines() or [name])[0][:120].encode("utf-8", "replace")
    files = sorted(Path(path, "logs").glob("*.log")) if Path(path).is_dir() else [Path(path)]
    for file in files:
        try:
            with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
                if text.find(words) >= 0:
                    return True
        except (OSError, ValueError):
            continue
    return False
