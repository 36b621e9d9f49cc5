"""Times `doctor postmortem` beside ripgrep and a line-by-line `re` loop on a generated log, in one run.

    python benchmarks/logs.py [--size MB] [--rounds 3] [--seed 1] [--mix dense] [--without NAME ...]

There are two mixes. `many-writers` is that of several ranks in one file: rollout text, vLLM, Ray and veRL lines with
colours, NCCL, progress bars, metric lines, warnings and a few tracebacks. `dense` is a long run that prints little but
its metrics, a step every two kB, one half as TRL prints them, one as veRL does. Both are kept in the temporary folder.
The doctor is timed as a user calls it, end to end: start-up, reading, colours, every signature of the catalogue,
prefixes, metric lines parsed and judged, causes ranked, report. It is held on one core.

ripgrep counts the lines that match any of the same patterns, on one core, and once more those that hold any of their
literals, which is the least that it could do; it says neither which nor where. The `re` loop is what is written first:
every pattern on every line, on a sample. ripgrep is taken from the path; `apt-get install ripgrep` brings it.

The contenders take turns, and the best of each is compared: what else the machine does slows all of them.
"""

from __future__ import annotations

import argparse
import importlib.util
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

from log_writer import write_dense_log, write_log

from doctor.logs.match.literal_engines import AHO_CORASICK, ENGINES, HYPERSCAN, SHAPES, EngineMissing, make_engine
from doctor.logs.match.literals import literals_of
from doctor.logs.match.matcher import Compiled
from doctor.logs.match.signatures import load_signatures

SAMPLE_BYTES = 2 << 20
#: name -> what writes a log of it
MIXES = {"many-writers": write_log, "dense": write_dense_log}
OWN = Path(__file__).parent.parent / "tests" / "logs" / "signatures.tsv"


def signatures() -> tuple[list[Compiled], list[str]]:
    """The signatures of the catalogue, and messages for the log."""
    samples = [line.split("\t")[2] for line in OWN.read_text().splitlines()[1:]]
    return list(load_signatures()), samples


def doctor(path: Path, engine: str, *, compiled: bool = True) -> tuple[float, str]:
    """(seconds of processor time, verdict) of `doctor postmortem` on one core, start-up and report included."""
    hidden: tuple[str, ...] = {HYPERSCAN: (), AHO_CORASICK: ("hyperscan",), SHAPES: ("hyperscan", "ahocorasick_rs")}[
        engine
    ]
    hidden += () if compiled else (COMPILED,)
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); from doctor.__main__ import main; main()"
    argv = [*one_core(), sys.executable, "-c", code, "postmortem", str(path)]
    spent, _, done = child(argv)
    return spent, (done.stdout.splitlines() or [done.stderr[-200:]])[0]


def one_core() -> list[str]:
    """What keeps a process on one core; several would divide the log among them."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[-1])] if shutil.which("taskset") else []


def child(argv: list[str]) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """(processor time, wall time, outcome) of a process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done


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
        spent, _, done = child(argv)
    if done.returncode not in (0, 1):
        print("ripgrep:", done.stderr.strip()[:300])
        return None
    return spent, f"{done.stdout.strip() or 0} lines"


#: a piece of a pattern without a group in it, and groups to the second depth
_PIECE = r"(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()\[\\])"
_GROUP = rf"\((?:{_PIECE}|\({_PIECE}*\))*\)"


def for_ripgrep(pattern: str) -> str:
    """The pattern in the words of Rust's regex: no anchor in front, no names (one set for all), no look-around."""
    pattern = re.sub(rf"\(\?<?[=!](?:{_PIECE}|{_GROUP})*\)", "", pattern)
    pattern = re.sub(r"\(\?P<\w+>", "(?:", re.sub(r"^\^", "", pattern))
    return pattern.replace(r"\Z", "$").replace(r"\'", "'").replace(r"\"", '"').replace(r"\`", "`")


def cpu_s() -> float:
    """Processor time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def re_loop(path: Path, chosen: list[Compiled]) -> tuple[float, str]:
    """(seconds for the whole file, note) of every pattern on every line, from a sample of its middle."""
    patterns = [re.compile(each.signature.pattern) for each in chosen]
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size // 2)
        sample = file.read(SAMPLE_BYTES)
    before = cpu_s()
    for line in sample.decode("utf-8", "replace").splitlines():
        for pattern in patterns:
            pattern.search(line)
    return (cpu_s() - before) * size / len(sample), f"from {len(sample) / 1e6:.0f} MB"


def small_log(path: Path) -> None:
    """A log of 10 MB with all cores, as a user waits for it."""
    walls, spents = [], []
    for _ in range(3):  # the first one fills the cache of signatures
        spent, wall, _ = child([sys.executable, "-m", "doctor", "postmortem", str(path)])
        walls.append(wall)
        spents.append(spent)
    print(f"10 MB, `doctor postmortem`, start-up included: {min(walls):.2f} s wall, {min(spents):.2f} s processor time")


def main() -> None:
    """Make the log, time everyone in turns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, metavar="MB", help="of the log")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mix", choices=MIXES, nargs="*", default=list(MIXES), help="of which lines the log is made")
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME", help="contenders that are left out")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in containers; it makes every start compile everything anew
    chosen, samples = signatures()
    folder = Path(tempfile.gettempdir()) / "grpo-doctor-benchmark"
    folder.mkdir(exist_ok=True)
    small = folder / f"runs-10-{options.seed}.log"
    paths = {name: folder / f"{name}-{options.size}-{options.seed}.log" for name in options.mix}
    for name, path in paths.items():
        if not path.exists():
            MIXES[name](path, options.size * 1_000_000, options.seed, samples)
        print(f"{name}:")
        report(path, chosen, options.rounds, options.without)
    if not small.exists():
        write_log(small, 10_000_000, options.seed, samples)
    small_log(small)


def report(path: Path, chosen: list[Compiled], rounds: int, without: list[str]) -> None:
    """Time and print."""
    size = path.stat().st_size
    print(f"{size / 1e6:.0f} MB, {len(chosen)} signatures, Python {sys.version.split()[0]}; processor time of one core")
    contenders = {name: run for name, run in contenders_for(path, chosen).items() if name not in without}
    times: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    for _ in range(rounds):
        for name, contender in contenders.items():
            result = contender()
            if result is not None:
                times.setdefault(name, []).append(result[0])
                notes[name] = result[1]
    bases = [name for name in (PATTERNS, LITERALS, LOOP) if name in times]
    print(f"{'':22} {'MB/s':>7} " + " ".join(f"{'x ' + name:>20}" for name in bases))
    for name, spents in times.items():
        ratios = " ".join(f"{min(times[base]) / min(spents):20.2f}" for base in bases)
        print(f"{name:22} {size / min(spents) / 1e6:7.1f} {ratios}  {notes[name][:70]}")


#: what a compiler made of `doctor/logs/read/_quick.c` when the doctor was installed
COMPILED = "doctor.logs.read._quick"
PATTERNS, LITERALS, LOOP = "ripgrep, patterns", "ripgrep, literals", "re, line by line"


def contenders_for(path: Path, chosen: list[Compiled]) -> dict[str, Callable[[], tuple[float, str] | None]]:
    """Name -> what takes its time."""
    # of bytes it takes ASCII alone, and it has no references back: a dozen it is spared
    own = dict.fromkeys(each.signature.pattern for each in chosen)
    patterns = [for_ripgrep(each) for each in own if each.isascii() and "(?P=" not in each]
    told = (each for one in chosen for each in one.literals or literals_of(one.signature))
    literals = list(
        dict.fromkeys(each.decode() for each in told if each.isascii())
    )  # repeated ones cost it thrice as much
    contenders: dict[str, Callable[[], tuple[float, str] | None]] = {
        PATTERNS: lambda: ripgrep(path, patterns),
        LITERALS: lambda: ripgrep(path, literals, "-F"),
    }
    for engine in filter(installed, ENGINES):
        contenders[f"doctor, {engine}"] = lambda engine=engine: doctor(path, engine)  # type: ignore[misc]
    if importlib.util.find_spec(COMPILED) is not None:
        contenders["doctor, not compiled"] = lambda: doctor(path, next(filter(installed, ENGINES)), compiled=False)
    return contenders | {LOOP: lambda: re_loop(path, chosen)}


def installed(engine: str) -> bool:
    """Whether an engine's package is there."""
    try:
        make_engine([b"literal"], engine)
    except EngineMissing:
        return False
    return True


if __name__ == "__main__":
    main()
