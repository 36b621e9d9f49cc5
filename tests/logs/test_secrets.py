"""Secrets and names that stand in a log leave in none of the outputs."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from doctor.cli.app import run
from doctor.cli.options import FORMATS

SECRETS = {
    "Hugging Face": "hf_AbCdEfGhIjKlMnOpQrStUvWx",
    "OpenAI": "sk-proj-AbCdEfGhIjKlMnOp1234",
    "GitHub": "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "wandb": "wandb_v1_AbCdEfGhIjKlMnOp",
    "header": "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "variable": "WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567",
    "address": "https://alice:hunter2hunter2@proxy.example:8080/simple",
    "path": "/home/alicewonder/projects/grpo/train.py",
    "option": "--hub-token s3cr3ts3cr3t",
}
NEEDLES = ("AbCdEfGh", "IOSFODNN7", "eyJhbGci", "0123456789abcdef", "hunter2", "alicewonder", "s3cr3t")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "run.log"
    lines = [f"step {number}: {secret}" for number, secret in enumerate(SECRETS.values())]
    lines += [
        "{'loss': 1.0, 'grad_norm': 2.0, 'learning_rate': 1e-06, 'epoch': 0.1, 'hf_AbCdEfGhIjKlMnOpQrStUvWx': 3.0}"
    ] * 5
    lines += [
        "Traceback (most recent call last):",
        f'  File "{SECRETS["path"]}", line 3, in <module>',
        '    main("' + SECRETS["AWS"] + '")',
    ]
    lines += [f"OSError: cannot reach {' and '.join(SECRETS.values())}"]
    lines += [
        f"[rank{number}]: ConnectionError: HTTP 401 for {secret}" for number, secret in enumerate(SECRETS.values())
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _leaks(text: str) -> list[str]:
    return [each for each in NEEDLES if each in text]


def test_the_needles_stand_in_the_log(log) -> None:
    assert _leaks(log.read_text()) == list(NEEDLES)


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_holds_a_secret(log, form, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    run(["postmortem", str(log), "--format", form, "--verbose"])
    told = capsys.readouterr()
    assert "OSError" in told.out or form == "github"
    assert _leaks(told.out + told.err) == []


def test_no_file_that_is_written_holds_a_secret(log, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    page, table, bundle = tmp_path / "r.html", tmp_path / "m.csv", tmp_path / "b.tar.gz"
    run(["postmortem", str(log), "--html", str(page), "--metrics-csv", str(table), "--bundle", str(bundle)])
    capsys.readouterr()
    assert _leaks(page.read_text()) == []
    assert "grad_norm" in table.read_text()
    assert _leaks(table.read_text()) == []
    with tarfile.open(fileobj=io.BytesIO(bundle.read_bytes())) as archive:
        texts = {each.name: archive.extractfile(each).read().decode() for each in archive if each.isfile()}
    assert json.loads(texts["report.json"])
    assert any(name.startswith("logs/") for name in texts)
    assert {name: _leaks(text) for name, text in texts.items() if _leaks(text)} == {}
