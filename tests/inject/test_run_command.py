"""`doctor run` as a user calls it, with interpreters that hold neither the doctor nor any library."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli.run_words import SENTENCES
from doctor.readers.saved import read as read_facts
from doctor.run import guard_stop
from doctor.run.folder import RunDir, host_name
from tests.commands import run_doctor
from tests.facts.environments import interpreter
from tests.homes import with_cache

pytestmark = pytest.mark.process

PROGRAMS = Path(__file__).parent / "programs"
SCRIPT = str(PROGRAMS / "stand_in.py")
QUIET = ("--no-check", "--no-monitor")


def doctor_run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `doctor run` in a folder, with the stand-ins on the path of the command."""
    return run_doctor("run", *words, cwd=folder, only={**alone(folder), **variables})


def alone(folder: Path) -> dict[str, str]:
    """All variables of a command whose home is a folder."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(with_cache(folder)), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(PROGRAMS / "libraries"),
    }  # fmt: skip


def run_of(folder: Path) -> RunDir:
    (path,) = (folder / "doctor-runs").glob("2*")
    return RunDir(path)


def events(run: RunDir, kind: str) -> list[dict[str, object]]:
    return [each for each in run.read_events() if each["kind"] == kind]


def test_the_guard_comes_into_a_bare_python_39_and_sees_a_nan(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.9"), SCRIPT, "nan")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (guard_stop.CODE, "finished"), done.stderr
    run = run_of(tmp_path)
    (alarm,) = events(run, "alarm")
    assert (alarm["id"], alarm["step"]) == ("NUM006", 2)
    assert "failed" not in {each["data"].get("guard") for each in events(run, "monitor")}  # type: ignore[attr-defined]
    assert "Cause found: NUM006" in done.stderr
    assert (run.path / "report.json").is_file()


REMOVES = """
import glob, os, shutil, sys, time
(run,) = glob.glob("doctor-runs/2*")
if sys.argv[1] == "emptied":
    for each in os.listdir(run):
        shutil.rmtree(f"{run}/{each}") if os.path.isdir(f"{run}/{each}") else os.remove(f"{run}/{each}")
while sys.argv[1] != "emptied" and os.path.exists(run):  # the sampler may write at the same time
    shutil.rmtree(run, ignore_errors=True)
if sys.argv[1] == "another":
    os.makedirs(f"{run}/logs")
print("on", flush=True)
time.sleep(0.5)
raise ValueError("own")
"""


@pytest.mark.parametrize("how", ["removed", "another", "emptied"])
@pytest.mark.parametrize("words", [QUIET, ("--no-check",)])
def test_a_run_folder_that_is_removed_is_said_to_be_lost_and_nothing_else(
    how: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """Not that the guard was kept out, nothing of a report that is not there, and never that nothing is wrong."""
    (tmp_path / "removes.py").write_text(REMOVES)
    done = doctor_run(tmp_path, *words, "--", sys.executable, "removes.py", how)
    assert (done.returncode, done.stdout) == (1, "on\n"), done.stderr
    own = [line for line in done.stderr.splitlines() if line.startswith("doctor: ")]
    assert "start-up hook" not in done.stderr
    assert "Nothing wrong" not in done.stderr
    gone = [line for line in own if "was lost during the run (No such file or directory)" in line]
    unknown = [line for line in own if "whether the guard watched it is unknown" in line]
    assert (len(gone), len(unknown)) == ((0, 1) if how == "emptied" else (1, 0)), done.stderr
    if gone:
        assert own[-1] == gone[0], done.stderr
    for path in re.findall(r"\S+/EVIDENCE\.md", done.stderr):
        assert (tmp_path / path).is_file()


#: ends with the code that its last argument says, after the guard has stopped it
ENDS = """
import sys
from transformers import trainer
trainer.Trainer().train(float("nan"))
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("options", "own", "code"),
    [((), 0, guard_stop.CODE), (("--stopped-exit", "0"), 0, 0), (("--stopped-exit", "7"), 0, 7), ((), 5, 5)],
)
def test_a_run_that_the_guard_stopped_has_an_exit_code_of_its_own(
    options: tuple[str, ...], own: int, code: int, tmp_path: Path
) -> None:
    done = doctor_run(tmp_path, *QUIET, *options, "--", interpreter("3.12"), "-c", ENDS, str(own))
    assert done.returncode == code, done.stderr
    assert ("the guard stopped this run: exit code" in done.stderr) is (code != own)
    run = run_of(tmp_path)
    (stop,) = events(run, "stop")
    noted = run.read_run()
    assert noted["exit"] == own
    assert noted["stopped"] == {
        "id": "NUM006", "step": stop["step"], "rank": 0, "policy": "checkpoint", "save": "asked", "returned": code,
    }  # fmt: skip
    report = json.loads((run.path / "report.json").read_text())
    assert report["target"]["stopped"]["id"] == report["findings"][0]["id"] == "NUM006"
    assert "stopped by the guard at step" in " ".join(report["target"]["summary"])


def test_of_a_guard_that_only_warned_the_code_is_the_commands(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.12"), SCRIPT, "nan", DOCTOR_GUARD_POLICY="*=warn")
    assert done.returncode == 0, done.stderr
    run = run_of(tmp_path)
    assert events(run, "alarm")
    assert not events(run, "stop")
    assert "stopped" not in run.read_run()


@pytest.mark.parametrize("options", [(), ("--collect", "shared")])
def test_monitor_tells_of_a_guard_in_the_script_too(options: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "guarded.py"
    script.write_text(
        "from doctor import DoctorCallback\nfrom transformers import trainer\n"
        "trainer.DEFAULT_CALLBACKS.append(DoctorCallback)\ntrainer.Trainer().train(float('nan'))\n"
    )
    for more, code in (((), guard_stop.CODE), (("--stopped-exit", "0"), 0)):
        words = ["monitor", *options, *more, "--during-run", "--", sys.executable, str(script)]
        done = run_doctor(*words, cwd=tmp_path, only=alone(tmp_path))
        assert done.returncode == code, done.stderr


def test_a_healthy_run_is_left_alone(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.9"), SCRIPT)
    assert (done.returncode, done.stdout) == (0, "finished\n")
    busy = "the logs were not judged within"  # what a machine says that is busy with other tests
    said = [line for line in done.stderr.splitlines() if line and busy not in line]
    assert len(said) == 1, done.stderr
    assert said[0].startswith("doctor: run folder doctor-runs/")


def test_an_exception_is_recorded_with_step_and_explained(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.9"), SCRIPT, "raises")
    assert done.returncode == 1
    (event,) = events(run_of(tmp_path), "exception")
    assert (event["rank"], event["step"]) == (0, 3)
    assert event["data"]["text"] == "the reward server answered 502"  # type: ignore[index]
    assert [each["step"] for each in event["data"]["recent"]] == [1, 2, 3]  # type: ignore[index]
    assert "RuntimeError" in done.stderr
    assert "stand_in.py:17" in done.stderr
    assert "step 3" in done.stderr


def test_an_exception_before_any_trainer_is_recorded_too(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.9"), SCRIPT, "before", RANK="3")
    assert done.returncode == 1
    (event,) = events(run_of(tmp_path), "exception")
    assert (event["rank"], event["data"]["type"]) == (3, "RuntimeError")  # type: ignore[index]
    assert "the guard watched nothing" in done.stderr


def test_without_kept_output_the_exception_is_explained_all_the_same(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--no-capture", "--", interpreter("3.9"), SCRIPT, "raises")
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert "stand_in.py:17" in done.stderr
    (exception,) = events(run_of(tmp_path), "exception")
    assert "the reward server answered 502" in exception["data"]["text"]


@pytest.mark.parametrize("switch", ["-I", "-E", "-S"])
def test_an_isolated_python_runs_and_the_guard_says_that_it_was_not_there(switch: str, tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.12"), switch, "-c", "print('trained')")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "the guard could not be attached: no Python process" in done.stderr


def test_a_sitecustomize_put_before_it_keeps_it_out_and_this_is_said(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    (before / "sitecustomize.py").write_text("print('mine')\n")
    shell = f"PYTHONPATH={before}:$PYTHONPATH {interpreter('3.12')} {SCRIPT}"
    done = doctor_run(tmp_path, *QUIET, "--", "sh", "-c", shell)
    assert (done.returncode, done.stdout) == (0, "mine\nfinished\n")
    assert "before it on PYTHONPATH" in done.stderr


def test_without_a_guard_nothing_is_carried_and_the_path_stays(tmp_path: Path) -> None:
    done = doctor_run(
        tmp_path, *QUIET, "--no-guard", "--", sys.executable, "-c", "import os; print(os.environ['PYTHONPATH'])"
    )
    assert done.stdout.strip() == str(PROGRAMS / "libraries")
    assert not (run_of(tmp_path).path / "patient").exists()


@pytest.mark.parametrize(
    ("code", "status"),
    [("import sys; sys.exit(7)", 7), ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM)],
)
def test_the_exit_code_is_the_commands(code: str, status: int, tmp_path: Path) -> None:
    assert doctor_run(tmp_path, *QUIET, "--", sys.executable, "-c", code).returncode == status


def test_a_command_that_does_not_exist_is_127(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--", "no-such-program")
    assert done.returncode == 127
    assert "cannot be started" in done.stderr
    assert "guard" not in done.stderr


def test_a_script_without_its_interpreter_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    done = doctor_run(tmp_path, *QUIET, "--", "train.py")
    assert done.returncode == 127
    assert (
        "it is a file in this folder, and no program of that name is on PATH; `python train.py` starts it"
        in done.stderr
    )
    assert "No such file" not in done.stderr


def test_what_hinders_the_command_is_said_in_chinese_too(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *QUIET, "--lang", "zh", "--", "no-such-program")
    assert done.returncode == 127
    assert "doctor: 无法启动 `no-such-program`:" in done.stderr
    (tmp_path / "doctor-runs").rename(tmp_path / "before")
    (tmp_path / "doctor-runs").write_text("a file where the folder should be")
    done = doctor_run(tmp_path, *QUIET, "--lang", "zh", "--", sys.executable, "-c", "print('it ran')")
    assert done.stdout.strip() == "it ran"
    assert "doctor: 无法在此处创建运行目录(" in done.stderr


def test_the_check_comes_first_and_the_command_runs_all_the_same(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, "--no-monitor", "--", sys.executable, "nowhere.py")
    assert "LCH003" in done.stderr.partition("run folder")[0]
    assert done.returncode == 2
    report = json.loads((run_of(tmp_path).path / "check.json").read_text())
    assert "LCH003" in {each["id"] for each in report["findings"]}


def test_the_facts_of_the_check_lie_in_the_run_folder_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("raise ValueError('no rewards')\n")
    words = ("--no-monitor", "--no-guard", "--", sys.executable, "fails.py")
    done = doctor_run(tmp_path, *words, WANDB_API_KEY="0123456789abcdef0123456789abcdef01234567")
    assert done.returncode == 1
    run = run_of(tmp_path)
    (path,) = (run.path / "facts").iterdir()
    assert path.name == f"{host_name()}.json"
    assert "0123456789abcdef" not in path.read_text()
    (saved,) = read_facts(path)
    assert {"interpreter", "packages", "host", "launch"} <= set(saved.states)
    assert saved.states["launch"].status == "ok"
    assert saved.states["interpreter"].value.executable == sys.executable


@pytest.mark.parametrize(("version", "told"), [("0.8.5.post1", True), ("0.10.1", False)])
def test_the_post_mortem_knows_what_the_check_has_seen(version: str, told: bool, tmp_path: Path) -> None:
    """The log names no version: where the facts hold one that lacks the defect, it is not named."""
    metadata = tmp_path / "site" / f"vllm-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    log = (
        "Traceback (most recent call last):\n"
        '  File "/opt/vllm/entrypoints/launcher.py", line 34, in serve_http\n'
        "    watchdog_loop(server, app.state.engine_client)\n"
        "AttributeError: 'State' object has no attribute 'engine_client'\n"
    )
    (tmp_path / "fails.py").write_text(f"import sys; sys.stderr.write({log!r}); sys.exit(1)\n")
    words = ("--no-monitor", "--no-guard", "--", sys.executable, "fails.py")
    assert doctor_run(tmp_path, *words, PYTHONPATH=str(tmp_path / "site")).returncode == 1
    report = json.loads((run_of(tmp_path).path / "report.json").read_text())
    assert ("VLL001" in {each["id"] for each in report["findings"]}) is told


def test_its_own_sentences_are_chinese_where_that_is_asked_for(tmp_path: Path) -> None:
    words = ("--no-check", "--lang", "zh", "--", interpreter("3.12"), "-I", "-c", "raise SystemExit(4)")
    done = doctor_run(tmp_path, *words)
    assert done.returncode == 4
    assert "doctor: 运行目录 doctor-runs/" in done.stderr
    assert "guard 未能附加:命令的 Python 进程" in done.stderr
    assert "命令以退出码 4 结束" in done.stderr
    assert "数据与各阶段:doctor report doctor-runs/" in done.stderr


def test_every_sentence_has_its_chinese_with_the_same_values() -> None:
    english, chinese = SENTENCES["en"], SENTENCES["zh"]
    assert english.keys() == chinese.keys()
    places = {each: sorted(re.findall(r"\{\w+\}", text)) for each, text in english.items()}
    assert places == {each: sorted(re.findall(r"\{\w+\}", text)) for each, text in chinese.items()}
    assert not [each for each in english if english[each] == chinese[each]]


def test_the_gate_refuses_on_a_confirmed_error(tmp_path: Path) -> None:
    done = doctor_run(tmp_path, "--gate", "--", sys.executable, "nowhere.py")
    assert done.returncode == 1
    assert "not launched: LCH003" in done.stderr
    assert not (tmp_path / "doctor-runs").exists()


def test_the_gate_lets_a_good_command_through(tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text("print('fine')\n")
    done = doctor_run(tmp_path, "--gate", "--no-monitor", "--", sys.executable, "fine.py")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize("words", [(), ("--gate", "--no-check", "--", "true"), ("--no-such-option", "--", "true")])
def test_wrong_use_is_an_error_of_use(words: tuple[str, ...], tmp_path: Path) -> None:
    done = doctor_run(tmp_path, *words)
    assert done.returncode == 2
    assert "Error" in done.stderr
    assert not (tmp_path / "doctor-runs").exists()


def test_settings_of_the_file_reach_a_python_that_reads_no_toml(tmp_path: Path) -> None:
    (tmp_path / "doctor.toml").write_text('[guard]\nlang = "zh"\n[guard.policy]\nNUM006 = "warn"\n')
    code = "import os; print(os.environ['DOCTOR_GUARD_LANG'], os.environ['DOCTOR_GUARD_POLICY'])"
    done = doctor_run(tmp_path, *QUIET, "--", interpreter("3.9"), "-c", code)
    assert done.stdout == "zh NUM006=warn\n", done.stderr


def test_a_folder_that_cannot_be_written_costs_only_the_doctor(tmp_path: Path) -> None:
    (tmp_path / "doctor-runs").write_text("a file where the folder should be")
    blocked = tmp_path / "no-temporary-folder"
    done = doctor_run(tmp_path, *QUIET, "--", sys.executable, "-c", "print('runs')", TMPDIR=str(blocked))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "runs")


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_a_command_without_the_doctor_ends_in_its_own_time_and_with_its_own_code(tmp_path: Path, name: str) -> None:
    """As one does that saves a checkpoint when it is told to end."""
    (tmp_path / "doctor-runs").write_text("a file where the folder should be")
    script = f"trap 'sleep 1; echo saved; exit 5' {name}; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", "run", *QUIET, "--", "sh", "-c", script], cwd=tmp_path, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "none")}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert process.communicate(timeout=60)[0] == "saved\n"
    assert process.returncode == 5
