"""The commands as a user types them: wrong input, interrupts, pipes, narrow terminals, hostile files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.environments import run_doctor
from tests.monitors.conftest import wait_for

NONSENSE = [
    ("foo", "bar"),
    ("--", "--"),
    ("accelerate", "launch"),
    ("accelerate", "launch", "--config_file"),
    ("torchrun",),
    ("python",),
    ("python", "-m"),
    ("VAR=1",),
    ("vllm",),
    ("trl", "grpo", "--config", "/nowhere/x.yaml"),
    ("",),
    ("\udcff\x00".replace("\x00", ""), "x"),
]


@pytest.mark.parametrize("words", NONSENSE)
def test_nonsense_commands_get_a_message_and_no_traceback(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run_doctor("check", "--", *words, cwd=tmp_path)
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.strip() or done.stderr.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chekc",), "The nearest is `check`"),
        (("check", "--from", "absent.txt"), "absent.txt"),
        (("check", "--format", "yaml"), "yaml"),
        (("check", "--ignore", "no such id!"), "neither an id"),
        (("check", "-o", "/nowhere/x.json", "--format", "json"), "cannot write"),
        (("check", "--save-facts", "/nowhere/x.json"), "cannot write"),
        (("explain", "VLL01"), "There is no problem `VLL01`"),
        (("explain", "vll0001"), "Near it: VLL001"),
        (("explain", "TRL2205/Remove"), "Near it: TRL2205/removed"),
        (("explain", "GPU-uncorrected-ec"), "Near it: gpu-uncorrected-ecc"),
        (("list", "nothing"), "There is no area `nothing`"),
        (("diff", "absent.json"), "absent.json"),
        (("env", "--python", "/nowhere/python"), "`/nowhere/python` does not exist"),
        (("report", "no-such-run"), "`no-such-run` does not exist"),
    ],
)
def test_usage_errors_say_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run_doctor(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["train.py", "cfg.yaml"])
@pytest.mark.parametrize("kind", ["junk", "loop", "folder", "fifo", "huge", "utf16"])
def test_hostile_files_are_named_and_nothing_hangs(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "cfg.yaml").write_text("num_processes: 1\n")
    path = tmp_path / name
    path.unlink()
    if kind == "junk":
        path.write_bytes(os.urandom(5000))
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(100 << 20)
    else:
        path.write_bytes("a: [1, 2\n".encode("utf-16"))
    started = time.monotonic()
    done = run_doctor("check", "--", "accelerate", "launch", "--config_file", "cfg.yaml", "train.py", cwd=tmp_path)
    assert time.monotonic() - started < 30
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert name in done.stdout


def test_malformed_files_carry_their_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\ndef broken(:\n")
    (tmp_path / "cfg.yaml").write_text("num_processes: 1\nfoo: [1, 2\n")
    report = run_doctor(
        "check", "--format", "json", "--", "accelerate", "launch", "--config_file", "cfg.yaml", "train.py", cwd=tmp_path
    )
    places = {
        (Path(each["where"]["file"]).name, each["where"].get("line"))
        for each in json.loads(report.stdout)["findings"]
        if each["id"] == "LCH004"
    }
    assert ("train.py", 2) in places
    assert "cfg.yaml" in {name for name, _ in places}


def test_secrets_of_command_and_environment_are_never_printed(tmp_path: Path) -> None:
    secret, key = "hf_" + "a1b2c3d4e5" * 3, "0123456789abcdef" * 2
    (tmp_path / "train.py").write_text(f"import os\nos.environ['HF_TOKEN'] = '{secret}'\n")
    words = [
        f"WANDB_API_KEY={key}",
        "python",
        "train.py",
        "--hub_token",
        secret,
        "--push",
        f"https://u:{key}@example.org/x",
    ]
    env = {"AWS_SECRET_ACCESS_KEY": key, "OPENAI_API_KEY": "sk-" + key}
    for form in ("text", "json", "markdown", "html", "sarif", "github"):
        done = run_doctor("check", "-v", "--format", form, "--", *words, cwd=tmp_path, env=env)
        assert secret not in done.stdout + done.stderr
        assert key not in done.stdout + done.stderr
    state = Path(os.environ["XDG_STATE_HOME"])
    kept = "".join(path.read_text() for path in state.rglob("*.json"))
    assert kept
    assert key not in kept


@pytest.mark.parametrize("typed", ["/no/such/python", ".", "/bin/ls", "no-such-python"])
def test_python_option_that_names_no_interpreter_is_an_error_of_use(tmp_path: Path, typed: str) -> None:
    done = run_doctor("check", "--python", typed, cwd=tmp_path)
    assert done.returncode == 2
    assert "--python: `" in done.stderr
    assert not done.stdout


@pytest.mark.process
def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    slow = tmp_path / "python3.9"
    slow.write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'\nsleep 30\n")
    slow.chmod(0o755)
    doctor = subprocess.Popen(
        [sys.executable, "-m", "doctor", "check", "--python", str(slow)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for((tmp_path / "asked").exists)
    doctor.send_signal(signal.SIGINT)
    out, err = doctor.communicate(timeout=20)
    assert doctor.returncode == 130, out + err
    assert "Traceback" not in err


@pytest.mark.process
def test_ctrl_c_while_the_command_line_is_imported_gives_no_traceback(tmp_path: Path) -> None:
    code = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "doctor.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from doctor.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.process
@pytest.mark.parametrize(
    ("given", "left"),
    [({}, "None"), ({"LANG": "C"}, "None"), ({"LC_CTYPE": "C.UTF-8"}, "C.UTF-8"), ({"LC_CTYPE": "x"}, "x")],
)
def test_what_pythons_start_adds_to_the_environment_reaches_no_command(given: dict[str, str], left: str) -> None:
    code = "import os; from doctor.__main__ import _uncoerced; _uncoerced(); print(os.environ.get('LC_CTYPE'))"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, timeout=60, check=False)
    assert done.stdout.decode().strip() == left


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "code", "out", "told"),
    [
        ("run -- sh -c 'echo hi; exit 4'", 4, b"hi\n", b"runs without the doctor"),
        ("check", 2, b"", b"the current folder cannot be used"),
        ("run --gate -- sh -c 'echo hi'", 2, b"", b"the current folder cannot be used"),
    ],
)
def test_in_a_folder_that_was_removed_the_command_runs_and_nothing_else_does(
    tmp_path: Path, words: str, code: int, out: bytes, told: bytes
) -> None:
    (gone := tmp_path / "gone").mkdir()
    line = f"cd {gone}; rmdir {gone}; exec {sys.executable} -m doctor {words}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (code, out), done.stderr
    assert told in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("words", ["list", "list --format json", "explain VLL001"])
def test_reader_that_leaves_early_is_no_error(tmp_path: Path, words: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m doctor {words} | head -1"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 0


@pytest.mark.process
def test_reader_that_leaves_early_changes_neither_code_nor_files(tmp_path: Path) -> None:
    death = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    (tmp_path / "train.log").write_text("filler\n" * 200 + death)
    commands = ("check -- python absent.py", "postmortem train.log --html r.html", "postmortem train.log --format json")
    for words in commands:
        done = subprocess.run(
            ["bash", "-c", f"{sys.executable} -m doctor {words} | true; exit ${{PIPESTATUS[0]}}"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), (words, done.stderr)
    assert (tmp_path / "r.html").stat().st_size > 1000


@pytest.mark.process
def test_closed_output_and_full_disk_are_no_bugs_of_the_doctor(tmp_path: Path) -> None:
    for redirection, code, words in ((">&-", 1, ""), ("> /dev/full", 3, "could not be written")):
        done = subprocess.run(
            ["bash", "-c", f"{sys.executable} -m doctor check -- python absent.py {redirection}"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_full_disk_costs_only_the_memory_of_the_last_result(tmp_path: Path) -> None:
    done = run_doctor("check", cwd=tmp_path, env={"XDG_STATE_HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"})
    assert done.returncode in (0, 1), done.stderr


def test_list_explain_schema_and_version(tmp_path: Path) -> None:
    problems = json.loads(run_doctor("list", "--format", "json", cwd=tmp_path).stdout)
    assert len(problems) >= 90
    assert {"id", "name", "area", "severity", "title", "detectors"} <= problems[0].keys()
    page = run_doctor("explain", "vll001", cwd=tmp_path).stdout
    assert "## What to do" in page
    assert run_doctor("explain", "api-server-engine-client", cwd=tmp_path).stdout == page
    assert json.loads(run_doctor("schema", cwd=tmp_path).stdout)["title"] == "doctor/1"
    assert json.loads(run_doctor("schema", "facts", cwd=tmp_path).stdout)["title"] == "doctor-facts/1"
    assert run_doctor("--version", cwd=tmp_path).stdout.startswith("doctor, version")


@pytest.mark.process
def test_chinese_is_chosen_by_option_and_locale(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("x = (\n")
    command = ("--", "python", "t.py")
    english = run_doctor("check", *command, cwd=tmp_path).stdout
    for chosen in (
        run_doctor("check", "--lang", "zh", *command, cwd=tmp_path).stdout,
        run_doctor("check", *command, cwd=tmp_path, env={"LC_ALL": "zh_CN.UTF-8"}).stdout,
    ):
        assert "处理" in chosen
    assert "处理" not in english


def test_settings_file_is_honoured(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("x = (\n")
    (tmp_path / "doctor.toml").write_text('ignore = {LCH004 = "known"}\nlang = "zh"\n')
    done = run_doctor("check", "--", "python", "t.py", cwd=tmp_path)
    assert "LCH004 (known)" in done.stdout
    (tmp_path / "doctor.toml").write_text("ignore = 5\n")
    assert run_doctor("check", cwd=tmp_path).returncode == 2


@pytest.mark.process
def test_importing_doctor_imports_neither_torch_nor_what_is_heavy(tmp_path: Path) -> None:
    code = (
        "import doctor, sys; print(sorted({'torch', 'rich', 'pandas', 'pynvml', 'click', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = (
        "import sys; from doctor.cli.app import run;"
        "run(['check', '--format', 'json', '-o', 'x.json', '--', 'python', 't.py']);"
        "print(sorted({'torch', 'rich', 'pandas', 'csv', 'gzip'} & set(sys.modules)), file=sys.stderr)"
    )
    (tmp_path / "t.py").write_text("x = 1\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.strip().endswith("[]")
    code = (
        "import sys; before = set(sys.modules); from doctor.cli.app import run; run(['--help']);"
        "print(sorted({'shutil', 'json', 'rich', 'doctor.base.patterns'} & set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("form", ["signature", "check", "rule"])
def test_new_problem_is_scaffolded_and_refused_until_it_is_filled_in(tmp_path: Path, form: str) -> None:
    from doctor.catalogue.index import load
    from doctor.cli.dev_lint import faults_of

    root = tmp_path / f"made_{form}"
    for folder in ("checks/vllm", "tests/checks"):
        (root / folder).mkdir(parents=True)
    for package in (root, root / "checks", root / "checks" / "vllm"):
        (package / "__init__.py").touch()
    options = ("--root", str(root), *(() if form == "signature" else (f"--{form}",)))
    done = run_doctor("dev", "new", "vllm", "made-up", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (root / "checks" / "vllm" / "made_up.py").exists() == (form != "signature")
    sys.path.insert(0, str(tmp_path))
    try:
        (entry,) = load({f"made_{form}.checks": root / "checks"})
        faults = list(faults_of(entry, {entry.id}))
    finally:
        sys.path.remove(str(tmp_path))
    assert entry.name == "made-up"
    assert (bool(entry.checks), entry.has_rule, entry.has_signatures) == (
        form == "check", form == "rule", form == "signature"
    )  # fmt: skip
    for part in ("manual", "headline", "explanation", "remedy"):
        assert any(part in fault and "not filled in" in fault for fault in faults), faults
    assert any("pattern" in fault and "not filled in" in fault for fault in faults) == (form == "signature")
    assert (root / "tests" / "checks" / f"{entry.id}.yaml").exists() == (form == "check")
    assert (root / "tests" / "signatures" / entry.id / "hit-1.log").exists() == (form == "signature")
    again = run_doctor("dev", "new", "vllm", "made-up", *options, cwd=tmp_path)
    assert again.returncode == 2


def test_what_is_ignored_and_names_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("x = 1  # doctor: ignore[TRL999] a slip\n")
    (tmp_path / "doctor.toml").write_text('ignore = ["VLL999", "LCH004", "launcher-not-fond", "GPU"]\n')
    done = run_doctor("check", "--ignore", "XYZ", "--", "python", "t.py", cwd=tmp_path)
    told = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(told) == 4, done.stderr
    assert "doctor.toml: `VLL999` is not a problem" in done.stderr
    assert "`launcher-not-fond` is not a problem of the doctor, so it ignores nothing, the nearest is" in done.stderr
    assert "--ignore: `XYZ` is not a problem" in done.stderr
    assert "t.py:1: `TRL999` is not a problem" in done.stderr


def test_command_in_one_quoted_word_is_split(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("x = (\n")
    whole = run_doctor("check", "--format", "json", "--", f"{sys.executable} 't.py' --lr 1", cwd=tmp_path)
    assert json.loads(whole.stdout)["target"]["argv"] == [sys.executable, "t.py", "--lr", "1"]
    assert run_doctor("check", "--", "python 't.py", cwd=tmp_path).returncode == 2


def test_diff_with_now_refuses_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    run_doctor("check", "--save-facts", "works.json", cwd=tmp_path)
    done = run_doctor("diff", "works.json", "--python", "/nowhere/python", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`/nowhere/python` does not exist" in done.stderr


def test_empty_python_option_is_an_error_of_use(tmp_path: Path) -> None:
    done = run_doctor("check", "--python", "", cwd=tmp_path)
    assert done.returncode == 2
    assert "is empty" in done.stderr


#: a command that waits in a temporary folder of its own
WAITS = """
import sys, tempfile, time, types
import click
from doctor.__main__ import main
from doctor.cli import app

@click.command()
def command():
    with tempfile.TemporaryDirectory():
        print("ready", flush=True)
        time.sleep(60)

sys.modules["doctor.cli.waits"] = types.SimpleNamespace(command=command)
app.COMMANDS["waits"] = ("waits", "")
sys.argv[1:] = ["waits"]
main()
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_it_leaves_no_temporary_folder(tmp_path: Path, number: signal.Signals) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert list(tmp_path.iterdir())
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -number
    assert err.strip() == "interrupted"
    assert not list(tmp_path.iterdir())


def test_diff_shows_the_version_of_a_package_that_only_one_side_has(tmp_path: Path) -> None:
    for name, packages in (("a", "vllm     0.8.5\n"), ("b", "numpy    2.0\n")):
        (tmp_path / f"{name}.txt").write_text(f"Package  Version\n-------- -------\n{packages}torch    2.6.0\n")
    shown = run_doctor("diff", "a.txt", "b.txt", cwd=tmp_path).stdout
    assert re.search(r"packages numpy +- +2\.0\b", shown)
    assert re.search(r"packages vllm +0\.8\.5 +-", shown)
    assert "{" not in shown
