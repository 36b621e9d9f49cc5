"""Launch commands as people type them, and what is made of them."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doctor.base.fact import Context, Unavailable
from doctor.data import launchers
from doctor.facts.launch import Launch
from doctor.readers.command import argv as _argv_reader
from doctor.readers.command.hydra import hydra_value
from doctor.readers.command.launch import collect
from tests.each import for_each

CWD = Path("/home/me/run")
COMMANDS = json.loads((Path(__file__).parent / "launch_commands.json").read_text("utf-8"))


def understand(line: str) -> Launch:
    return collect(Context(argv=tuple(shlex.split(line)), cwd=CWD))


def shown(launch: Launch) -> dict[str, Any]:
    """What a table row may state: everything that is not a default, settings as plain values."""
    values = {
        "kind": launch.kind, "program": launch.program, "module": launch.module,
        "environment": dict(launch.environment),
        "wrappers": list(launch.wrappers), "script": launch.script, "script_args": list(launch.script_args),
        "subcommand": launch.subcommand, "folder": launch.folder, "unset": sorted(launch.unset),
        "ignores_environment": launch.ignores_environment, "unknown_options": list(launch.unknown_options),
        "why": launch.not_understood,
    }  # fmt: skip
    for name in ("options", "arguments", "overrides", "wrapper_options"):
        values[name] = {key: each.value for key, each in getattr(launch, name).items()}
    return values


@for_each("row", ((row["line"][:70], row) for row in COMMANDS), group=lambda case: case[:1])
def test_command_lines(row: dict[str, Any]) -> None:
    found = shown(understand(row["line"]))
    for name, expected in row.items():
        if name in {"line", "note"}:
            continue
        if name == "why" and expected is not None:
            assert expected in (found["why"] or "")
        else:
            assert found[name] == expected, name
    if "why" not in row:
        assert found["why"] is None


def test_there_are_many() -> None:
    assert len({row["line"] for row in COMMANDS}) >= 120


def test_without_a_command() -> None:
    with pytest.raises(Unavailable, match="no launch command"):
        collect(Context())


WORDS = st.sampled_from([
    "accelerate", "launch", "torchrun", "deepspeed", "python", "-m", "-c", "trl", "grpo", "vllm", "serve", "vllm-serve",
    "trinity", "run", "ray", "start", "job", "submit", "--", "env", "-i", "-u", "-S", "A=1", "nohup", "timeout", "10",
    "srun", "-N2", "bash", "-c", "cd x && torchrun t.py", "'", '"', "&&", "|", ">", "2>&1", "train.py", "--config",
    "--config_file", "x.yaml", "--num_processes", "2", "--num_processes=2", "--nproc", "-mq", "-tp", "-O3", "--a.b.c",
    "--hf-overrides.a", "k=v", "+k=v", "~k", "k=[1,2", "--runtime-env-json", "{", "", "-", "\0", "é", "--=", "=", "-5",
    "uv", "conda", "-n", "mpirun", "-np", "sudo", "poetry", "verl.trainer.main_ppo", "\n", "--include", "localhost:0,1",
])  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=8), min_size=1, max_size=12))
@settings(max_examples=1500, deadline=None)
@example(["env", "-S", "'"])
@example(["bash", "-c", "'"])
@example(["trl", "--"])
def test_nothing_raises(argv: list[str]) -> None:
    found = collect(Context(argv=tuple(argv), cwd=CWD))
    assert found.kind != "unknown" or found.not_understood
    assert found.not_understood is None or "\n" not in found.not_understood or any("\n" in word for word in argv)
    assert found.script is None or found.script.startswith("/")


@given(st.lists(st.text(alphabet="abcxyz-", min_size=1, max_size=6), min_size=1, max_size=5))
def test_nonsense_is_unknown(argv: list[str]) -> None:
    if argv[0] in {"sh", "ds", "time", "trl", "ray", "exec", "env", "uv"}:
        return
    found = collect(Context(argv=tuple(argv), cwd=CWD))
    assert (found.kind, found.script) == ("unknown", None)
    assert found.not_understood


SECRETS = [
    "WANDB_API_KEY=0123456789abcdef HF_TOKEN=hf_abcdefghijklmnop python train.py",
    "env OPENAI_API_KEY=sk-abcdefghijklmnopqrstuv nohup torchrun train.py",
    "vllm serve m --api-key topsecretkey123",
    "vllm serve m --api-key=topsecretkey123",
    "trl sft --hub_token hf_abcdefghijklmnop",
    "python train.py --wandb_api_key 0123456789abcdef --endpoint https://me:pass1word@host/x",
    'ray job submit --runtime-env-json \'{"env_vars": {"HF_TOKEN": "hf_abcdefghijklmnop"}}\' -- python train.py',
    "accelerate launch --aws_secret_access_key abcdefsecret99 train.py",
    "python -m verl.trainer.main_ppo trainer.wandb_api_key=0123456789abcdef",
    "bash -c 'export WANDB_API_KEY=0123456789abcdef; python train.py'",
]


@pytest.mark.parametrize("line", SECRETS)
def test_secrets_are_gone(line: str) -> None:
    text = repr(understand(line))
    for secret in ("0123456789abcdef", "abcdefghijklmnop", "topsecretkey123", "pass1word", "abcdefsecret99"):
        assert secret not in text


def test_paths_are_kept() -> None:
    found = understand("WANDB_DIR=/home/me/wandb python /home/me/train.py --output_dir /home/me/out --max_tokens 512")
    assert found.environment == {"WANDB_DIR": "/home/me/wandb"}
    assert found.script == "/home/me/train.py"
    assert found.arguments["output_dir"].value == "/home/me/out"
    assert found.arguments["max_tokens"].value == 512


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6), ("8", 8), ("1_000", 1000), ("True", True), ("false", False), ("null", None), ("", ""),
        ("'a b'", "a b"), ("[a,b]", ["a", "b"]), ("[1, [2,3]]", [1, [2, 3]]),
        ("{a:1,b:{c:x}}", {"a": 1, "b": {"c": "x"}}),
        ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B"), ("0.8", 0.8), ("-1", -1), ("a,b", "a,b"), ("[]", []), ("007", 7.0),
        ("['console','wandb']", ["console", "wandb"]), ("2024-01-01", "2024-01-01"), ("[" * 200 + "]" * 200, None),
    ],
)  # fmt: skip
def test_hydra_values(text: str, value: object) -> None:
    if text.startswith("[[["):
        assert hydra_value(text)
        return
    assert hydra_value(text) == value


# The tables are read from the real parsers; how they are applied is compared with argparse itself ---------------------


def real(launcher: str) -> argparse.ArgumentParser:
    """Build the launcher's argparse parser from its table, with the script and the rest as it has them."""
    known = launchers.table(launcher)
    parser = argparse.ArgumentParser(allow_abbrev=known.abbreviations, add_help=False, exit_on_error=False)
    by_entry: dict[tuple[Any, ...], list[str]] = {}
    for string, option in known.options.items():
        by_entry.setdefault((option.name, option.words, option.constant), []).append(string)
    for (name, words, constant), strings in by_entry.items():
        if words == 0:
            parser.add_argument(*strings, dest=name, action="store_const", const=constant, default=argparse.SUPPRESS)
        else:
            nargs = None if words == 1 else words
            parser.add_argument(*strings, dest=name, nargs=nargs, default=argparse.SUPPRESS)
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


PARSERS = {launcher: real(launcher) for launcher in ("accelerate", "torchrun", "deepspeed")}


def launcher_words(launcher: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    """Made once: in a composite, every example would make, validate and cache all of these anew."""
    option = st.sampled_from(sorted(launchers.table(launcher).options))
    joined = st.tuples(option, st.sampled_from(["2", "x", "", "a=b"])).map("=".join)
    prefix = st.tuples(option, st.integers(3, 14)).map(lambda drawn: drawn[0][: drawn[1]])
    short = st.sampled_from(["-m", "-q", "-mq", "-qm", "-t3", "-r", "-H", "-i", "-ilocalhost", "-e", "-t"])
    value = st.sampled_from(["2", "gpu", "localhost:0,1", "-1", "-0.5", "a b", "x.yaml", "train.py", "-"])
    before = st.lists(option | joined | prefix | short | value, max_size=6)
    behind = st.lists(option | value | joined, max_size=3)
    return st.tuples(before, behind).map(lambda drawn: (launcher, [*drawn[0], "train.py", *drawn[1]]))


@given(st.one_of([launcher_words(launcher) for launcher in sorted(PARSERS)]))
@settings(max_examples=1500, deadline=None)
def test_options_are_read_as_argparse_reads_them(case: tuple[str, list[str]]) -> None:
    launcher, words = case
    found = _argv_reader.parse(words, launchers.table(launcher), stop_at_word=True)
    try:
        namespace, extra = PARSERS[launcher].parse_known_args(words)
    except (argparse.ArgumentError, SystemExit):
        if any(word.startswith("-") for word in found.rest[1:]):
            return  # before Python 3.12.3 an ambiguous word among the script's own options is refused too
        assert found.missing or found.ambiguous or found.unknown or not found.rest
        return
    if extra:
        assert found.unknown
        return
    theirs = vars(namespace)
    rest = (theirs.pop("training_script"), *theirs.pop("training_script_args"))
    assert found.complaint(launcher) is None
    assert found.rest == rest
    texts = {name: each.text for name, each in found.settings.items() if each.text}
    values = {name: each for name, each in theirs.items() if isinstance(each, str) and each}
    assert {name: each for name, each in values.items() if texts.get(name) != "***"} == {
        name: each for name, each in texts.items() if each != "***"
    }
    assert set(found.settings) == set(theirs)


def test_tables_hold_what_the_sources_say() -> None:
    """Spot checks against accelerate 1.15.0, torch 2.13.0, deepspeed 0.19.8 and vLLM 0.32.0."""
    for launcher, string, name, words in [
        ("accelerate", "--num-processes", "num_processes", 1), ("accelerate", "--multi_gpu", "multi_gpu", 0),
        ("accelerate", "-m", "module", 0), ("torchrun", "--nproc_per_node", "nproc_per_node", 1),
        ("torchrun", "--standalone", "standalone", 0), ("torchrun", "--use-env", "use_env", 0),
        ("deepspeed", "--num_accelerators", "num_gpus", 1), ("deepspeed", "-H", "hostfile", 1),
        ("deepspeed", "--no_ssh", "no_ssh", 0), ("vllm", "-tp", "tensor_parallel_size", 1),
        ("vllm", "--enforce-eager", "enforce_eager", 0), ("vllm", "--served-model-name", "served_model_name", "+"),
        ("trl", "--reward_funcs", "reward_funcs", "+"), ("trl-vllm-serve", "--model", "model", 1),
    ]:  # fmt: skip
        option = launchers.table(launcher).options[string]
        assert (option.name, option.words) == (name, words)
    assert "--num-cpu_threads" not in launchers.table("accelerate").options
    assert not launchers.table("accelerate").abbreviations
