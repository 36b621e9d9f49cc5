"""`doctor serve` as typed, over a program that only looks like vLLM's server."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import run_doctor
from tests.homes import with_cache

pytestmark = pytest.mark.process

#: prints what it got, then does what PLAY says
SERVER = """
import json, os, sys, time
print(json.dumps({"argv": sys.argv[1:], "serve": os.environ["DOCTOR_SERVE"]}), flush=True)
play = os.environ.get("PLAY", "")
if play == "memory":
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of "
          "23.64 GiB of which 1.10 GiB is free.", file=sys.stderr)
    sys.exit(7)
if play == "killed":
    os.kill(os.getpid(), 9)
if play == "wait":
    time.sleep(100)
if play == "prints":
    for k in range(18000):
        print(f"line {k}", "x" * 240)
    sys.exit(5)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder on the path with a `vllm` of the newest release that still has the module."""
    folder = tmp_path / "site"
    package = folder / "vllm" / "entrypoints"
    package.mkdir(parents=True)
    for each in (folder / "vllm" / "__init__.py", package / "__init__.py"):
        each.touch()
    (package / "api_server.py").write_text(SERVER)
    metadata = folder / "vllm-0.24.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0\n")
    return folder


def argv(*words: str) -> list[str]:
    return [sys.executable, "-m", "doctor", "serve", *words]


def environment(site: Path, **variables: str) -> dict[str, str]:
    """Without GPUs, keys or settings of whoever runs the tests."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(with_cache(site.parent)), "PYTHONPATH": str(site), "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8", **variables,
    }  # fmt: skip


def serve(site: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    only = environment(site, **variables)
    return run_doctor("serve", "--python", sys.executable, *words, cwd=site.parent, only=only)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--openai", "--trl", "--model", "m"], "choose one"),
        (["python", "-m", "vllm.entrypoints.api_server"], "give the server's arguments alone"),
        (["--trl", "--model", "m"], "`trl`"),
        (["--python", "/nonexistent", "--model", "m"], "/nonexistent"),
        (["--startup-timeout", "soon", "--model", "m"], "`soon` is not a duration"),
        (["--max-prompts", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_is_refused(site: Path, words: list[str], text: str) -> None:
    done = serve(site, *words)
    assert done.returncode == 2, done.stderr
    assert text in done.stderr
    assert not (site.parent / "doctor-runs").exists()


def test_an_interpreter_without_vllm_is_refused(tmp_path: Path) -> None:
    done = serve(tmp_path / "empty", "--model", "m")
    assert done.returncode == 2
    assert "name the interpreter that has it with --python" in done.stderr


def test_a_dry_run_starts_nothing(site: Path) -> None:
    done = serve(site, "--dry-run", "--max-request", "3", "--", "--model", "m", "--api-key", "geheim-123456")
    words = shlex.split(done.stdout.replace("\\\n", " "))
    assert words[0] == "env"
    assert words[1] == f"PYTHONPATH=RUN_FOLDER/patient/site:{site}"
    assert json.loads(words[2].partition("=")[2])["request_bytes"] == 3 << 20
    assert words[3:] == [
        sys.executable, "-m", "vllm.entrypoints.api_server", "--model", "m", "--api-key", "***",
        "--host", "127.0.0.1",
    ]  # fmt: skip
    assert "geheim" not in done.stdout + done.stderr
    assert not (site.parent / "doctor-runs").exists()


def test_options_end_with_the_servers_first_word(site: Path) -> None:
    done = serve(site, "--drain=5s", "--model", "m", "--strict", "--host", "::1", PLAY="")
    told = json.loads(done.stdout.splitlines()[0])
    assert told["argv"] == ["--model", "m", "--strict", "--host", "::1"]
    assert json.loads(told["serve"])["drain_s"] == 5.0


def test_errors_refuse_only_where_that_was_asked_for(site: Path) -> None:
    words = ("--model", "m", "--host", "0.0.0.0", "--gpu-memory-utilization", "1.5")
    for option in ("--strict", "--gate"):
        done = serve(site, option, *words)
        assert done.returncode == 1, done.stdout + done.stderr
        assert f"not started, because of {option}" in done.stderr
        assert "served-without-api-key" in done.stderr
        assert not (site.parent / "doctor-runs").exists()
    done = serve(site, *words)
    assert done.returncode == 0
    (run,) = (site.parent / "doctor-runs").glob("2*")
    assert "VLL016" in {each["id"] for each in json.loads((run / "check.json").read_text())["findings"]}


def test_the_servers_exit_code_stays_and_its_end_is_explained(site: Path) -> None:
    done = serve(site, "--model", "m", PLAY="memory")
    assert done.returncode == 7
    assert "The server ended with exit code 7" in done.stderr
    assert "MEM6839/unknown_phase" in done.stderr
    assert "MEM6839/unknown_phase" not in done.stdout  # that is the server's


def test_a_server_that_was_killed_is_told_what_kills(site: Path) -> None:
    done = serve(site, "--model", "m", PLAY="killed")
    assert done.returncode == 128 + signal.SIGKILL
    assert "The server ended with exit code 137" in done.stderr
    assert "A process ended by SIGKILL without a traceback" in done.stderr
    assert "dmesg -T" in done.stderr


def test_what_it_says_in_chinese(site: Path) -> None:
    done = serve(site, "--lang", "zh", "--model", "m", PLAY="memory")
    assert "服务器以退出码 7 结束" in done.stderr
    assert "未给出 --host" in done.stderr


def test_a_server_that_is_asked_to_end_while_it_loads_is_not_explained(site: Path) -> None:
    with subprocess.Popen(
        argv("--python", sys.executable, "--model", "m"), cwd=site.parent, text=True, stdin=subprocess.DEVNULL,
        env=environment(site, PLAY="wait"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Its output shows" not in told


def test_a_late_start_ends(site: Path) -> None:
    started = time.monotonic()
    done = serve(site, "--startup-timeout", "3s", "--model", "m", PLAY="wait")
    assert done.returncode == 128 + signal.SIGTERM
    assert time.monotonic() - started < 100
    assert "The server did not start within 3 s" in done.stderr
