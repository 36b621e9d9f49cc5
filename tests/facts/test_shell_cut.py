"""Commands of a script that the shell ends before their last line as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.evidence import Place
from doctor.base.fact import Context
from doctor.catalogue.finding import Finding
from doctor.checks.launch.commands.shell_line_not_run import command_cut_short
from doctor.facts.launch import Cut, Launch
from doctor.readers.command import launch as launch_fact


def launched(folder: Path, script: str) -> Launch:
    (folder / "run.sh").write_text(script)
    return launch_fact.collect(Context(("bash", "run.sh"), folder, {}))


def told(folder: Path, script: str) -> list[Finding]:
    return list(command_cut_short(launched(folder, script)))


@pytest.mark.parametrize(
    ("script", "by", "line", "lost"),
    [
        ("python t.py --a 1 \\\n  # --b 2 \\\n  --c 3 \\\n  --d-e=4\n", "comment", 2, ("--c", "--d-e")),
        ("python t.py --a 1 \\\n  --b 2 # was 3 \\\n  --c 4\n", "comment", 2, ("--c",)),
        ("python t.py \\\n# one\n# two\n  --b 2 \\\n# three\n  -c 3\necho done\n", "comment", 2, ("--b", "-c")),
        ("python t.py > log 2>&1 \\\n# x\n  --b 2\n", "comment", 2, ("--b",)),
        ("cd . && python t.py --a 1 \\\n# x\n  --b 2 | tee log\n", "comment", 2, ("--b",)),
        ("python -m verl.trainer.main_ppo a.b=1 \\\n# c.d=2 \\\n  e.f=3 \\\n  +g.h=4\n", "comment", 2, ("e.f", "+g.h")),
        ("python t.py \\\n# x\n  --a=1\necho done\n", "comment", 2, ("--a",)),
        ("python t.py \\\n# x\n  --a=1 --b=$X \\\n  --c 3\n", "comment", 2, ("--a", "--b", "--c")),
        ("if true; then\n  python t.py \\\n    # x\n    --b 2\nfi\n", "comment", 3, ("--b",)),
        ("f() {\n  python t.py \\\n    # x\n    --b 2\n}\nf\n", "comment", 3, ("--b",)),
        ("for s in 1; do\n  python t.py \\\n    # x\n    --b $s\ndone\n", "comment", 3, ("--b",)),
        ("python t.py --a 1\n  --b 2\n", "not joined", 1, ("--b",)),
        ("python t.py --a 1 \\\n\n  --b 2\n", "not joined", 1, ("--b",)),
        ("python t.py --a 1 \\ \n  --b 2\n", "blank", 1, ("--b",)),
        ("python t.py --a 1 \\ # x\n  --b 2\n", "blank", 1, ("--b",)),
    ],
)
def test_where_a_command_is_cut(tmp_path: Path, script: str, by: str, line: int, lost: tuple[str, ...]) -> None:
    cut = launched(tmp_path, script).cut
    assert isinstance(cut, Cut)
    assert (cut.by, cut.place, cut.lost) == (by, Place(str(tmp_path / "run.sh"), line), lost)


@pytest.mark.parametrize(
    "script",
    [
        "# above\npython t.py \\\n  --a 1 \\\n  --b 2\n",
        "python t.py \\\n  --a 1 \\\n  # --b 2\n\necho done\n",
        "python t.py \\\n  --a 1 # the last one\n# more\npython u.py --a\n",
        'ARGS=(\n  --a 1\n  # --b 2\n  --c 3\n)\npython t.py "${ARGS[@]}"\n',
        "python t.py \\\n  --a 1 `# --b 2` \\\n  --c 3\n",
        "python t.py --a 1 |\n  # to a file as well\n  tee log\n",
        "python t.py --a 1\ncat <<EOF\n  --b 2\nEOF\n",
        "python t.py --a '\n# x\n  --b 2'\n",
        "case x in\n  x) python t.py ;;\n  # other\n  --y) python u.py ;;\nesac\n",
        "python t.py --a 1\n# for all\nA=1\nexport A\n",
    ],
)
def test_whole_commands(tmp_path: Path, script: str) -> None:
    assert launched(tmp_path, script).cut is None
    assert told(tmp_path, script) == []


def test_what_is_lost_is_named(tmp_path: Path) -> None:
    options = " ".join(f"--o{number} {number}" for number in range(9))
    (finding,) = told(tmp_path, f"python t.py \\\n  # x\n  --key=secret {options}\n")
    assert finding.words().headline.startswith("The comment in line 2")
    assert finding.where.line == 2
    assert finding.values["lost"] == "`--key`, `--o0`, `--o1`, `--o2`, `--o3`, `--o4`, `--o5`, `--o6`, ..."


def test_each_way_has_its_words(tmp_path: Path) -> None:
    scripts = ("python t.py\n  --b 2\n", "python t.py \\ \n  --b 2\n")
    unjoined, blank = (told(tmp_path, each)[0] for each in scripts)
    assert "nothing joins" in unjoined.words().headline
    assert not unjoined.commands
    assert "a blank follows" in blank.words().headline
    assert blank.commands
