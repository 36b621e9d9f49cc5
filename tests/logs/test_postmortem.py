"""The command: what goes in, what comes out, and what it writes beside."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import jsonschema
import pytest

from doctor.cli.app import run
from doctor.diagnosis.schema import REPORT

SECRET = "hf_" + "A1b2C3d4E5f6G7h8I9j0"
KNOWN = f"""HF_TOKEN={SECRET}
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/someone/venv/lib/python3.11/site-packages/deepspeed/runtime/fp16/loss_scaler.py", line 2, in f
[rank0]: Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.
"""
UNKNOWN = """Traceback (most recent call last):
  File "/home/someone/[red]train[/red]<b>.py", line 3, in <module>
Oddity: [bold]<script>alert(1)</script>
"""
METRICS = "".join(f"{{'loss': '0.{n}', 'grad_norm': '0.5', 'epoch': '{n}'}}\n" for n in range(1, 7))
EVALUATED = "".join(
    f"{row}\n{{'eval_loss': '0.{9 - n}', 'epoch': '{n}'}}\n" for n, row in enumerate(METRICS.splitlines())
)
HEALTHY = EVALUATED + "{'train_runtime': '12.5', 'train_loss': '0.1'}\n"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("known.log", KNOWN), ("unknown.log", UNKNOWN), ("healthy.log", HEALTHY)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, object]]:
    code = run(["postmortem", *argv, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "code", "verdict", "first"),
    [("known.log", 1, "known", "DSP018"), ("unknown.log", 0, "unknown", "UNK001"), ("healthy.log", 0, "healthy", None)],
)
def test_report_follows_the_contract(
    logs: Path, capsys: pytest.CaptureFixture[str], name: str, code: int, verdict: str, first: str | None
) -> None:
    told, report = _json(capsys, str(logs / name))
    jsonschema.validate(report, REPORT)
    assert (told, report["verdict"]) == (code, verdict)
    findings = report["findings"]
    assert isinstance(findings, list)
    assert (findings[0]["id"] if findings else None) == first
    assert SECRET not in json.dumps(report)
    assert "someone" not in json.dumps(report)


def test_strict_counts_warnings(logs: Path) -> None:
    assert run(["postmortem", str(logs / "unknown.log"), "--strict", "-o", str(logs / "out.txt")]) == 1


@pytest.mark.usefixtures("logs")
def test_the_verdict_is_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    run(["postmortem", "known.log"])
    out = capsys.readouterr().out
    assert out.startswith("Cause found: DSP018 loss-scale-at-minimum, rank 0")
    assert "what happened, in this order" in out
    assert "known.log:4" in out
    run(["postmortem", "known.log", "--lang", "zh"])
    assert capsys.readouterr().out.startswith("已找到原因")


@pytest.mark.usefixtures("logs")
def test_places_of_the_chain_have_a_line_of_their_own_where_the_terminal_is_narrow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    run(["postmortem", "known.log"])
    chain = capsys.readouterr().out.partition("what happened, in this order\n")[2].partition("\n\n")[0].splitlines()
    assert chain
    assert all(line.startswith("  ") for line in chain), chain
    assert any(line.strip().startswith("known.log:") for line in chain), chain


def test_a_general_problem_that_knows_the_same_words_takes_one_clause(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs / "refused.log").write_text(
        '  File "/venv/lib/python3.11/site-packages/trl/trainer/grpo_config.py", line 900, in __post_init__\n'
        "    raise ValueError(\n"
        "ValueError: generation_batch_size (4) must be divisible by num_generations (3).\n"
    )
    run(["postmortem", "refused.log"])
    out = " ".join(capsys.readouterr().out.split())
    assert "more also matches LCH6560/trl configuration-refused" in out
    assert out.count("must be divisible by num_generations (3)") == 1
    run(["postmortem", "refused.log", "--format", "markdown", "--lang", "zh"])
    assert "*同一段文字也符合 LCH6560/trl configuration-refused*" in capsys.readouterr().out
    run(["postmortem", "refused.log", "--format", "html"])
    assert "<small>also matches LCH6560/trl" in capsys.readouterr().out
    run(["postmortem", "refused.log", "--format", "json"])
    assert [each["id"] for each in json.loads(capsys.readouterr().out)["findings"]] == ["TRL3814/groups", "LCH6560/trl"]


def test_logs_are_never_drawn_as_markup(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["postmortem", "unknown.log", "--html", "page.html"])
    assert "[bold]<script>alert(1)</script>" in capsys.readouterr().out
    page = (logs / "page.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_compressed_and_utf16_logs_give_the_same(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (logs / "known.log.gz").write_bytes(gzip.compress(KNOWN.encode()))
    (logs / "wide.log").write_bytes(KNOWN.encode("utf-16"))
    for name in ("known.log.gz", "wide.log"):
        _, report = _json(capsys, name)
        assert report["findings"][0]["id"] == "DSP018"  # type: ignore[index]
        assert report["findings"][0]["where"]["line"] == 4  # type: ignore[index]


@pytest.mark.process
def test_standard_input(logs: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "postmortem", "-", "--format", "json"],
        input=KNOWN.encode(), capture_output=True, check=False, cwd=logs, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr.decode()
    assert json.loads(done.stdout)["findings"][0]["id"] == "DSP018"


def test_context_narrows_the_diagnosis(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (logs / "server.log").write_text(
        "Traceback (most recent call last):\n"
        '  File "/x/lib/python3.11/site-packages/vllm/entrypoints/launcher.py", line 46, in serve_http\n'
        "AttributeError: 'State' object has no attribute 'engine_client'\n"
    )
    (logs / "pip.txt").write_text("Package Version\n------- -------\nvllm 0.9.1\ntorch 2.7.0\n")
    assert _json(capsys, "server.log")[1]["findings"][0]["id"] == "VLL001"  # type: ignore[index]
    assert _json(capsys, "server.log", "--context", "pip.txt")[1]["findings"][0]["id"] == "PYT4665"  # type: ignore[index]


def test_bundle_is_redacted_and_cut(logs: Path) -> None:
    (logs / "known.log").write_text(KNOWN + "".join(f"line {n}\n" for n in range(2000)))
    run(["postmortem", "known.log", "--bundle", "b.tar.gz", "-o", "out.txt"])
    with tarfile.open(logs / "b.tar.gz") as archive:
        texts = {each.name: archive.extractfile(each).read().decode() for each in archive}  # type: ignore[union-attr]
    assert set(texts) == {"report.json", "logs/000-known.log"}
    assert "loss scale already at minimum" in texts["logs/000-known.log"]
    assert "lines left out" in texts["logs/000-known.log"]
    assert SECRET not in "".join(texts.values())
    assert "someone" not in "".join(texts.values())


def test_metrics_become_a_table(logs: Path) -> None:
    run(["postmortem", "healthy.log", "--metrics-csv", "m.csv", "-o", "out.txt"])
    rows = (logs / "m.csv").read_text().splitlines()
    assert rows[0].startswith("step,")
    assert sum(",loss," in row for row in rows) >= 3


def test_run_folder(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = logs / "run"
    (folder / "logs").mkdir(parents=True)
    (folder / "run.json").write_text('{"argv": ["torchrun", "train.py"]}')
    (folder / "logs" / "console.log").write_text(KNOWN)
    _, report = _json(capsys, "--run", str(folder))
    assert report["findings"][0]["id"] == "DSP018"  # type: ignore[index]


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize(
    ("argv", "words"),
    [([], "at least one log"), (["gone.log"], "does not exist"), (["/dev/null"], "not a log"),
     (["-", "--follow"], "--follow watches files"), (["known.log", "--html", "/nowhere/x.html"], "cannot write")],
)  # fmt: skip
def test_what_cannot_be_done_is_said(capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    assert run(["postmortem", *argv]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.process
def test_follow_reports_when_the_log_fails(logs: Path) -> None:
    log = logs / "growing.log"
    log.write_text(METRICS)
    command = [sys.executable, "-m", "doctor", "postmortem", "--follow", str(log)]
    with subprocess.Popen(command, cwd=logs, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        time.sleep(1)
        with log.open("a") as out:
            out.write(KNOWN)
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(30) == 130
    assert "DSP018" in line
