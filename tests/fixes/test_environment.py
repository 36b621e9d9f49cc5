"""`doctor fix env` with real uv, on tiny wheels."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from doctor.catalogue.plan import Refused
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Distribution, Packages, TorchBuild
from doctor.mend import journal
from doctor.mend.environment import knowledge, solve, uv
from tests.e2e.environments import run_doctor
from tests.fixes.wheels import development_install, environment, index_of, wheel

pytestmark = pytest.mark.process

RELEASES = (
    ("torch", "2.8.0"), ("torch", "2.9.0"), ("transformers", "4.53.0"), ("transformers", "4.56.0"),
    ("transformers", "5.1.0"), ("vllm", "0.9.2", "torch==2.8.0", "transformers<5"),
    ("vllm", "0.10.0", "torch==2.8.0", "transformers<5"), ("vllm", "0.12.0", "torch==2.9.0", "transformers>=5"),
    ("peft", "0.17.0", "transformers<5"), ("peft", "0.18.0", "transformers"), ("lonely", "1.0", "peft<0.18"),
)  # fmt: skip


@pytest.fixture
def index(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "my wheels"
    for name, version, *requires in RELEASES:
        wheel(folder, name, version, *requires)
    wheel(folder, "trl", "0.20.0", "torch>=2", "transformers<5", 'vllm>=0.9; extra == "vllm"', extras=("vllm",))
    wheel(folder, "trl", "0.26.0", "torch>=2", 'vllm>=0.9; extra == "vllm"', extras=("vllm",))
    wheel(folder, "trl", "1.0.0", "torch>=2.9", "transformers>=5", 'vllm>=0.12; extra == "vllm"', extras=("vllm",))
    return index_of(folder)


def fix(python: Path, index: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_doctor("fix", "env", "--python", str(python), *arguments, cwd=python.parents[2], env=index)


def frozen(python: Path) -> set[str]:
    command = [uv.program(), "pip", "freeze", "-q", "--python", str(python)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")) - {""}


def test_what_fits_needs_no_change(tmp_path: Path, index: dict[str, str]) -> None:
    done = fix(environment(tmp_path / "v 1", index, "torch==2.8.0", "transformers==4.53.0"), index)
    assert done.returncode == 0, done.stderr
    assert "Everything fits" in done.stdout
    assert "no NVIDIA driver" in done.stdout  # what was not judged is said


def test_installed_versions_stay_where_a_release_of_the_wish_allows(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0")
    done = fix(python, index, "--want", "trl")
    assert "trl==0.26.0" in done.stdout
    assert "changes" not in done.stdout
    newer = fix(python, index, "--want", "trl>=1")
    assert "torch 2.8.0 -> 2.9.0" in newer.stdout
    assert "transformers 4.53.0 -> 5.1.0" in newer.stdout
    assert frozen(python) == {"torch==2.8.0", "transformers==4.53.0"}


def test_only_what_must_change_changes(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0", "peft==0.17.0")
    done = fix(python, index, "--want", "transformers>=5")
    assert "peft 0.17.0 -> 0.18.0" in done.stdout
    assert "transformers 4.53.0 -> 5.1.0" in done.stdout
    assert "keeps    torch 2.8.0" in done.stdout


def test_a_light_package_does_not_stay_at_the_cost_of_a_heavy_one() -> None:
    installed = {"torch": "2.13", "numpy": "2.4"}
    asked: list[list[str]] = []

    def solver(_: Iterable[str], constraints: Iterable[str]) -> uv.Solution:
        asked.append(list(constraints))
        if {"torch==2.13", "numpy==2.4"} <= set(asked[-1]):
            raise uv.Unsolvable
        if "numpy==2.4" in asked[-1]:
            return uv.Solution({"torch": "2.11", "new": "1"}, {"torch": "2.13"})
        return uv.Solution({"numpy": "2.3", "new": "2"}, {"numpy": "2.4"})

    answer = solve.smallest(solve.Installation(installed), solve.SolverWishes(("new",)), solver)
    assert answer.solution.replaced == ("numpy",)
    assert any("numpy==2.4" in each and "torch==2.13" not in each for each in asked)  # it was tried


def test_a_question_that_takes_too_long_is_no_answer() -> None:
    def solver(requirements: Iterable[str], _: Iterable[str]) -> uv.Solution:
        if "new>=2" in requirements:
            raise uv.Unsolvable
        raise uv.TooSlow

    wishes = solve.SolverWishes(("new>=2", "other"))
    assert solve.in_the_way(solve.Installation({}), wishes, solver) == [("--want 'new>=2'", None)]


def test_a_pair_that_is_known_not_to_work_is_avoided(tmp_path: Path, index: dict[str, str]) -> None:
    # vLLM 0.9 and transformers 4.54 and newer both register `aimv2`; no package's metadata says so
    python = environment(tmp_path / "v", index, "vllm==0.9.2", "transformers==4.56.0")
    done = fix(python, index)
    assert "vLLM registers its own aimv2" in done.stdout
    assert "vLLM 自行注册了 aimv2" in fix(python, index, "--lang", "zh").stdout
    assert "vllm 0.9.2 -> 0.10.0" in done.stdout or "transformers 4.56.0 -> 4.53.0" in done.stdout
    assert "torch 2.8.0 ->" not in done.stdout
    # TRL before 0.27 imports a class that vLLM 0.12 has not
    held = fix(python, index, "--want", "trl[vllm]", "--want", "vllm>=0.12")
    assert "trl[vllm]==1.0.0" in held.stdout


def test_a_conflict_names_the_wish_to_drop(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0")
    done = fix(python, index, "--want", "trl>=1", "--keep", "torch")
    assert done.returncode == 1
    assert "No set of versions" in done.stdout
    assert "torch==2.8.0" in done.stdout
    without = done.stdout.partition("Without `--keep torch`")[2] or done.stdout.partition("Without --keep torch")[2]
    assert "torch 2.8.0 -> 2.9.0" in without


def test_what_is_left_unmet_is_said(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "peft==0.17.0", "transformers==4.53.0", "lonely")
    done = fix(python, index, "--want", "transformers>=5")
    assert "lonely 1.0: peft<0.18 (0.18.0)" in done.stdout


def test_applied_checked_and_taken_back(tmp_path: Path, index: dict[str, str]) -> None:
    real = environment(tmp_path / "real", index, "torch==2.8.0", "transformers==4.53.0")
    (tmp_path / "link to it").symlink_to(tmp_path / "real")
    python = tmp_path / "link to it" / "bin" / "python"
    before = frozen(real)
    refused = fix(python, index, "--want", "trl>=1", "--apply")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert frozen(real) == before
    done = fix(python, index, "--want", "trl>=1", "--apply", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert frozen(real) == {"torch==2.9.0", "transformers==5.1.0", "trl==1.0.0"}
    saved = Path(done.stdout.partition("undoes it; `")[2].partition("`")[0])
    assert set(saved.read_text().split()) == before
    undone = run_doctor("fix", "env", "--undo", cwd=python.parents[2], env=index)
    assert undone.returncode == 0, undone.stderr
    assert frozen(real) == before
    assert run_doctor("fix", "env", "--undo", cwd=python.parents[2], env=index).returncode == 2


def test_what_was_changed_since_is_left_alone(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0")
    assert fix(python, index, "--want", "trl>=1", "--apply", "--yes").returncode == 0
    environment_of_mine = [uv.program(), "pip", "install", "-q", "--python", str(python), "torch==2.8.0"]
    subprocess.run(environment_of_mine, check=True, env={**os.environ, **index})
    after = frozen(python)
    undone = run_doctor("fix", "env", "--undo", cwd=tmp_path, env=index)
    assert undone.returncode == 2
    assert "torch 2.8.0" in undone.stderr
    assert frozen(python) == after


def test_what_a_killed_doctor_left_is_taken_back(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0")
    before = frozen(python)
    assert fix(python, index, "--want", "trl>=1", "--apply", "--yes").returncode == 0
    (entry,) = journal.entries(tmp_path)
    entry.data["state"] = journal.BEGUN  # killed while the last step ran, and half of a package is gone
    entry.steps[-1]["state"] = journal.BEGUN
    entry.keep()
    next(tmp_path.glob("v/lib/python*/site-packages/torch.py")).unlink()
    done = fix(python, index)
    assert "was interrupted" in done.stderr
    assert "Everything fits" in done.stdout
    assert frozen(python) == before
    assert next(tmp_path.glob("v/lib/python*/site-packages/torch.py")).exists()


def test_a_failing_installation_is_taken_back(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0")
    for damaged in (tmp_path / "my wheels").glob("torch-2.9.0*"):
        damaged.write_bytes(damaged.read_bytes().replace(b"torch.py,,", b"torch.xx,,"))
        damaged.write_bytes(damaged.read_bytes()[:-60])
    before = frozen(python)
    done = fix(python, index, "--want", "trl>=1", "--apply", "--yes")
    assert done.returncode in (1, 2)
    assert frozen(python) == before


def test_a_version_that_no_index_has_is_not_called_reversible(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0")
    (tmp_path / "my wheels" / "transformers-4.53.0-py3-none-any.whl").unlink()
    done = fix(python, index, "--want", "trl>=1")
    assert "cannot be undone: no index offers" in done.stdout
    assert "transformers" in done.stdout.partition("no index offers")[2]


def test_a_development_install_stays_and_is_not_looked_up(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0", "transformers==4.53.0")
    development_install(python, tmp_path / "my project", "mine", "transformers<5")
    done = fix(python, index, "--want", "trl", "--lock", str(tmp_path / "lock.txt"))
    assert "trl==0.26.0" in done.stdout
    lock = (tmp_path / "lock.txt").read_text().splitlines()
    assert lock[0].startswith("# Python ")
    assert lock[1:] == [
        f"# mine==0.1 is installed from {tmp_path / 'my project'}",
        "torch==2.8.0",
        "transformers==4.53.0",
        "trl==0.26.0",
    ]
    again = fix(python, index, "--lock", str(tmp_path / "lock.txt"))
    assert again.returncode == 2
    assert "not overwritten" in again.stderr
    assert "mine 0.1: transformers<5 (5.1.0)" in fix(python, index, "--want", "trl>=1").stdout


@pytest.mark.parametrize("kind", ["conda", "system"])
def test_only_virtual_environments_are_changed(tmp_path: Path, index: dict[str, str], kind: str) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0")
    if kind == "conda":
        (tmp_path / "v" / "conda-meta").mkdir()
        done = fix(python, index, "--want", "trl", "--apply", "--yes")
        assert done.returncode == 2
        assert "a conda environment" in done.stderr
        assert "pip install" in done.stdout  # the command for one's own hand
        assert frozen(python) == {"torch==2.8.0"}
    else:
        from doctor.mend.environment.plan import refuse_unfit

        with pytest.raises(Refused, match="system's Python"):
            refuse_unfit(Interpreter("/usr/bin/python3", "3.11.7", environment_kind="system", prefix="/usr"))


def test_two_at_once_are_refused(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0")
    with journal.locked():
        done = fix(python, index, "--want", "trl", "--apply", "--yes")
    assert done.returncode == 2
    assert "another `doctor fix`" in done.stderr
    assert frozen(python) == {"torch==2.8.0"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--want", "trl =="), "--want trl =="),
        (("--keep", "trl"), "it is not installed"),
        (("--undo",), "no environment was changed"),
        (("--nope",), "No such option"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, index: dict[str, str], arguments: tuple[str, ...], message: str) -> None:
    done = fix(environment(tmp_path / "v", index), index, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_chinese(tmp_path: Path, index: dict[str, str]) -> None:
    done = fix(environment(tmp_path / "v", index, "torch==2.8.0"), index, "--want", "trl>=1", "--lang", "zh")
    assert "变更" in done.stdout
    assert "尚未作任何更改" in done.stdout


def test_an_index_out_of_reach_is_no_conflict(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index, "torch==2.8.0")
    done = fix(python, {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}, "--want", "trl")
    assert done.returncode == 2
    assert "127.0.0.1:9" in done.stderr
    assert "No set of versions" not in done.stdout


def machine(driver: str, cuda: str, *capabilities: tuple[int, int]) -> Gpus:
    cards = tuple(Gpu(index, name="card", compute_capability=each) for index, each in enumerate(capabilities))
    return Gpus(driver, cuda, cards)


def limits(gpus: Gpus, packages: Packages | None = None, arch: str = "x86_64") -> dict[str, list[str]]:
    interpreter = Interpreter("python", "3.11.7", machine=arch)
    found: dict[str, list[str]] = {}
    for each in knowledge.of_machine(packages or Packages(), gpus, interpreter):
        found.setdefault(each.package, []).extend(each.constraints)
    return found


def test_an_old_driver_keeps_cuda_13_wheels_out() -> None:
    assert limits(machine("550.54.15", "12.4", (9, 0))) == {"torch": ["torch<2.11.0"], "vllm": ["vllm<0.20.0"]}
    assert limits(machine("580.65.06", "13.0", (9, 0))) == {}


def test_an_old_card_keeps_wheels_without_its_code_out() -> None:
    volta = limits(machine("580.65.06", "13.0", (7, 0)))
    assert volta == {"torch": ["torch<2.11.0"], "vllm": ["vllm<0.20.0"]}
    blackwell = limits(machine("580.65.06", "13.0", (12, 0)))
    assert any(each.startswith("torch>=") for each in blackwell["torch"])


def test_nothing_is_held_against_other_wheels_or_unseen_machines() -> None:
    assert limits(machine("550.54.15", "12.4", (9, 0)), arch="aarch64") == {}
    assert limits(Gpus()) == {}
    packages = Packages(
        {"torch": Distribution("torch", "2.11.0+cu126")}, torch_build=TorchBuild("2.11.0+cu126", "12.6")
    )
    assert limits(machine("550.54.15", "12.4", (9, 0)), packages)["torch"] == ["torch<2.12.0"]


def test_pips_settings_reach_uv(tmp_path: Path) -> None:
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip" / "pip.conf").write_text("[global]\nindex-url = https://mirror.example/simple\ncert = /c.pem\n")
    env = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / ".pip" / "pip.conf")}
    assert uv.taken_over(env)["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    more = uv.taken_over({**env, "PIP_EXTRA_INDEX_URL": "https://a/simple https://b/simple"})
    assert more["UV_INDEX"] == "https://a/simple https://b/simple"
    assert more["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert uv.taken_over({**env, "UV_INDEX_URL": "https://own.example"}) == {}


def test_passwords_of_an_index_are_not_shown(tmp_path: Path, index: dict[str, str]) -> None:
    python = environment(tmp_path / "v", index)
    env = {"UV_DEFAULT_INDEX": "http://me:hunter2@127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    done = fix(python, env, "--want", "trl")
    assert "hunter2" not in done.stdout + done.stderr
