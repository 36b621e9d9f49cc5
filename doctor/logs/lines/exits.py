"""How processes ended: exit codes and signals, as launchers, shells, schedulers, Ray and the kernel report them."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.logs.lines.lines import Line
from doctor.logs.lines.locales import SAID, in_english

_SIGNALS = {int(each): each.name for each in signal.Signals}


class Exit(NamedTuple):
    """One process's end.

    Args:
        rank: global rank where told; `pid` likewise.
        code: exit code as reported (negative: killed by that signal), None when only the way of ending is told.
        signal: "SIGKILL" and so on, "" when it ended by itself.
        root: whether the launcher calls it the first failure.
        by_launcher: whether the launcher ended it because another one failed.
        reason: "time limit", "preempted", "cancelled", "node failure", "out of memory" where somebody says so.
        line: where it stands.
        helper: it read data for another process, which goes on or says itself what it lost.

    """

    rank: int | None
    pid: int | None
    code: int | None
    signal: str
    line: Line
    root: bool = False
    by_launcher: bool = False
    reason: str = ""
    helper: bool = False


def signal_of(code: int | None) -> str:
    """Name of the signal that an exit code stands for: -9 and 137 are SIGKILL; "" for none."""
    if code is None:
        return ""
    number = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    return _SIGNALS.get(number, "")


_ELASTIC = later(r"failed \(exitcode: (?P<code>-?\d{1,4})\) local_rank: (?P<rank>\d{1,6}) \(pid: (?P<pid>\d{1,9})\)")
_CLOSING = later(r"Sending process (?P<pid>\d{1,9}) closing signal (?P<signal>SIG[A-Z]{2,6})")
_WORDS = {"Killed": "SIGKILL", "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS",
          "Terminated": "SIGTERM", "Floating point exception": "SIGFPE", "Illegal instruction": "SIGILL"}  # fmt: skip
_WORD = "|".join(_WORDS)
_SHELL = later(
    rf"^(?:[\w./\-]{{1,200}}: )?line \d{{1,7}}: *(?P<pid>\d{{1,9}}) (?P<word>{_WORD})\b"
    rf"|^(?P<alone>{_WORD}) ?(?:\(core dumped\))?$"
)
_SRUN = later(
    rf"^srun: error: [\w.\-\[\],]{{1,80}}: tasks? (?P<ranks>[\d,\-]{{1,80}}): (?:(?P<word>{_WORD}|Out Of Memory)"
    r"|Exited with exit code (?P<code>\d{1,4}))"
)
#: a bar that has not ended its line may stand before it, and the node's name behind the program's
_SLURMD = later(
    r"(?:^|(?:/s|s/it)\])slurmstepd(?:-[\w.\-]{1,80})?: error: \*\*\* (?:JOB"
    r"|STEP) \S{1,60} ON \S{1,80} CANCELLED AT \S{1,40}(?: DUE TO (?P<why>[A-Z ]{3,40}))?"
)
_PYTHON = later(
    r"died with <Signals\.(?P<signal>SIG[A-Z]{2,6}): \d{1,3}>|returned non-zero exit status (?P<code>\d{1,4})"
)
_DEEPSPEED = later(r"exits with return code = (?P<code>-?\d{1,4})")
_COMPOSER = later(r"Rank (?P<rank>\d{1,6}) crashed with exit code (?P<code>-?\d{1,4})\b")
_CONTAINER = later(
    r"exited with code (?P<code>\d{1,3})\b|terminated with exit code (?P<other>\d{1,3})\b"
    r"|\"?exitCode\"?: ?(?P<json>[1-9]\d{0,2})\b"
)
_KERNEL = later(r"(?:Memory cgroup out of memory|Out of memory): Killed process (?P<pid>\d{1,9})")
_OOM = later(
    r"\bOOMKilled\b|[Dd]etected \d{1,6} oom[-_ ]kill event|oom-kill:constraint="
    r"|oom_reaper: reaped process (?P<pid>\d{1,9})"
)
_LOADER = later(
    r"DataLoader worker \(pid\(?s?\)? ?\(?(?P<pid>\d{1,9})[^)\n]{0,60}\) "
    r"(?:is killed by signal: (?P<word>[A-Z][a-z ]{3,30})|exited unexpectedly)"
)
#: glibc (assert() included), the compiler's guard and the checks of C++ programs (glog, Ray) end a process by abort()
#: and say why
_NATIVE = later(
    r"^(?:double free or corruption|free\(\): |malloc\(\): |corrupted (?:size|double-linked)|munmap_chunk\(\)"
    r"|[\w./+\-]{1,120}: [^\n]{1,600}: Assertion `[^\n]{1,300}' failed\.$"
    r"|\*\*\* stack smashing detected \*\*\*)|(?:^|\.(?:cc|cpp|h):\d{1,6}[:\]] {1,2})Check failed: "
)
#: what MPI's launchers print of a process that a signal has ended
_MPI = later(rf"^\[[\w.\-]{{1,80}}:\d{{1,9}}\] Signal: (?P<word>{_WORD}) \(\d{{1,3}}\)")
#: what vLLM's server says of the process that ran its engine
#: https://github.com/vllm-project/vllm/blob/v0.6.6/vllm/engine/multiprocessing/client.py, entrypoints/launcher.py
_ENGINE = later(r"\bEngine process \(pid (?P<pid>\d{1,9})\) died\b|^MQLLMEngine is already dead, terminating")
_REASONS = {"TIME LIMIT": "time limit", "PREEMPTION": "preempted", "NODE FAILURE": "node failure", "": "cancelled"}


#: one of these is in every line that the patterns above match
HINTS = ("xit", "illed", "ignal", "oom", "OOM", "egmentation f", "bort", "us error", "CANCEL", "Terminated", "loating p", "llegal",
          "Out Of Memory", "Check failed", "double", "free(", "malloc(", "corrupted", "munmap", "smashing",
          "ngine process (pid", "MQLLMEngine is", ": Assertion `",
          *(chinese for word in _WORDS for chinese in SAID[word]))  # fmt: skip


#: what each pattern cannot do without: a line of metrics has two thousand characters, and many patterns look at each
_NEEDS: dict[re.Pattern[str], tuple[str, ...]] = {
    _ELASTIC: ("failed (exitcode: ",),
    _CLOSING: ("Sending process ",),
    _SHELL: (*_WORDS,),
    _SRUN: ("srun: error: ",),
    _SLURMD: ("slurmstepd",),
    _PYTHON: (
        "died with <Signals.",
        "returned non-zero",
    ),
    _DEEPSPEED: ("exits with return code",),
    _COMPOSER: ("crashed with exit code",),
    _CONTAINER: (
        "exited with code",
        "terminated with exit code",
        "exitCode",
    ),
    _KERNEL: ("Killed process ",),
    _OOM: (
        "OOM",
        "oom",
    ),
    _LOADER: ("DataLoader worker (pid",),
    _NATIVE: (
        "free",
        "malloc(): ",
        "corrupted ",
        "munmap_chunk()",
        "Assertion `",
        "stack smashing",
        "Check failed: ",
    ),
    _MPI: ("Signal: ",),
    _ENGINE: (
        "ngine process (pid ",
        "MQLLMEngine is already dead",
    ),
}


def _search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """As the pattern's own, which is asked only where something of what it needs stands in the text."""
    for word in _NEEDS[pattern]:
        if word in text:
            return pattern.search(text)
    return None


def exits_of(line: Line) -> Iterator[Exit]:
    """What one line says about the ends of processes."""
    text = line.text
    for word in HINTS:
        if word in text:
            break
    else:
        return
    english = in_english(line.text)
    plain = line if english is line.text else line._replace(text=english)
    for told in (*_of_launchers(plain), *_of_others(plain)):
        yield told._replace(line=line)


def _of_launchers(line: Line) -> Iterator[Exit]:
    text = line.text
    if match := _search(_ELASTIC, text):
        code = int(match["code"])
        yield Exit(int(match["rank"]), int(match["pid"]), code, signal_of(code), line)
    elif match := _search(_CLOSING, text):
        yield Exit(None, int(match["pid"]), None, match["signal"], line, by_launcher=True)
    elif match := _search(_SRUN, text):
        yield from _slurm_tasks(match, line)
    elif match := _search(_SLURMD, text):
        why = (match["why"] or "").strip()
        yield Exit(None, None, None, "SIGTERM", line, reason=_REASONS.get(why, why.lower()))
    elif match := _search(_PYTHON, text):
        told = int(match["code"]) if match["code"] else None
        yield Exit(None, None, told, match["signal"] or signal_of(told), line)
    elif match := _search(_DEEPSPEED, text) or _search(_COMPOSER, text):
        code, rank = int(match["code"]), match.groupdict().get("rank")
        if code:
            yield Exit(int(rank) if rank else None, None, code, signal_of(code), line)


def _of_others(line: Line) -> Iterator[Exit]:
    """Kernel, shell, containers and the data loader."""
    text = line.text
    if match := _search(_KERNEL, text) or _search(_OOM, text):
        pid = match.groupdict().get("pid")
        yield Exit(None, int(pid) if pid else None, -9, "SIGKILL", line, reason="out of memory")
    elif match := _search(_SHELL, text):
        name = _WORDS[match["word"] or match["alone"]]
        yield Exit(line.rank, int(match["pid"]) if match["pid"] else None, None, name, line)
    elif _search(_NATIVE, text):
        yield Exit(line.rank, None, None, "SIGABRT", line)
    elif match := _search(_MPI, text):
        yield Exit(line.rank, None, None, _WORDS[match["word"]], line)
    elif match := _search(_ENGINE, text):
        yield Exit(line.rank, int(match["pid"]) if match["pid"] else None, None, "", line)
    elif match := _search(_LOADER, text):
        word = (match["word"] or "").strip().rstrip(".")
        yield Exit(line.rank, int(match["pid"]), None, _WORDS.get(word, ""), line, helper=True)
    elif match := _search(_CONTAINER, text):
        code = int(match["code"] or match["other"] or match["json"])
        if code:
            yield Exit(None, None, code, signal_of(code), line)


def _slurm_tasks(match: re.Match[str], line: Line) -> Iterator[Exit]:
    word, code = match["word"], match["code"]
    name = "SIGKILL" if word == "Out Of Memory" else _WORDS.get(word or "", "")
    reason = "out of memory" if word == "Out Of Memory" else ""
    for rank in _numbers(match["ranks"]):
        yield Exit(rank, None, int(code) if code else None, name or signal_of(int(code or 0)), line, reason=reason)


def of_node(told: Exit) -> Exit:
    """The end of a task that started ranks itself: srun's number is no rank."""
    return told._replace(rank=None) if _SRUN.match(told.line.text) else told


def _numbers(text: str) -> Iterator[int]:
    """Slurm's "0,3-5"; a range is told up to 1024 tasks."""
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit():
            last = int(high) if high.isdigit() else int(low)
            yield from range(int(low), min(last, int(low) + 1023) + 1)


_TABLE_KEY = later(r"^ {2}(?P<key>time|host|rank|exitcode|error_file|traceback) {0,10}: ?(?P<value>[^\n]*)$")
_RANK = later(r"(?P<rank>\d{1,6}) \(local_rank: (?P<local>\d{1,6})\)")
_CODE = later(r"(?P<code>-?\d{1,4}) \(pid: (?P<pid>\d{1,9})\)")


class ElasticTable:
    """Reads the block that torch's elastic launcher prints under ``ChildFailedError``.

    Tracebacks inside it (of scripts decorated with ``@record``) are given back as lines of their rank.
    """

    def __init__(self) -> None:
        """Start outside of any table."""
        self.exits: list[Exit] = []
        self.open = self._root = self._traceback = False
        self._rank: int | None = None

    def feed(self, line: Line) -> Line:
        """Take the next line; returns it, or the rank's own line inside a traceback."""
        text = line.text
        if text.startswith(("Failures:", "Root Cause (first observed failure):")):
            self.open, self._root, self._traceback = True, text.startswith("Root"), False
            return line
        if not self.open:
            return line
        if text.startswith("=====") or (text and not text.startswith((" ", "[", "-", "<"))):
            self.open = self._traceback = False
            return line
        if match := _TABLE_KEY.match(text):
            self._traceback = match["key"] == "traceback"
            return self._entry(match, line)
        if self._traceback and self._rank is not None and text.startswith("  "):
            return line._replace(text=text[2:], process=f"rank {self._rank}", rank=self._rank)
        return line

    def _entry(self, match: re.Match[str], line: Line) -> Line:
        key, value = match["key"], match["value"]
        if key == "rank" and (rank := _RANK.search(value)):
            self._rank = int(rank["rank"])
        elif key == "exitcode" and (code := _CODE.search(value)):
            number = int(code["code"])
            name = signal_of(number) if number < 0 else ""
            self.exits.append(
                Exit(self._rank, int(code["pid"]), number, name, line, root=self._root,
                     by_launcher=name == "SIGTERM" and not self._root)
            )  # fmt: skip
        elif key == "traceback" and value.startswith("Traceback (most recent") and self._rank is not None:
            return line._replace(text=value, process=f"rank {self._rank}", rank=self._rank)
        return line
