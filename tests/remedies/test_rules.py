"""What is known of a patient against what is ordered: whatever the problem, by kind of input."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor import data
from doctor.catalogue.finding import Finding, Message, Where, Words, found
from doctor.catalogue.problem import ERROR, Problem
from doctor.diagnosis import installable
from doctor.diagnosis.remedies import Situation, reviewed

MESSAGE = Message(Words("`x` is wrong", "It ends.", "Mend it."), Words("`x` 不对", "会结束。", "请修改。"))
PYTHONS = ("3.6.15", "3.7.17", "3.8.18", "3.9.19", "3.10.14", "3.11.7", "3.12.3", "3.13.1", "3.14.0")


def finding(identity: str, *commands: str, **values: object) -> Finding:
    problem = Problem(id=identity, name="x", severity=ERROR, since="0.1")
    return found(problem, MESSAGE, commands=commands, **values)  # type: ignore[arg-type]


def left(situation: Situation | None, *findings: Finding) -> list[tuple[str, ...]]:
    """The commands that are printed; where one is not, the words say so in both languages."""
    told, withdrawn = reviewed(findings, situation)
    assert len(withdrawn) == sum(len(each.commands) for each in findings) - sum(len(each.commands) for each in told)
    for before, after in zip(findings, told, strict=True):
        for language in ("en", "zh"):
            grown = len(after.words(language).remedy) > len(before.words(language).remedy)
            assert grown == (len(after.commands) < len(before.commands))
        assert len(after.changes) == len(after.commands)
    return [each.commands for each in told]


# --- ranges and Pythons ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", data.packages())
def test_no_range_is_ordered_that_no_release_supports_and_none_is_lost_that_one_does(package: str) -> None:
    # every package of the data, every Python, a release alone and all up to it: against Requires-Python itself
    releases = {
        version: each.requires_python
        for version, each in data.releases(package).items()
        if not each.yanked and installable.releases_in(package, f"=={version}")
    }
    step = max(1, len(releases) // 12)
    ordered = {Version(each): requires for each, requires in releases.items()}
    runs = {  # what a release requires -> the Pythons among ours on which it runs
        each: {python for python in PYTHONS if each and Version(python) in SpecifierSet(each)}
        for each in set(releases.values())
    }
    for version, sign in itertools.product(list(releases)[::step], ("==", "<=")):
        wanted = SpecifierSet(f"{sign}{version}", prereleases=True)
        known = [requires for each, requires in ordered.items() if each in wanted]
        for python in PYTHONS:
            command = f'pip install "{package}{sign}{version}"'
            commands = left(Situation(python=python), finding("PYT900", command))
            if any(python in runs[each] for each in known):
                assert commands == [(command,)]
            elif all(known) and known:
                assert commands == [()]


def test_a_range_without_end_is_withdrawn_for_an_old_python_never_for_a_new_one() -> None:
    assert left(Situation(python="3.8.10"), finding("PYT900", 'pip install "trl>=0.14"')) == [()]
    open_ended = (
        'pip install "vllm>=0.9"'  # its newest known release may not support a Python of the future; later ones may
    )
    assert left(Situation(python="3.99.0"), finding("VLL900", open_ended)) == [(open_ended,)]
    assert left(Situation(), finding("PYT900", 'pip install "trl>=0.14"')) == [('pip install "trl>=0.14"',)]


@pytest.mark.parametrize(
    ("python", "words", "told"),
    [
        ("3.8", 'Upgrade it: `pip install "trl>=0.14.0"`, and restart.', True),
        ("3.11", 'Upgrade it: `pip install "trl>=0.14.0"`, and restart.', False),
        ("3.8", "Upgrade it: `python -m pip install 'trl>=0.14.0' peft`.", True),
        ("3.8", "Take `pip install trl==0.11.4`, or `pip uninstall trl`.", False),
        (None, "Upgrade it: `pip install 'trl>=0.14.0'`.", False),
    ],
)
def test_what_only_the_words_order_is_held_against_the_python_too(python: str | None, words: str, told: bool) -> None:
    message = Message(Words("`x` is wrong", "It ends.", words), Words("`x` 不对", "会结束。", words))
    problem = Problem(id="PYT900", name="x", severity=ERROR, since="0.1")
    (after,), _ = reviewed([found(problem, message)], Situation(python=python, from_logs=True))
    assert ("Under Python 3.8 that changes nothing" in after.words("en").remedy) == told
    assert ("在 Python 3.8 下这样做无济于事" in after.words("zh").remedy) == told


def test_the_last_release_for_a_python_is_not_upgraded() -> None:
    last = installable.newest_for("transformers", "", "3.8.18")
    assert last is not None
    situation = Situation(python="3.8.18", versions={"transformers": last})
    assert left(situation, finding("TRF900", "pip install -U transformers")) == [()]
    older = Situation(python="3.8.18", versions={"transformers": "4.40.0"})
    assert left(older, finding("TRF900", "pip install -U transformers")) == [("pip install -U transformers",)]


# --- what cannot be had ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["bf16=True", "--bf16", "mixed_precision: bf16", '"bf16": {"enabled": true}', "--dtype bfloat16",
     'dtype="bfloat16"', "fp16=False, bf16=True", "--mixed_precision bf16"],
)  # fmt: skip
def test_bf16_is_not_ordered_for_cards_without_it(command: str) -> None:
    assert left(Situation(capability=(7, 0)), finding("NUM900", command)) == [()]
    for capability in ((8, 0), (9, 0), None):
        assert left(Situation(capability=capability), finding("NUM900", command)) == [(command,)]


@pytest.mark.parametrize("command", ["bf16=False", "fp16=True", "mixed_precision: fp16", "--dtype half"])
def test_other_precisions_stay(command: str) -> None:
    assert left(Situation(capability=(7, 0)), finding("NUM900", command)) == [(command,)]


def test_a_key_of_another_release_is_not_ordered_unless_that_is_ordered_too() -> None:
    old = Situation(versions={"trl": "0.16.0"}, config_class="GRPOConfig")
    mode = finding("TRL900", 'vllm_mode="colocate"')
    assert left(old, mode) == [()]
    assert left(old, finding("TRL901", 'pip install "trl>=0.18"'), mode)[1] == ('vllm_mode="colocate"',)
    assert left(Situation(versions={"trl": "0.20.0"}, config_class="GRPOConfig"), mode) == [('vllm_mode="colocate"',)]
    assert left(
        Situation(versions={"vllm": "0.8.5"}), finding("VLL900", "vllm serve m --weight-transfer-config x")
    ) == [()]
    trinity = Situation(versions={"trinity-rft": "0.3.1"})
    assert left(trinity, finding("TRI900", "no_such_key: 1"), finding("TRI901", "batch_size: 8")) == [
        (), ("batch_size: 8",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "argument", [name for name in sorted(data.trl_arguments("GRPOConfig", "1.16.0") or ()) if name.islower()]
)
def test_each_argument_is_ordered_in_the_releases_that_have_it(argument: str) -> None:
    history = data.trl_argument("GRPOConfig", argument)
    assert history is not None
    for version in ("0.14.0", "0.16.0", "0.18.0", "0.22.0", "1.0.0", "1.16.0"):
        situation = Situation(versions={"trl": version, "transformers": "4.57.1"}, config_class="GRPOConfig")
        inherited = data.training_argument(argument)
        kept = left(situation, finding("TRL900", f"{argument}=1")) != [()]
        assert kept == bool(history.exists_in(version) or (inherited and inherited.exists_in("4.57.1")))


def test_a_program_of_an_absent_package_is_not_ordered() -> None:
    empty = Situation(versions={"trl": "1.0"}, complete=True, executable="/v/bin/python")
    for command in (
        "accelerate launch train.py",
        "python -m accelerate.commands.launch train.py",
        "ray stop",
        "ds_report",
    ):
        assert left(empty, finding("LCH900", command)) == [()]
        assert left(Situation(versions={"trl": "1.0"}), finding("LCH900", command)) == [(command,)]
    assert left(empty, finding("PYT900", "pip install accelerate"), finding("LCH900", "accelerate launch t.py"))[1]
    other = "/other/bin/python -m accelerate.commands.launch"
    assert left(empty, finding("PYT901", other)) == [(other,)]
    assert left(empty, finding("TRL900", "vllm serve m")) == [("vllm serve m",)]  # a server may have its own


# --- what is so already ----------------------------------------------------------------------------------------------


def test_what_is_set_is_not_advised() -> None:
    there = Situation(variables={"NCCL_IB_GID_INDEX": "3"}, all_variables=True)
    assert left(there, finding("NCC900", "export NCCL_IB_GID_INDEX=3")) == [()]
    assert left(there, finding("NCC900", "export NCCL_IB_GID_INDEX=5")) == [("export NCCL_IB_GID_INDEX=5",)]
    assert left(there, finding("NCC900", "unset NCCL_DEBUG")) == [()]
    assert left(Situation(), finding("NCC900", "unset NCCL_DEBUG")) == [("unset NCCL_DEBUG",)]
    logs = Situation(settings={"num_generations": "4"}, from_logs=True)
    assert left(logs, finding("TRL900", "num_generations=4", "num_generations=2")) == [("num_generations=2",)]
    both = "export NCCL_IB_GID_INDEX=3 NCCL_DEBUG=WARN"  # one of two is missing still
    assert left(there, finding("NCC900", both)) == [(both,)]


def test_what_is_installed_is_not_ordered_but_what_pip_brings_along_is() -> None:
    there = Situation(versions={"trl": "0.20.0"})
    assert left(there, finding("TRL900", 'pip install "trl>=0.18"')) == [()]
    for command in (
        'pip install "trl>=0.21"', 'pip install "trl==0.20.0"', 'pip install "trl[vllm]>=0.18"', "pip install -U trl",
        'pip install --force-reinstall "trl>=0.18"', 'pip install "trl>=0.18" "vllm>=0.9"',
    ):  # fmt: skip
        assert left(there, finding("TRL900", command)) == [(command,)]


@pytest.mark.parametrize(
    ("words", "again"),
    [
        ("On RoCE set `NCCL_IB_GID_INDEX=3` first.", True),
        ("Check the cable; or `NCCL_IB_GID_INDEX=3`.", True),
        ("Set `NCCL_DEBUG=INFO` and `NCCL_IB_GID_INDEX=3`.", True),
        ("`NCCL_IB_GID_INDEX=3` hides it: take it away.", False),
        ("Set `NCCL_IB_GID_INDEX=5`.", False),
    ],
)
def test_advice_in_words_knows_what_is_set(words: str, again: bool) -> None:
    said = found(
        Problem(id="NCC900", name="x", severity=ERROR, since="0.1"), Message(Words("`x` fails", "It ends.", words))
    )
    (told,), _ = reviewed([said], Situation(variables={"NCCL_IB_GID_INDEX": "3"}))
    assert ("is already set" in told.words().remedy) == again


# --- what undoes another ---------------------------------------------------------------------------------------------

OPPOSITES = (
    ('pip install "trl>=0.18"', 'pip install "trl<0.18"'), ("pip uninstall -y trl", "pip install trl"),
    ('pip install "x==1.0"', 'pip install "x>1.0,<2"'), ("export NCCL_DEBUG=WARN", "export NCCL_DEBUG=INFO"),
    ("export CUDA_VISIBLE_DEVICES=0", "unset CUDA_VISIBLE_DEVICES"), ("bf16=True", "fp16=True"),
    ("fp16=True, bf16=False", "bf16=True"), ("num_generations=4", "--num_generations 8"), ("beta=0.0", "beta=0.04"),
    ("trainer.n_gpus_per_node=4", "trainer.n_gpus_per_node=8"), ("--max-model-len 8192", "--max-model-len 4096"),
)  # fmt: skip
TOGETHER = (
    ('pip install "trl>=0.18"', 'pip install "trl<1"'), ('pip install "unheard>=1"', 'pip install "unheard<=1"'),
    ("num_generations=8", "num_generations: 8"), ("beta=0.0", "beta=0"), ("bf16=True", "fp16=False"),
    ('"gradient_accumulation_steps": "auto"', "gradient_accumulation_steps=8"), ("nvidia-smi", "top"),
    ("export NCCL_DEBUG=WARN", "unset NCCL_P2P_DISABLE"), ('"enabled": true', '"enabled": false'),
    ("num_generations=...", "num_generations=4"),
)  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*OPPOSITES, *((b, a) for a, b in OPPOSITES)])
def test_the_first_of_two_opposite_orders_stands(one: str, other: str) -> None:
    assert left(Situation(), finding("TRL900", one), finding("DSP900", other)) == [(one,), ()]
    assert left(None, finding("TRL900", one), finding("DSP900", other)) == [(one,), ()]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({"nodes": ("a", "b")}, {"nodes": ("c",)}, True),
        ({"nodes": ("a", "b")}, {"nodes": ("b", "c")}, False),
        ({"where": Where(host="a")}, {"where": Where(host="b")}, True),
        ({"where": Where(host="a")}, {"where": Where(host="a")}, False),
        ({"where": Where(host="a")}, {}, False),  # one of the two may be anywhere
        ({"nodes": ("a",)}, {"where": Where(host="a")}, False),
    ],
)
def test_machines_may_be_set_differently(one: dict[str, Any], other: dict[str, Any], apart: bool) -> None:
    first, second = "export NCCL_DEBUG=WARN", "export NCCL_DEBUG=INFO"
    told = left(Situation(), finding("NCC900", first, **one), finding("NCC901", second, **other))
    assert told == [(first,), (second,) if apart else ()]


@pytest.mark.parametrize(("one", "other"), [*TOGETHER, *((b, a) for a, b in TOGETHER)])
def test_orders_that_can_stand_together_stay(one: str, other: str) -> None:
    assert left(Situation(), finding("TRL900", one), finding("DSP900", other)) == [(one,), (other,)]


def test_alternatives_that_agree_with_one_way_of_the_first_stay() -> None:
    first = finding("TRL900", "num_generations=2", "num_generations=4")
    assert left(Situation(), first, finding("RLX900", "num_generations=4", "num_generations=8"))[1] == (
        "num_generations=4",
    )


def test_different_machines_may_need_opposite_things() -> None:
    one = finding("GPU900", "export CUDA_VISIBLE_DEVICES=0", where=Where(host="a"))
    other = finding("GPU901", "export CUDA_VISIBLE_DEVICES=1", where=Where(host="b"))
    assert all(left(None, one, other))


# --- the user's own server -------------------------------------------------------------------------------------------


def test_a_server_keeps_what_the_user_gave_it() -> None:
    options = {
        "dtype": "half",
        "port": "8001",
        "tensor_parallel_size": "2",
        "enforce_eager": None,
        "no_flag_of_vllm": "1",
    }
    situation = Situation(
        versions={"vllm": "0.8.5"},
        serves=True,
        server_options=options,
        server_variables={"CUDA_VISIBLE_DEVICES": "0,1"},
    )
    (told,), _ = reviewed([finding("VLL900", "vllm serve ./m --dtype float16")], situation)
    wanted = (
        "CUDA_VISIBLE_DEVICES=0,1 vllm serve ./m --dtype float16 --port 8001 --tensor-parallel-size 2 --enforce-eager"
    )
    assert told.commands == (wanted,)
    (told,), _ = reviewed([finding("TRL900", "vllm serve ./m")], Situation(server_options=options))
    assert told.commands == ("vllm serve ./m",)


@pytest.mark.parametrize("given", ["-tp 2", "-tp=2", "--tensor_parallel_size 2", "--tensor-parallel-size=2"])
def test_an_option_that_is_there_in_a_shorter_form_is_not_given_twice(given: str) -> None:
    situation = Situation(
        versions={"vllm": "0.8.5"}, serves=True, server_options={"tensor_parallel_size": "2", "quantization": "awq"}
    )
    (told,), _ = reviewed([finding("VLL900", f"vllm serve ./m {given} -q awq")], situation)
    assert told.commands == (f"vllm serve ./m {given} -q awq",)
