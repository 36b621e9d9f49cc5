"""Environments of real packages, judged as a user would."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .environments import (
    bare_venv,
    environment_of,
    lay,
    published_metadata,
    python_of,
    report_of,
    run_doctor,
    site_packages_of,
)


def ids_of(report: dict[str, list[dict[str, str]]]) -> set[str]:
    return {each["id"] for each in report["findings"]}


@pytest.mark.process
def test_python_3_8_gets_a_trl_without_grpo_and_the_cause_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    subprocess.run([python_of("3.8"), "-m", "venv", str(folder)], check=True, timeout=120)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "trl"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"the package index does not answer: {done.stderr.strip().splitlines()[-1:]}")
    report = report_of("--python", str(folder), cwd=tmp_path)
    cause = next(each for each in report["findings"] if each["id"] == "PYT001")
    assert "3.8" in cause["headline"]
    assert "0.11.4" in cause["headline"] + cause["explanation"]
    assert "GRPOTrainer" in cause["headline"] + cause["explanation"]
    assert cause["severity"] == "error"


@pytest.mark.process
def test_vllm_0_33_beside_trl_1_16_breaks_what_their_metadata_say(tmp_path: Path) -> None:
    python = environment_of(tmp_path / "env", "trl==1.16.0", "transformers==5.23.0", "accelerate==1.15.0")
    site = site_packages_of(python)
    for metadata in published_metadata("vllm==0.33.0"):
        lay(site, metadata)
    lay(site, {"metadata_version": "2.1", "name": "torch", "version": "2.13.0"})
    report = report_of("--python", str(python), cwd=tmp_path)
    window = next(each for each in report["findings"] if each["id"] == "PYT0301/trl_vllm_window")
    assert "0.33.0" in window["headline"]
    assert "0.31.0" in window["headline"] + window["explanation"] + window["remedy"]["text"]
    said = " ".join(each["headline"] for each in report["findings"])
    assert "torch==2.14.0" in said.replace(" ", ""), said
    assert "transformers" in said


def test_report_of_another_interpreter_never_imports_from_it(tmp_path: Path) -> None:
    python = bare_venv(tmp_path / "env")
    trap = site_packages_of(python) / "torch"
    trap.mkdir()
    (trap / "__init__.py").write_text("open('imported', 'w')\n")
    report_of("--python", str(python), cwd=tmp_path)
    assert not (tmp_path / "imported").exists()


@pytest.mark.process
@pytest.mark.parametrize("version", ["3.6", "3.7", "3.9", "3.13"])
def test_interpreters_of_every_age_answer(tmp_path: Path, version: str) -> None:
    report = report_of("--python", python_of(version), cwd=tmp_path)
    assert report["target"]["summary"][0].startswith(f"python {version}.")


def test_bad_interpreters_are_named_without_a_traceback(tmp_path: Path) -> None:
    hanging, text = tmp_path / "hangs", tmp_path / "text"
    hanging.write_text("#!/bin/sh\nsleep 60\n")
    text.write_text("no program")
    hanging.chmod(0o755)
    for path, reason in ((hanging, "hangs"), (text, "text"), (tmp_path / "absent", "absent")):
        done = run_doctor("check", "--python", str(path), "-v", cwd=tmp_path)
        assert done.returncode in (0, 1, 2), done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        assert reason in done.stdout + done.stderr


def test_environment_report_is_redacted_and_pasteable(tmp_path: Path) -> None:
    secret = "hf_" + "abcdefghij" * 3
    env = {"HF_TOKEN": secret, "https_proxy": "http://me:hunter22@proxy.example:3128", "CUDA_VISIBLE_DEVICES": "0"}
    done = run_doctor("env", cwd=tmp_path, env=env)
    assert done.returncode == 0
    assert secret not in done.stdout
    assert "hunter22" not in done.stdout
    assert "| CUDA_VISIBLE_DEVICES | `0` |" in done.stdout
    saved = tmp_path / "facts.json"
    done = run_doctor("check", "--save-facts", str(saved), "--format", "json", cwd=tmp_path, env=env)
    assert secret not in saved.read_text() + done.stdout
    assert "hunter22" not in saved.read_text() + done.stdout


@pytest.mark.process
def test_diff_tells_what_changed(tmp_path: Path) -> None:
    python = environment_of(tmp_path / "env", "trl==1.16.0")
    saved = tmp_path / "works.json"
    assert run_doctor("check", "--python", str(python), "--save-facts", str(saved), cwd=tmp_path).returncode in (0, 1)
    same = run_doctor("diff", "works.json", "--python", str(python), cwd=tmp_path)
    assert same.returncode == 0, same.stdout
    site = site_packages_of(python)
    (site / "trl-1.16.0.dist-info").rename(site / "trl-1.15.0.dist-info")
    metadata = site / "trl-1.15.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.16.0", "Version: 1.15.0"))
    changed = run_doctor("diff", "works.json", "--python", str(python), cwd=tmp_path)
    assert changed.returncode == 1
    assert "trl" in changed.stdout
    assert "1.16.0" in changed.stdout
    assert "1.15.0" in changed.stdout
    lay(site, {"metadata_version": "2.1", "name": "vllm", "version": "0.31.0"})
    came = run_doctor("diff", "works.json", "--python", str(python), "--format", "markdown", cwd=tmp_path)
    assert "| packages vllm | - | 0.31.0 |" in came.stdout


def test_pasted_report_is_judged_and_junk_is_refused(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text(
        "My run fails.\n\n```\nPackage      Version\n------------ -------\ntrl          1.16.0\nvllm         0.33.0\n"
        "torch        2.14.0\n```\n"
    )
    assert "PYT0301/trl_vllm_window" in ids_of(report_of("--from", "issue.md", cwd=tmp_path))
    (tmp_path / "junk.bin").write_bytes(os.urandom(4096))
    done = run_doctor("check", "--from", "junk.bin", cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing in `junk.bin` is recognised" in done.stderr
