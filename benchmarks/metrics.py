"""A million rows of metrics: reading, rules and time line together, with the memory that it takes.

Run it as ``python benchmarks/metrics.py [ROWS]``. Each input is judged in a process of its own, beside the bare reading
of the same file.
"""

from __future__ import annotations

import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

NAMES = ("loss", "grad_norm", "learning_rate", "reward", "reward_std", "kl", "entropy", "step_time")
VALUES = (0.01, 0.4, 1e-6, 0.5, 0.3, 0.05, 0.9, 12.0)


def write_csv(path: Path, rows: int) -> None:
    """The run folder's CSV: one row a value."""
    source = random.Random(1)  # noqa: S311 - noise
    with path.open("w") as file:
        file.write("step,t_ns,name,value\n")
        for row in range(rows):
            step, which = divmod(row, len(NAMES))
            value = VALUES[which] * math.exp(source.gauss(0, 0.2))
            file.write(f"{step + 1},{1700000000000000000 + step},{NAMES[which]},{value:.6g}\n")


def write_dicts(path: Path, rows: int) -> None:
    """The Trainer's dict lines: eight values a line, so that there are as many values as rows."""
    source = random.Random(1)  # noqa: S311 - noise
    with path.open("w") as file:
        for _ in range(rows // len(NAMES)):
            values = (value * math.exp(source.gauss(0, 0.2)) for value in VALUES)
            body = ", ".join(f"'{name}': '{value:.4g}'" for name, value in zip(NAMES, values, strict=True))
            file.write("{" + body + ", 'epoch': '0.1'}\n")


def write_verl(path: Path, rows: int) -> None:
    """VeRL's lines, likewise."""
    names = ("actor/pg_loss", "actor/grad_norm", "actor/lr", "critic/score/mean", "x/std", "actor/kl_loss",
             "actor/entropy", "timing_s/step")  # fmt: skip
    source = random.Random(1)  # noqa: S311 - noise
    with path.open("w") as file:
        for step in range(rows // len(names)):
            values = (value * math.exp(source.gauss(0, 0.2)) for value in VALUES)
            body = " - ".join(f"{name}:{value:.6g}" for name, value in zip(names, values, strict=True))
            file.write(f"step:{step + 1} - {body}\n")


def judge(path: Path) -> None:
    """Read, judge and keep a time line: the whole post-mortem, without the catalogue's signatures made ready."""
    from doctor.catalogue.columns import MetricRow
    from doctor.logs.postmortem import examine, prepare

    class Counted:
        """Stands where a table would be written, and counts."""

        values = 0

        def passed(self, rows: Iterator[MetricRow]) -> Iterator[MetricRow]:
            for row in rows:
                self.values += len(row.values)
                yield row

    prepared, counted = prepare(), Counted()
    began, cpu = time.perf_counter(), time.process_time()
    examine([str(path)], prepared=prepared, table=counted)  # type: ignore[arg-type]
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{path.name:12} {counted.values:>9} values  {seconds:6.2f} s  {cpu:6.2f} s of CPU  {peak:5.0f} MiB")


def yardstick() -> float:
    """CPU seconds for ten million turns of an empty loop: tells how busy the machine is."""
    cpu = time.process_time()
    for _ in range(10_000_000):
        pass
    return time.process_time() - cpu


def main() -> None:
    """Write the inputs, then judge each in a fresh process."""
    if len(sys.argv) > 2:
        judge(Path(sys.argv[2]))
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("rank0.csv", write_csv), ("dicts.log", write_dicts), ("verl.log", write_verl)):
            path = Path(folder) / name
            write(path, rows)
            began = time.perf_counter()
            with path.open("rb") as file:
                for _ in file:
                    pass
            print(f"{name:12} bare reading {time.perf_counter() - began:.2f} s, {path.stat().st_size >> 20} MiB")
            subprocess.run([sys.executable, __file__, "judge", str(path)], check=True)
            print(f"{'':12} ten million empty turns take {yardstick():.2f} s of CPU here and now")


if __name__ == "__main__":
    main()
