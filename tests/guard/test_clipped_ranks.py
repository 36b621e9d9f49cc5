"""Two real ranks that clip a gradient that is NaN, each library in its own way: the parameter is named all the same."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.real.runs import environment, run

from .conftest import PROGRAMS

torch = pytest.importorskip("torch")
if not hasattr(torch.nn.utils.clip_grad, "_get_total_norm"):
    pytest.skip("this torch computes the norm within clip_grad_norm_ (before 2.6)", allow_module_level=True)

pytestmark = pytest.mark.process
#: of FSDP1 each rank holds a part: that of rank 0 ends within the weight
NAMED = {"torch": r"`1\.bias`", "fsdp2": r"`1\.bias`", "fsdp1": r"`1\.(weight|bias)`", "accelerate": r"`1\.bias`"}


def check(python: str, doctor: str, cases: Sequence[str], folder: Path, env: dict[str, str]) -> None:
    """Run the cases on two ranks, and look at what each of them says."""
    argv = [
        python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
        f"127.0.0.1:{free_port()}", str(PROGRAMS / "clipped.py"), doctor, *cases,
    ]  # fmt: skip
    ran = run(argv, folder, env, limit_s=200)
    assert ran.code == 0, ran.text[-4000:]
    told = [json.loads(line) for line in ran.text.splitlines() if line.startswith('{"case"')]
    assert sorted(each["case"] for each in told) == sorted([*cases, *cases])
    for each in told:
        assert each["all_nan"], "the clipping has made all of them NaN"
        ((id_, step, explanation),) = each["found"]
        assert (id_, step) == ("NUM006", 3)
        assert re.search(f"The first gradient that is not finite.*is that of {NAMED[each['case']]}", explanation), each


@pytest.mark.timeout(240)
def test_the_parameter_is_named_behind_the_clipping_of_torch_and_of_both_fsdp(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    check(sys.executable, "-", ("torch", "fsdp2", "fsdp1"), tmp_path, env)


@pytest.mark.timeout(240)
def test_the_parameter_is_named_behind_the_clipping_of_accelerate(python: Path, carried: Path, tmp_path: Path) -> None:
    check(str(python), str(carried), ("accelerate",), tmp_path, {**os.environ, **environment(python, tmp_path)})
