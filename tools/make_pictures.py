"""Makes the pictures of the READMEs anew, from what the doctor says today of the project in `tests/tasks/project/`.

    python tools/make_pictures.py --python .venv-real/bin/python

The interpreter is one with the real stack (`tools/make_real_stack.sh`): its versions stand in the picture.
`nan.log` is what `tests/real/programs/grpo.py MODEL nan-greedy-unfiltered` printed, without its progress bar.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent / "tests" / "tasks" / "project"
IMAGES = HERE.parent / "docs" / "images"
CHECK = ("--", "accelerate", "launch", "--config_file", "zero2.yaml", "train_grpo.py")


def project(folder: Path) -> Path:
    """The project with the rows that it trains on."""
    shutil.copytree(PROJECT, folder)
    shutil.copy(folder / "nan.log", folder / "train.log")
    rows = [json.dumps({"prompt": f"{number} + {number + 1} = "}) for number in range(200)]
    (folder / "prompts.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def draw(folder: Path, python: Path, name: str, *words: str, width: int = 100) -> None:
    """One report as JSON, and its picture.

    Raises:
        subprocess.CalledProcessError: the doctor failed, or its report cannot be drawn.

    """
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    environ = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    report = folder.parent / f"{name}.json"
    doctor = [sys.executable, "-m", "doctor", name, "--format", "json", "-o", str(report), *words]
    done = subprocess.run(doctor, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, doctor, done.stdout, done.stderr)
    drawn = [sys.executable, str(HERE / "draw_terminal.py"), str(report), str(IMAGES / f"{name}.svg")]
    subprocess.run([*drawn, "--folder", str(folder), "--width", str(width)], check=True)


def main() -> None:
    """Draw both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=HERE.parent / ".venv-real" / "bin" / "python")
    python = Path.cwd() / parser.parse_args().python  # not resolved: an environment's interpreter is a link
    with tempfile.TemporaryDirectory() as scratch:
        folder = project(Path(scratch) / "project")
        draw(folder, python, "check", *CHECK, width=114)  # as wide as the longest line of the list at its end
        draw(folder, python, "postmortem", "train.log")


if __name__ == "__main__":
    main()
