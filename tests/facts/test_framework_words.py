"""A framework's own validator, asked in a held child: stand-ins with the interface of each entry point.

The sources of the interfaces are named in `doctor.readers.patient.entries`; the real LLaMA-Factory, ms-swift, veRL,
AReaL and oumi were asked by hand (their answers are cases of `tests/checks/LCH6560/validator.yaml`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts.framework_words import FrameworkWords
from doctor.facts.interpreter import Interpreter
from doctor.readers.patient import framework_words as reader
from tests.facts.command_facts import fact_of, state_of

LLAMA_FACTORY = "llamafactory-cli train sft.yaml"


def asked(tmp_path: Path, command: str) -> reader.Question | None:
    config = state_of("framework_config", command, tmp_path)
    launch = fact_of("launch", command, tmp_path)
    return reader.asked(launch, config.value if config.status == "ok" else None)


@pytest.mark.parametrize(
    ("command", "question"),
    [
        (LLAMA_FACTORY, ("llamafactory", "train", ("sft.yaml",))),
        ("llamafactory-cli export sft.yaml", None),
        ("swift rlhf --rlhf_type grpo", ("swift", "rlhf", ("--rlhf_type", "grpo"))),
        ("swift rollout --model m", None),
        ("python3 -m verl.trainer.main_ppo a=1", ("verl", "verl.trainer.main_ppo", ("a=1",))),
        ("python -m openrlhf.cli.train_ppo_ray --x 1", ("openrlhf", "openrlhf.cli.train_ppo_ray", ("--x", "1"))),
        ("uv run rl @ rl.toml", ("prime_rl", "rl", ("@", "rl.toml"))),
        ("python -m prime_rl.entrypoints.rl @ rl.toml", ("prime_rl", "rl", ("@", "rl.toml"))),
        ("oumi train -c c.yaml", ("oumi", "train", ("-c", "c.yaml"))),
        ("axolotl train c.yml", ("axolotl", "train", ("c.yml",))),
        ("python run_grpo.py --config g.yaml", ("nemo_rl", "run_grpo.py", ("--config", "g.yaml"))),
        ("python agent.py data.seed=1", ("rllm", "agent.py", ("data.seed=1",))),
        ("python plain.py", None),
    ],
)
def test_what_is_asked(tmp_path: Path, command: str, question: tuple[str, str, tuple[str, ...]] | None) -> None:
    (tmp_path / "run_grpo.py").write_text("from nemo_rl.algorithms.grpo import MasterConfig\n")
    (tmp_path / "agent.py").write_text("from rllm.trainer import AgentTrainer\n")
    (tmp_path / "plain.py").write_text("import trl\n")
    found = asked(tmp_path, command)
    if question is None:
        assert found is None
    else:
        assert found is not None
        assert (found.framework, os.path.basename(found.entry), found.words) == question  # noqa: PTH119


def answer(tmp_path: Path, command: str, modules: dict[str, str]) -> FrameworkWords:
    """What stand-ins for a framework's modules say, on the path of a child as the fact starts it."""
    packages = tmp_path / "packages"
    for name, text in modules.items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.relative_to(packages).parents:
            (packages / folder / "__init__.py").touch()
        path.write_text(text)
    launch = fact_of("launch", command, tmp_path)
    question = asked(tmp_path, command)
    assert question is not None
    context = Context(
        tuple(launch.argv), tmp_path, {"PYTHONPATH": str(packages), "HOME": str(tmp_path)}, framework=True
    )
    interpreter = Interpreter(sys.executable, "3.11.0")
    return reader._answer(context, interpreter, launch, question, "1.0")


def llama_factory(tmp_path: Path, body: str) -> FrameworkWords:
    text = "import os, socket, subprocess, sys, time\ndef get_train_args(args=None):\n    " + body + "\n"
    return answer(tmp_path, LLAMA_FACTORY, {"llamafactory/hparams/__init__.py": text})


@pytest.mark.process
def test_objection_with_its_place(tmp_path: Path) -> None:
    said = llama_factory(tmp_path, "raise ValueError('no ' + sys.argv[1])")
    assert (said.outcome, said.kind, said.message) == ("refuses", "ValueError", "no sft.yaml")
    assert (said.file, said.line, said.function) == ("llamafactory/hparams/__init__.py", 3, "get_train_args")
    assert not said.wanted


@pytest.mark.process
def test_no_objection(tmp_path: Path) -> None:
    assert llama_factory(tmp_path, "return 1").outcome == "accepts"


@pytest.mark.process
@pytest.mark.parametrize(
    "body",
    [
        "open(os.path.expanduser('~/written'), 'w').write('x')",
        "os.makedirs('out')",
        "socket.create_connection(('127.0.0.1', 9), 1)",
        "subprocess.run(['true'])",
    ],
)
def test_it_is_held(tmp_path: Path, body: str) -> None:
    """What a validator was refused is no objection of the framework's."""
    said = llama_factory(tmp_path, body)
    assert said.outcome == "refuses"
    assert said.system
    assert said.wanted
    assert not (tmp_path / "written").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.process
def test_kernel_holds_what_python_does_not_see(tmp_path: Path) -> None:
    body = "import ctypes; sys.exit(str(ctypes.CDLL(None).creat(os.fsencode(os.path.expanduser('~/written')), 0o600)))"
    said = llama_factory(tmp_path, body)
    if "files" not in said.held:
        pytest.skip("this kernel has no Landlock")
    assert said.message == "-1"
    assert not (tmp_path / "written").exists()


@pytest.mark.process
def test_it_has_no_card_and_no_group(tmp_path: Path) -> None:
    said = llama_factory(
        tmp_path,
        "raise ValueError(repr((os.environ['CUDA_VISIBLE_DEVICES'], os.environ.get('WORLD_SIZE'), os.getcwd())))",
    )
    assert said.message == repr(("", None, str(tmp_path)))


@pytest.mark.process
def test_one_that_hangs_or_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LIMIT_S", 2.0)
    assert llama_factory(tmp_path, "time.sleep(60)").outcome == "timeout"
    monkeypatch.setattr(reader, "LIMIT_S", 30.0)
    died = llama_factory(tmp_path, "os.kill(os.getpid(), 9)")
    assert (died.outcome, died.message) == ("signal", "SIGKILL")


@pytest.mark.process
def test_openrlhf_up_to_train(tmp_path: Path) -> None:
    program = (
        "import argparse\ndef train(args):\n    raise SystemExit('trains')\n"
        "if __name__ == '__main__':\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--x', type=int)\n"
        "    args = parser.parse_args()\n    assert args.x > 1, '--x must be larger than 1'\n    train(args)\n"
    )
    modules = {"openrlhf/cli/train_ppo_ray.py": program}
    command = "python -m openrlhf.cli.train_ppo_ray"
    assert answer(tmp_path, f"{command} --x 2", modules).outcome == "accepts"
    assert answer(tmp_path, f"{command} --x 1", modules).message == "--x must be larger than 1"
    unknown = answer(tmp_path, f"{command} --y 1", modules)
    assert (unknown.kind, unknown.message) == ("SystemExit", "unrecognized arguments: --y 1")


@pytest.mark.process
def test_prime_rl_up_to_its_configuration(tmp_path: Path) -> None:
    program = (
        "import sys\ndef cli(kind):\n    if 'bad.toml' in sys.argv:\n        raise ValueError('bad')\n"
        "    return kind()\n"
        "def main():\n    config = cli(dict)\n    raise SystemExit('trains')\n"
    )
    modules = {"prime_rl/entrypoints/rl.py": program}
    assert answer(tmp_path, "uv run rl @ rl.toml", modules).outcome == "accepts"
    assert answer(tmp_path, "uv run rl @ bad.toml", modules).message == "bad"


@pytest.mark.process
def test_nemo_rl_with_the_model_of_its_algorithm(tmp_path: Path) -> None:
    (tmp_path / "run_grpo.py").write_text("from nemo_rl.algorithms.grpo import (\n    MasterConfig,\n    setup,\n)\n")
    modules = {
        "nemo_rl/utils/config.py": "def load_config(path):\n    return {'path': path}\n"
        "def parse_hydra_overrides(config, words):\n    return {**config, 'words': words}\n",
        "nemo_rl/algorithms/grpo.py": "class MasterConfig:\n    def __init__(self, path, words=()):\n"
        "        if words:\n            raise ValueError(f'{path} {words}')\n",
        "omegaconf.py": "class OmegaConf:\n    to_container = staticmethod(lambda config, resolve: config)\n",
    }
    assert answer(tmp_path, "python run_grpo.py --config g.yaml", modules).outcome == "accepts"
    assert answer(tmp_path, "python run_grpo.py --config g.yaml a.b=1", modules).message == "g.yaml ['a.b=1']"


@pytest.mark.process
def test_code_of_the_users_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text("plugins: [mine.Plugin]\n")
    modules = {
        "yaml.py": "def safe_load(file):\n    return {'plugins': ['mine.Plugin']}\n",
        "axolotl/utils/config.py": "raise SystemExit('imported')\n",
        "mine.py": "raise SystemExit('imported')\n",
    }
    said = answer(tmp_path, "axolotl train c.yml", modules)
    assert said.outcome == "not_asked"
    assert "plugin of yours" in (said.message or "")


def test_it_is_left_out(tmp_path: Path) -> None:
    """Only `doctor check` without `--no-framework` asks."""
    state = state_of("framework_words", LLAMA_FACTORY, tmp_path)
    assert state.status != "ok"
    assert not state.applies
