"""Judge public training scripts as `doctor check` would, and count the errors: each is false until it is explained.

    python tools/check_public_scripts.py --mirrors DIR [--only WORD]

DIR holds a clone a repository, `owner+name` (or `owner+name/repo`), with the commits that publicscripts.toml names.
Nothing of theirs is run or kept: files are unpacked into a temporary folder and read. They are judged with the
versions that publicscripts.toml names for them, on a machine of which nothing is known.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import tomllib

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.diagnosis.diagnose import Patient, diagnose
from doctor.diagnosis.report import as_dict
from doctor.facts.packages import Distribution, Packages

HERE = Path(__file__).resolve().parent
#: findings that speak of files and logins which the reader of an example has to bring
_OF_MACHINE = ("LCH002", "LCH003", "HUB002", "HUB003", "TRK003", "VRL033")


def unpacked(mirrors: Path, repository: str, commit: str, folder: Path) -> Path:
    """A repository's files at a commit."""
    base = mirrors / repository.replace("/", "+")
    git = next(each for each in (base / "repo", base / ".git", base) if each.exists())
    target = folder / f"{repository.replace('/', '+')}-{commit[:12]}"
    if target.exists():  # another entry names the same one
        return target
    target.mkdir()
    archive = subprocess.run(["git", f"--git-dir={git}", "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", str(target)], input=archive, check=True)
    return target


def commands(root: Path, entry: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """(path, launch command) of every file that an entry names."""
    for pattern in entry["paths"]:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            if not any(fnmatch(name, each) for each in entry.get("skip", ())):
                yield name, shlex.split(entry["command"].format(path=name))


def judged(command: list[str], root: Path, versions: Mapping[str, str]) -> dict[str, Any]:
    """The report of one command in an environment of these versions, on a machine of which nothing is known."""
    listed = {name: Distribution(name, version) for name, version in versions.items()}
    given = {"packages": Observed.seen(Packages(listed, complete=False))}
    context = Context(tuple(command), root, {"HOME": str(root), "PATH": ""})
    return as_dict(diagnose(context, [Patient(given, "publicscripts.toml")])[0])


def main() -> int:
    """Print what was found, a line a finding, and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", metavar="WORD", default="")
    options = parser.parse_args()
    plan = tomllib.loads((HERE / "publicscripts.toml").read_text(encoding="utf-8"))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for entry in plan["source"]:
            if options.only not in entry["repository"]:
                continue
            root = unpacked(options.mirrors, entry["repository"], entry["commit"], Path(folder))
            for name, command in commands(root, entry):
                counts.update(_told(entry["repository"], name, judged(command, root, entry.get("versions", {}))))
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    return 1 if counts["errors of scripts"] else 0


def _told(repository: str, name: str, report: Mapping[str, Any]) -> Iterator[str]:
    yield "scripts"
    if not any("command of" in each for each in report["target"]["summary"]) and name.endswith((".sh", ".slurm")):
        yield "scripts without a command"
        reasons = [each["headline"] for each in report["findings"] if each["id"] == "LCH001"]
        print(f"{repository}:{name}: not read: {reasons}")
    for finding in report["findings"]:
        machine = finding["id"].startswith(_OF_MACHINE)
        yield f"{finding['severity']}s of {'the machine' if machine else 'scripts'}"
        if not machine and finding["severity"] == "error":
            print(f"{repository}:{name}: {finding['id']} {finding['confidence']}: {finding['headline']}")
    yield from ("crashes" for _ in report["crashed"])


if __name__ == "__main__":
    sys.exit(main())
