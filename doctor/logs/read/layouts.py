"""Which files of a folder are logs, and whose: torchrun, Slurm, one file a rank, Ray, Trinity-RFT, the run folder."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.record import record, replace

_DEEPEST = 8
_MOST_FILES = 200_000  # of one folder
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2")
#: what `doctor.logs.read.archives` opens where it is named itself
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst")
_LOG_ENDS = (".log", ".out", ".err", ".stdout", ".stderr", ".txt", ".md", ".jsonlog")
#: files that stand beside logs and are none
_NO_LOG = later(
    r"^(?:requirements.{0,40}|vocab|merges|readme.{0,10}|license.{0,10}|notice|changelog|constraints|events\.out\..*"
    r"|context|environment|freeze.{0,20}|py-spy.{0,20}|special_tokens.{0,20}|tokenizer.{0,20})(?:\.|$)",
    re.IGNORECASE,
)
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git", ".venv", "node_modules", "site-packages", "wandb-summary"})


class NoLogs(Exception):  # noqa: N818 - the user's paths are at fault, the message says how
    """Nothing to read at the given paths."""


@record
class LogSource:
    """One log file and whose it is.

    Args:
        path: file, or "-" for standard input.
        label: process that wrote it, "" when the lines themselves say (or nobody does): "rank 3", "trainer".
        rank: global rank where the name or the folder tells it.
        role: "rank", "launcher", "actor", "server", "console", "" not known.
        attempt: torchrun's restart counter.

    """

    path: str
    label: str = ""
    rank: int | None = None
    role: str = ""
    attempt: int = 0


def sources(paths: Iterable[str]) -> list[LogSource]:
    """Every log at the given files, folders and globs, each once, ranks in order.

    Raises:
        NoLogs: a path does not exist, or a folder holds no log; says what was looked for.

    """
    return _without_chance_ranks(_once([each for path in paths for each in _at(path)]))


def last_attempts(found: Sequence[LogSource]) -> list[LogSource]:
    """Without the logs of earlier attempts in the same folder of torchrun's: the last one is asked about."""
    folders = [_attempts_folder(each) for each in found]
    last: dict[str, int] = {}
    for folder, each in zip(folders, found, strict=True):
        last[folder] = max(last.get(folder, 0), each.attempt)
    return [each for folder, each in zip(folders, found, strict=True) if not folder or each.attempt == last[folder]]


def _attempts_folder(source: LogSource) -> str:
    match = _TORCHRUN.search(Path(source.path).as_posix())
    return match.string[: match.start()] if match else ""


def _once(named: Sequence[LogSource]) -> list[LogSource]:
    """Each file once under its first name, or once for each rank whose log links say that it is."""
    by_file: dict[str, dict[int | None, int]] = {}
    for number, each in enumerate(named):
        names = by_file.setdefault(os.path.realpath(each.path) if each.path != "-" else "-", {})
        if each.rank is not None:
            names.pop(None, None)  # "latest.log" links to the log of a rank
            names.setdefault(each.rank, number)
        elif not names:
            names[None] = number
    return [named[number] for number in sorted(number for names in by_file.values() for number in names.values())]


def _without_chance_ranks(found: list[LogSource]) -> list[LogSource]:
    """Take back ranks that only one file's name told: "rank1-crash.log" alone need not be rank 1's own log."""
    told = {each.rank for each in found if each.rank is not None}
    if len(told) > 1 or any(_TORCHRUN.search(each.path) for each in found):
        return found
    return [replace(each, label="", rank=None, role="") if each.role == "rank" else each for each in found]


def _at(path: str) -> list[LogSource]:
    if path == "-":
        return [LogSource("-", role="console")]
    if Path(path).is_dir():
        logs = list(_in_folder(Path(path)))
        if not logs:
            msg = f"`{path}` holds no log (looked for *.log, *.out, *.err, *.txt, stdout, stderr, also compressed)"
            if packed := next((each for each in sorted(Path(path).iterdir()) if each.name.endswith(ARCHIVES)), None):
                msg += f"; archives are opened where they are named themselves: `{packed}`"
            raise NoLogs(msg)
        return logs
    if Path(path).exists():
        return [_named(Path(path), {})]
    matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []  # noqa: PTH207 - absolute ones too
    if not matches:
        msg = f"`{path}` matches nothing" if glob.has_magic(path) else f"`{path}` does not exist"
        raise NoLogs(msg)
    files = [Path(each) for each in matches if Path(each).is_file()]
    families = _families(files)
    return [_named(each, families) for each in files]


def _in_folder(root: Path) -> Iterator[LogSource]:
    if (root / "run.json").is_file() and (root / "logs").is_dir():
        yield from _run_folder(root / "logs")
        return
    files = sorted(_files(root))
    families = _families(files)
    logs = [_named(path, families) for path in files]
    yield from sorted(logs, key=lambda each: (each.attempt, each.rank if each.rank is not None else -1, each.path))


def _run_folder(folder: Path) -> Iterator[LogSource]:
    """DESIGN's own run folder: rank files where there are some, and what the launcher said."""
    for path in sorted(folder.glob("rank*.log"), key=lambda each: (len(each.name), each.name)):
        rank = re.fullmatch(r"rank(\d{1,6})\.log", path.name)
        if rank:
            yield LogSource(str(path), f"rank {rank[1]}", int(rank[1]), "rank")
    if (folder / "console.log").is_file():
        yield LogSource(str(folder / "console.log"), role="console")


def _files(root: Path, depth: int = 0) -> Iterator[Path]:
    """Regular files that may be logs; linked folders are skipped, for Ray links its latest session beside it.

    What cannot be looked at (a folder of somebody else's, a link to a log that is gone) is given: reading it says why.
    """
    try:
        entries = sorted(os.scandir(root), key=lambda each: each.name)
    except OSError:
        yield root
        return
    count = 0
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST and entry.name not in _SKIPPED_FOLDERS:
                    yield from _files(Path(entry.path), depth + 1)
                continue
            if not _may_be_log(entry.name) or (entry.is_file() and not entry.stat().st_size):
                continue
            wanted = entry.is_file() or (entry.is_symlink() and not Path(entry.path).exists())
        except OSError:
            wanted = True
        count += wanted
        if wanted and count <= _MOST_FILES:
            yield Path(entry.path)


def _may_be_log(name: str) -> bool:
    plain = _plain(name)
    if _NO_LOG.match(plain):
        return False
    if plain in ("stdout", "stderr", "log", "nohup.out", "error.json", "console"):
        return True
    return plain.endswith(_LOG_ENDS) or re.search(r"\.(?:log|out|err)\.\d{1,4}$", plain) is not None


def _plain(name: str) -> str:
    lowered = name.lower()
    return next((lowered[: -len(end)] for end in _COMPRESSED if lowered.endswith(end)), lowered)


_RANK = later(r"(?:^|[^a-z])(?:global[_-]?)?(?:rank|worker|proc|process|task)[_\-.]?(\d{1,6})(?!\d)", re.IGNORECASE)
_SLURM = later(r"^(?P<stem>.*?[-_.]?\d{3,12}(?:_\d{1,6})?)[-_.](?P<task>\d{1,5})(?P<end>\.(?:out|err|log))$")
_TORCHRUN = later(r"attempt_(?P<attempt>\d{1,4})/(?P<rank>\d{1,5})/(?:stdout\.log|stderr\.log|error\.json)$")
_RAY_WORKER = later(r"^worker-[0-9a-f]{16,80}-(?:[0-9a-f]{8}-)?(?P<pid>\d{1,9})\.(?:out|err)$")
_RAY_DAEMONS = later(r"^(raylet|gcs_server|monitor|dashboard|log_monitor|runtime_env_agent|debug_state)\b")


def _families(files: Iterable[Path]) -> dict[tuple[str, str], int]:
    """How many files share a Slurm stem: a number at the end is a task only where there are several."""
    families: dict[tuple[str, str], int] = {}
    for path in files:
        if match := _SLURM.match(_plain(path.name)):
            key = (str(path.parent), match["stem"] + match["end"])
            families[key] = families.get(key, 0) + 1
    return families


def _named(path: Path, families: dict[tuple[str, str], int]) -> LogSource:
    """Whose log it is, by its name and folders."""
    text, name = path.as_posix(), _plain(path.name)
    if match := _TORCHRUN.search(text):
        rank = int(match["rank"])
        return LogSource(str(path), f"rank {rank}", rank, "rank", int(match["attempt"]))
    match = _SLURM.match(name)
    if match and families.get((str(path.parent), match["stem"] + match["end"]), 0) > 1:
        rank = int(match["task"])
        return LogSource(str(path), f"rank {rank}", rank, "rank")
    if match := _RAY_WORKER.match(name):
        return LogSource(str(path), f"pid={match['pid']}", None, "actor")
    if match := _RAY_DAEMONS.match(name):
        return LogSource(str(path), match[1], None, "actor")
    if match := _RANK.search(name):
        rank = int(match[1])
        return LogSource(str(path), f"rank {rank}", rank, "rank")
    if path.parent.name == "log" and name.endswith(".log"):
        return LogSource(str(path), path.name.partition(".")[0], None, "actor")  # Trinity-RFT: <job>/log/<actor>.log
    return LogSource(str(path), "", None, "server" if re.search(r"server|vllm|serve", name) else "")


_FENCE = later(r"^\s{0,3}(?:```+|~~~+)")
_HEADING = later(r"^#{1,4} \S")


def markdown_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """What stands in fenced or `<pre>` blocks of a GitHub issue, and lines indented as code; numbers are kept.

    A text without any block is passed on whole: people paste logs bare, too.
    """
    kept = list(lines)
    inside, found = False, []
    for number, text in kept:
        if _FENCE.match(text) or text.strip().lower() in ("<pre>", "</pre>", "<pre><code>", "</code></pre>"):
            inside = not inside
            found.append((number, ""))
        elif inside:
            found.append((number, text))
    return iter(found if any(text.strip() for _, text in found) else kept)


def looks_like_markdown(lines: Iterable[str]) -> bool:
    """Whether a text is an issue with fences rather than a log that happens to hold one."""
    lines = list(lines)
    fences = sum(("```" in text or "~~~" in text) and _FENCE.match(text) is not None for text in lines)
    return fences >= 2 and any(
        _HEADING.match(text) or text.startswith(("<details>", "**", "- [ ]", "- [x]")) for text in lines
    )


def elastic_error_lines(text: str) -> list[str] | None:
    """Lines of the traceback in an error file of torch's elastic launcher; None for any other JSON."""
    try:
        data = json.loads(text)
        message = data["message"]
        if isinstance(message, str):
            return message.splitlines()
        stack = message.get("extraInfo", {}).get("py_callstack") or message.get("message", "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return str(stack).splitlines()
