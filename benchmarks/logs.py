"""Times the doctor's log scan beside ripgrep and a line-by-line `re` loop on a generated log, in one run.

    python benchmarks/logs.py [--megabytes 1000] [--rounds 3] [--seed 1] [--keep FILE]

The log is that of several ranks in one file: rollout text, vLLM, Ray and veRL lines with colours, NCCL, progress bars,
metric lines, warnings and a few tracebacks. The doctor's scan is end to end: reading, colours, every signature of the
catalogue (or those of tests/logs/signatures.tsv while the catalogue has fewer than a hundred), prefixes, metric lines
parsed. ripgrep is told to count the lines that match any of the same patterns on one core, and once more those that
hold any of their literals, which is the least that it could do; it says neither which nor where. The `re` loop is
what is written first: every pattern on every line, on a sample.

ripgrep is taken from the path; `pip install ripgrep` brings it. Speed is per second of processor time of each process.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from log_writer import write_log

from doctor.core.signature import Signature
from doctor.logs.engines import ENGINES, EngineMissing, make_engine
from doctor.logs.literals import literals_of
from doctor.logs.matcher import Compiled, Matcher, Probe, Seen
from doctor.logs.metrics import METRIC_LITERALS, parse_row
from doctor.logs.streams import open_stream

ENOUGH = 100
SAMPLE_BYTES = 4 << 20
OWN = Path(__file__).parent.parent / "tests" / "logs" / "signatures.tsv"


def signatures() -> tuple[list[Compiled], list[str], str]:
    """(signatures, messages for the log, where they are from)."""
    from doctor.logs.signatures import load_signatures

    rows = [line.split("\t") for line in OWN.read_text().splitlines()[1:]]
    own = [Compiled("OWN", number, Signature(pattern)) for number, (_, pattern, _) in enumerate(rows)]
    samples = [sample for _, _, sample in rows]
    catalogue = list(load_signatures())
    if len(catalogue) >= ENOUGH:
        return catalogue, samples, f"{len(catalogue)} signatures of the catalogue"
    return own, samples, f"{len(own)} signatures of tests/logs/signatures.tsv"


class Metrics:
    """Parses every metric line, as the time line does."""

    def __init__(self) -> None:
        self.rows = self.values = 0

    def take(self, seen: Seen) -> None:
        """Parse a line."""
        row = parse_row(seen.raw)
        if row is not None:
            self.rows += 1
            self.values += len(row.pairs)

    def result(self) -> tuple[int, int]:
        """(rows, values)."""
        return self.rows, self.values


def cpu_s() -> float:
    """Processor time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def scan(path: Path, chosen: list[Compiled], engine: str) -> tuple[float, str]:
    """(seconds of processor time, what was found)."""
    before = cpu_s()
    matcher = Matcher(chosen, (Probe("metrics", METRIC_LITERALS, collector=Metrics),), engine=engine)
    with open_stream(path) as stream:
        hits = matcher.scan(stream)
    spent = cpu_s() - before
    found = sum(kept.count for kept in hits.hits.values())
    rows, values = hits.collected["metrics"][0]
    return spent, f"{found} hits, {rows} metric rows ({values} values)"


def ripgrep(path: Path, words: list[str], *options: str) -> tuple[float, str] | None:
    """Lines that match any of some patterns, counted by ripgrep on one core; None where it is not installed."""
    beside = Path(sys.executable).parent / "rg"
    program = str(beside) if beside.exists() else shutil.which("rg")
    if program is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(words) + "\n")
        file.flush()
        # bytes, not Unicode, and room for its tables: what makes it fastest
        limits = ["--no-unicode", "--regex-size-limit=2G", "--dfa-size-limit=2G"]
        argv = [program, "-j1", "-c", "-a", "--no-config", *limits, *options, "-f", file.name, str(path)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        print("ripgrep:", done.stderr.strip()[:300])
        return None
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, f"{done.stdout.strip() or 0} lines"


def for_ripgrep(pattern: str) -> str:
    """The pattern in the words of Rust's regex: no anchor in front, no names (one set for all), no look-around."""
    pattern = re.sub(r"\(\?(?:<?[=!])(?:[^()]|\([^()]*\))*\)", "", pattern)
    pattern = re.sub(r"\(\?P<\w+>", "(?:", re.sub(r"^\^", "", pattern))
    return pattern.replace(r"\Z", "$").replace(r"\'", "'").replace(r"\"", '"').replace(r"\`", "`")


def re_loop(path: Path, chosen: list[Compiled]) -> tuple[float, int]:
    """(seconds, bytes) of every pattern on every line of a sample from the middle."""
    patterns = [re.compile(each.signature.pattern) for each in chosen]
    with path.open("rb") as file:
        file.seek(path.stat().st_size // 2)
        sample = file.read(SAMPLE_BYTES)
    before = cpu_s()
    for line in sample.decode("utf-8", "replace").splitlines():
        for pattern in patterns:
            pattern.search(line)
    return cpu_s() - before, len(sample)


def startup(path: Path) -> None:
    """A log of 10 MB in a process of its own."""
    code = (
        "import sys\nfrom doctor.logs.matcher import Matcher\nfrom doctor.logs.signatures import load_signatures\n"
        "from doctor.logs.streams import open_stream\n"
        "hits = Matcher(load_signatures()).scan(open_stream(sys.argv[1]))\nprint(hits.total_bytes)\n"
    )
    for _ in range(2):  # the first one fills the cache of signatures
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)
    wall = time.perf_counter() - started
    print(f"10 MB in a process of its own, start-up and the catalogue included: {wall:.2f} s wall")


def main() -> None:
    """Make the log, time everyone in turns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="write the log here and leave it")
    options = parser.parse_args()
    chosen, samples, origin = signatures()
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "run.log"
        write_log(path, options.megabytes * 1_000_000, options.seed, samples)
        small = Path(folder) / "small.log"
        small.write_bytes(path.read_bytes()[:10_000_000] if options.megabytes < 64 else head(path, 10_000_000))
        report(path, chosen, origin, options.rounds)
        startup(small)


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def report(path: Path, chosen: list[Compiled], origin: str, rounds: int) -> None:
    """Time and print."""
    size = path.stat().st_size
    print(f"{size / 1e6:.0f} MB, {origin}, Python {sys.version.split()[0]}, {os.cpu_count()} cores; processor time")
    engines = [each for each in ENGINES if installed(each)]
    times: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    patterns = [for_ripgrep(each.signature.pattern) for each in chosen]
    literals = [each.decode() for one in chosen for each in one.literals or literals_of(one.signature)]
    contenders: list[tuple[str, Callable[[], Any]]] = [
        ("ripgrep, patterns", lambda: ripgrep(path, patterns)),
        ("ripgrep, literals", lambda: ripgrep(path, literals, "-F")),
    ]
    contenders += [(f"doctor, {each}", lambda each=each: scan(path, chosen, each)) for each in engines]
    for _ in range(rounds):
        for name, contender in contenders:
            result = contender()
            if result is not None:
                times.setdefault(name, []).append(result[0])
                notes[name] = result[1]
    spent, sampled = re_loop(path, chosen)
    loop = sampled / spent / 1e6
    bases = [size / min(times[name]) / 1e6 for name in ("ripgrep, patterns", "ripgrep, literals") if name in times]
    print(f"{'':24} {'MB/s best':>10} {'median':>8} {'x rg pat.':>10} {'x rg lit.':>10} {'x re loop':>10}")
    for name, spents in times.items():
        best, median = size / min(spents) / 1e6, size / sorted(spents)[len(spents) // 2] / 1e6
        ratios = " ".join(f"{best / base:10.2f}" for base in bases) or f"{'-':>10} {'-':>10}"
        print(f"{name:24} {best:10.0f} {median:8.0f} {ratios} {best / loop:10.0f}  {notes[name]}")
    print(f"{'re, every line (sample)':24} {loop:10.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest resident set of this process, log generator included: {peak:.0f} MiB")


def installed(engine: str) -> bool:
    """Whether an engine's package is there."""
    try:
        make_engine([b"literal"], engine)
    except EngineMissing:
        return False
    return True


if __name__ == "__main__":
    main()
