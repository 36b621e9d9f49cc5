"""vLLM 0.8.5.post1, its real code: the demo server that cannot start, the same one mended, and TRL beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .runs import PROGRAMS, Ran, diagnose, environment, free_port, run, vllm_folder

Serve = Callable[[str], Ran]


@pytest.fixture
def serve(python: Path, model: Path, tmp_path: Path) -> Serve:
    """Runs `programs/api_server.py` as shipped or mended."""
    folder = vllm_folder(python)

    def launch(state: str) -> Ran:
        argv = [str(python), str(PROGRAMS / "api_server.py"), str(model), str(free_port()), state]
        return run(argv, tmp_path, {**environment(python, tmp_path), "PYTHONPATH": str(folder)})

    return launch


def test_the_demo_server_as_shipped(serve: Serve) -> None:
    ran = serve("as-shipped")
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == ("VLL001", "cause", "known")
    assert "0.8.5.post1" in answer.first["headline"]
    assert "vllm serve MODEL" in answer.first["remedy"]["commands"]


def test_the_demo_server_mended_runs(serve: Serve) -> None:
    ran = serve("mended")
    assert ran.code == 0, ran.text[-2000:]
    assert '{"text":[' in ran.text.replace(" ", "")
    answer = diagnose(ran.log)
    # no error; that this build of vLLM has no compiled part is true, and told
    assert (answer.ids, answer.code) == (["PYT009"], 0), answer.report["findings"]


def test_trl_beside_a_vllm_that_is_too_old(python: Path, model: Path, tmp_path: Path) -> None:
    folder = vllm_folder(python)
    argv = [str(python), str(PROGRAMS / "grpo.py"), str(model), "server-not-running"]
    ran = run(argv, tmp_path, {**environment(python, tmp_path), "PYTHONPATH": str(folder)})
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == ("TRL025", "cause", "known"), answer.words
    assert all(each in answer.words for each in ("0.8.5.post1", "0.22.0", "0.31.0")), answer.words
