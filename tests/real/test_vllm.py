"""vLLM 0.8.5.post1, its real code: the demo server that cannot start, the same one mended, and TRL beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ports import free_port

from .runs import PROGRAMS, Ran, diagnose, environment, run, vllm_folder

pytestmark = pytest.mark.process

Serve = Callable[[str], Ran]
#: what TRL 1.16 imports of a vLLM that it accepts; in server mode it uses none of it before the server has answered
IMPORTED = {
    "vllm": "LLM RequestOutput SamplingParams",
    "vllm.sampling_params": "StructuredOutputsParams",
    "vllm.utils": "",
    "vllm.utils.network_utils": "get_ip",
    "vllm.distributed": "",
    "vllm.distributed.weight_transfer": "",
    "vllm.distributed.weight_transfer.nccl_common": "trainer_init",
    "vllm.distributed.weight_transfer.packed_tensor": "packed_nccl_broadcast_producer",
}


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


def lay_names(folder: Path) -> None:
    """A `vllm` that can be imported and no more: the engine needs a GPU, TRL's waiting for a server does not."""
    for module, names in IMPORTED.items():
        package = folder / module.replace(".", "/")
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("".join(f"{name} = object\n" for name in names.split()))
    metadata = folder / "vllm-0.31.0.dist-info"
    metadata.mkdir()
    (metadata / "top_level.txt").write_text("vllm\n")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.31.0\n")


def test_trl_waits_for_a_server_that_is_not_there(python: Path, model: Path, tmp_path: Path) -> None:
    lay_names(tmp_path / "site")
    argv = [str(python), str(PROGRAMS / "grpo.py"), str(model), "server-not-running"]
    ran = run(argv, tmp_path, {**environment(python, tmp_path), "PYTHONPATH": str(tmp_path / "site")})
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == ("TRL012", "cause", "known"), answer.words
    assert all(each in answer.words for each in ("http://0.0.0.0:9 within 4 s", "trl vllm-serve")), answer.words


def test_trl_beside_a_vllm_that_is_too_old(python: Path, model: Path, tmp_path: Path) -> None:
    folder = vllm_folder(python)
    argv = [str(python), str(PROGRAMS / "grpo.py"), str(model), "server-not-running"]
    ran = run(argv, tmp_path, {**environment(python, tmp_path), "PYTHONPATH": str(folder)})
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == (
        "PYT0301/trl_vllm_window",
        "cause",
        "known",
    ), answer.words
    assert all(each in answer.words for each in ("0.8.5.post1", "0.22.0", "0.31.0")), answer.words
