"""Times post-mortems of many rank logs: one process, this machine's cores, a Ray cluster.

    python benchmarks/cluster_logs.py [--files 100 1000 10000] [--size 1000000] [--distinct 100] [--ray ADDRESS]

Each rank has a log; files beyond `--distinct` are links, as in the test, and links are read once: so MB/s is told for
the content that was read and for what lies there under all names. Processor time is that of all processes here; a
cluster's own is not seen, so that only its wall time tells. Peak is that of the largest process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rank_log_writer import write_rank_logs

_CHILD = """
import json, resource, sys, time
from doctor.logs.read import parallel
if sys.argv[2] == "1":
    parallel.cores = lambda: 1
from doctor.logs.postmortem import examine
work = None
if len(sys.argv) > 3:
    from doctor.cluster.ray_logs import RayLogs
    work = RayLogs(sys.argv[3], sys.executable)
began = time.perf_counter()
result = examine([sys.argv[1]], work=work)
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
first = result.diagnosis.outcome.findings[0]
print(json.dumps({
    "wall": time.perf_counter() - began, "cpu": sum(each.ru_utime + each.ru_stime for each in spent),
    "peak": max(each.ru_maxrss for each in spent) / 1024, "rank": first.where.rank, "id": first.problem.id,
    "notes": work.notes if work else [],
}))
"""


def main() -> None:
    """Write the logs, time everyone, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--size", type=int, default=1_000_000, metavar="BYTES")
    parser.add_argument("--distinct", type=int, default=100, metavar="N")
    parser.add_argument("--ray", metavar="ADDRESS", help="of a running cluster on this file system")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in containers; it makes every start compile everything anew
    contenders = {"1 process": ("1",), f"{len(os.sched_getaffinity(0))} cores": ("all",)}
    if options.ray:
        contenders["Ray"] = ("all", options.ray)
    print(
        f"{'files':>7} {'':>10} {'wall s':>8} {'CPU s':>8} {'files/s':>9} {'MB/s read':>10} {'MB/s lying':>11} "
        f"{'peak MB':>8}"
    )
    with tempfile.TemporaryDirectory() as root:
        for files in options.files:
            folder = Path(root) / f"ranks-{files}"
            distinct = min(options.distinct, files - 1)
            write_rank_logs(folder, files, options.size, distinct=distinct, odd=files * 2 // 3)
            for name, arguments in contenders.items():
                print(f"{files:>7} {name:>10} {row(folder, files, distinct + 1, options.size, arguments)}", flush=True)
            shutil.rmtree(folder)
            shutil.rmtree(folder.parent / f"{folder.name}-content")


def row(folder: Path, files: int, contents: int, size: int, arguments: tuple[str, ...]) -> str:
    """One measurement as text; tells where the wrong rank was named."""
    command = [sys.executable, "-c", _CHILD, str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    wall, right = told["wall"], told["rank"] == files * 2 // 3
    return (
        f"{wall:8.1f} {told['cpu']:8.1f} {files / wall:9.0f} {contents * size / wall / 1e6:10.1f} "
        f"{files * size / wall / 1e6:11.1f} {told['peak']:8.0f}"
        f"{'' if right else '  WRONG RANK'} {' '.join(told['notes'])}"
    )


if __name__ == "__main__":
    main()
