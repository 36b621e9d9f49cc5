from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from doctor.base.evidence import Observed
from doctor.facts.gpus import GpuProcess, Gpus, MigDevice
from doctor.facts.packages import TorchBuild
from doctor.readers.pasted import LIMIT_CHARACTERS, read_report
from doctor.readers.pasted.capability import capability

SAMPLES = Path(__file__).parent / "samples"
MIB = 1 << 20


def read(name: str) -> dict[str, Observed]:
    return read_report((SAMPLES / name).read_text(), name)


def versions(facts: dict[str, Observed]) -> dict[str, str | None]:
    return {name: each.version for name, each in facts["packages"].value.distributions.items()}


def gpus(name: str) -> Gpus:
    state = read(name)["gpus"]
    assert state.status == "ok", state.reason
    return state.value


# Genuine output of the real tools (torch 2.13, trl 1.16 ...) on a machine without a GPU -------------------------


def test_collect_env_of_torch():
    facts = read("torch_collect_env_cpu.txt")
    assert facts["interpreter"].value.version == "3.11.7"
    assert facts["interpreter"].value.glibc == "2.36"
    assert facts["packages"].value.torch_build == TorchBuild("2.13.0+cpu")
    assert versions(facts) == {"numpy": "2.4.6", "torch": "2.13.0+cpu"}
    assert not facts["packages"].value.complete
    assert facts["packages"].source == "torch_collect_env_cpu.txt: torch collect_env"
    assert facts["cuda"].value.nvcc_version == "13.0"
    host = facts["host"].value
    assert (host.os, host.kernel) == ("Debian GNU/Linux 12 (bookworm)", "6.8.0-45-generic")
    assert facts["gpus"] == Observed.unseen("torch collect_env shows no NVIDIA GPU", source="torch_collect_env_cpu.txt")


@pytest.mark.parametrize(
    "kept",
    ["GPU models and configuration: NVIDIA H20", "Nvidia driver version: 550.54.15", "Is CUDA available: True"],
)
def test_collect_env_that_somebody_has_shortened(kept: str):
    """One key that no other report has will do; what is no longer there is not known."""
    text = f"PyTorch version: 2.6.0+cu124\nPython version: 3.11.9 (64-bit runtime)\n{kept}\n[pip3] trl==0.17.0\n"
    facts = read_report(text, "x")
    assert versions(facts) == {"torch": "2.6.0+cu124", "trl": "0.17.0"}
    assert not facts["packages"].value.complete
    assert facts["interpreter"].value.version == "3.11.9"


@pytest.mark.parametrize(
    "text", ["PyTorch version: 2.6.0\n", "GPU models and configuration: x\nPython version: 3.11\n"]
)
def test_words_that_are_no_collect_env(text: str):
    assert "packages" not in read_report(text, "x") or read_report(text, "x")["packages"].status != "ok"


def test_env_commands():
    common = {"accelerate": "1.15.0", "torch": "2.13.0+cpu"}
    expected = {
        "trl_env.txt": {**common, "transformers": "5.23.0", "trl": "1.16.0", "datasets": "5.2.0", "peft": "0.21.2",
                        "huggingface-hub": "2.4.0", "deepspeed": "0.19.8"},
        "transformers_env.txt": {**common, "transformers": "5.23.0", "huggingface-hub": "2.4.0", "safetensors": "0.8.0",
                                 "deepspeed": "0.19.8"},
        "accelerate_env.txt": {**common, "numpy": "2.4.6"},
    }  # fmt: skip
    for name, listed in expected.items():
        facts = read(name)
        assert versions(facts) == listed
        assert facts["interpreter"].value.version == "3.11.7"
        assert facts["packages"].value.torch_build == TorchBuild("2.13.0+cpu")
        assert facts["packages"].value.source == name.removesuffix(".txt").replace("_", " ")
        assert not facts["packages"].value.complete
    assert read("trl_env.txt")["gpus"].reason == "trl env shows no NVIDIA GPU"
    assert "gpus" not in read("transformers_env.txt")
    assert read("accelerate_env.txt")["host"].value.memory_total_bytes == int(23.54 * (1 << 30))


def test_ds_report():
    facts = read("ds_report.txt")
    assert versions(facts) == {"deepspeed": "0.19.8", "torch": "2.13.0+cpu"}
    assert facts["host"].value.shm_total_bytes == int(23.54 * (1 << 30))
    assert facts["interpreter"].value.version_info == (3, 11)


@pytest.mark.parametrize("name", ["pip_list.txt", "pip_freeze.txt", "pip_list.json"])
def test_whole_listings(name):
    facts = read(name)
    assert facts["packages"].value.complete
    listed = versions(facts)
    assert listed["markupsafe"] == "3.0.3"
    assert listed["typing-extensions"] == "4.16.0"
    assert set(facts) == {"packages"}
    entries = json.loads((SAMPLES / "pip_list.json").read_text())
    names = {re.sub(r"[-_.]+", "-", each["name"]).lower() for each in entries}
    missing = names - listed.keys()
    assert missing <= ({"pip", "setuptools"} if name == "pip_freeze.txt" else set())  # pip freeze leaves these out


# Formats that need hardware or conda, written after the tools' own sources ------------------------------------


def test_collect_env_of_vllm_in_an_issue():
    facts = read("vllm_collect_env.md")
    assert versions(facts)["vllm"] == "0.9.1.dev44+gabc1234"
    assert versions(facts)["torch"] == "2.7.0"
    packages = facts["packages"].value
    assert packages.torch_build == TorchBuild("2.7.0+cu126", "12.6")
    assert packages.source == "vLLM collect_env"
    assert facts["interpreter"].value.version == "3.12.9"
    assert facts["cuda"].value.nvcc_version == "12.4"
    found = facts["gpus"].value
    assert found.driver_version == "535.183.06"
    assert [each.name for each in found.gpus] == ["NVIDIA H100 80GB HBM3"] * 3
    assert [each.compute_capability for each in found.gpus] == [(9, 0)] * 3
    assert found.gpus[2].mig_devices == (MigDevice("", "3g.40gb"), MigDevice("", "4g.40gb"))
    assert found.gpus[0].memory_total_bytes is None
    assert facts["environment"].value.variables == {
        "NCCL_P2P_DISABLE": "1",
        "LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64:/home/***/lib",
        "VLLM_API_KEY": "set",
    }


def test_collect_env_with_conda_on_wsl():
    facts = read("vllm_collect_env_conda.txt")
    assert versions(facts) == {"numpy": "1.26.4", "torch": "2.5.1", "transformers": "4.49.0", "vllm": "0.7.3"}
    packages = facts["packages"].value
    assert packages.torch_build == TorchBuild("2.5.1", "12.4")
    assert packages.conda["libcublas"] == "12.4.5.8"
    assert facts["interpreter"].value.environment_kind == "conda"
    assert facts["host"].value.wsl == 2
    assert "cuda" not in facts
    assert [(each.index, each.name) for each in facts["gpus"].value.gpus] == [(0, "NVIDIA GeForce RTX 4090")]


def test_conda_list():
    facts = read("conda_list.txt")
    assert versions(facts) == {
        "accelerate": "1.4.0", "flash-attn": "2.7.4.post1", "packaging": "24.2", "torch": "2.6.0", "trl": "0.15.2",
    }  # fmt: skip
    packages = facts["packages"].value
    assert packages.torch_build == TorchBuild("2.6.0", "12.6")
    assert not packages.complete
    assert packages.conda["cuda-version"] == "12.6"
    assert facts["interpreter"].value.version == "3.11.11"


def test_table_of_nvidia_smi():
    found = gpus("nvidia_smi_550.txt")
    assert (found.driver_version, found.cuda_driver_version, found.source) == ("550.90.07", "12.4", "nvidia-smi")
    first, second = found.gpus
    assert first.name == "NVIDIA A100-SXM4-80GB"
    assert first.compute_capability == (8, 0)
    assert (first.memory_total_bytes, first.memory_used_bytes) == (81920 * MIB, 71842 * MIB)
    assert (first.temperature_c, first.power_w, first.power_limit_w) == (34, 64.0, 400.0)
    assert (first.ecc_enabled, first.ecc_uncorrected, second.ecc_uncorrected) == (True, 0, 2)
    assert (first.persistence_mode, first.mig_enabled, first.bus_id) == (True, False, "00000000:07:00.0")
    assert (first.compute_mode, second.compute_mode) == ("default", "exclusive_process")
    assert first.processes == (
        GpuProcess(1043216, 71832 * MIB, "python3.11", "/home/***/grpo/bin/python3.11"),
        GpuProcess(2211, 10 * MIB, "ray::WorkerDict", "ray::WorkerDict"),
    )
    assert second.processes == ()


def test_table_with_mig():
    (card,) = gpus("nvidia_smi_mig.txt").gpus
    assert card.mig_enabled
    assert [each.memory_total_bytes for each in card.mig_devices] == [11968 * MIB, 5952 * MIB]
    assert card.memory_total_bytes == 24576 * MIB
    assert card.ecc_uncorrected is None
    assert card.processes == ()


def test_table_of_an_old_driver():
    found = gpus("nvidia_smi_418.txt")
    assert found.cuda_driver_version == "10.1"
    first, second = found.gpus
    assert (first.name, first.compute_capability) == ("Tesla V100-SXM2...", (7, 0))
    assert (second.name, second.compute_capability) == ("GeForce RTX 208...", None)  # cut: not to be guessed
    assert second.ecc_enabled is None
    assert second.power_w is None
    assert [each.pid for each in second.processes or ()] == [1543, 23981]
    assert first.mig_enabled is None


def test_log_and_list_of_nvidia_smi():
    found = gpus("nvidia_smi_q.txt")
    assert (found.driver_version, found.cuda_driver_version) == ("560.35.03", "12.6")
    first, second = found.gpus
    assert (first.name, first.memory_total_bytes, first.memory_free_bytes) == ("NVIDIA L40S", 46068 * MIB, 45472 * MIB)
    assert (first.ecc_enabled, first.compute_mode, second.compute_mode) == (True, "default", "exclusive_process")
    assert first.uuid == "GPU-11111111-2222-3333-4444-555555555555"
    assert second.memory_used_bytes == 30000 * MIB
    listed = gpus("nvidia_smi_list.txt").gpus
    assert listed[0].mig_devices == (MigDevice("MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", "1g.18gb"),)
    assert listed[1].uuid == "GPU-9a1b2c3d-1111-2222-3333-444455556666"
    assert listed[1].mig_enabled is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the"
            " latest NVIDIA driver is installed and running."),
            "Driver Not Loaded",
        ),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54",
         "Driver/library version mismatch"),
    ],
)  # fmt: skip
def test_nvidia_smi_that_failed(text, error):
    facts = read_report(text, "x")
    assert facts["nvidia"].value.nvml_error == error
    assert facts["gpus"].status == "unavailable"
    assert facts["gpus"].reason == f"nvidia-smi failed: {error}"


# Several reports in one text ----------------------------------------------------------------------------------


def test_an_issue_with_quotes_and_fences():
    facts = read("issue.md")
    listed = versions(facts)
    assert {name: listed[name] for name in ("trl", "vllm", "peft", "deepspeed", "transformers", "torch")} == {
        "trl": "0.17.0", "vllm": "0.8.5.post1", "peft": "0.15.2", "deepspeed": "0.16.7", "transformers": "4.51.3",
        "torch": "2.6.0+cu124",
    }  # fmt: skip
    packages = facts["packages"].value
    assert not packages.complete  # `| grep`: absence proves nothing
    assert packages.torch_build == TorchBuild("2.6.0+cu124", "12.4")
    assert packages.source == "pip freeze, ds_report, trl env"
    assert facts["cuda"].value.nvcc_version == "12.0"
    assert facts["host"].value.shm_total_bytes == 64 * MIB
    assert facts["interpreter"].value.version in {"3.10", "3.10.12"}
    assert [each.name for each in facts["gpus"].value.gpus] == ["NVIDIA GeForce RTX 3090"] * 2
    assert facts["gpus"].value.driver_version is None


def test_the_most_exact_report_wins():
    text = "\n".join((SAMPLES / name).read_text() for name in ("trl_env.txt", "nvidia_smi_550.txt", "pip_list.txt"))
    changed = text.replace("- TRL version: 1.16.0", "- TRL version: 0.9.9")
    facts = read_report(changed, "x")
    assert versions(facts)["trl"] == "1.16.0"
    assert facts["packages"].value.complete
    assert len(facts["gpus"].value.gpus) == 2


def test_a_second_environment_is_not_mixed_in():
    listing = (SAMPLES / "pip_list.txt").read_text()
    second = listing.replace("trl ", "vllm").replace("torch   ", "torchaudio")
    facts = read_report(f"Works:\n\n{listing}\n\nBroken:\n\n{second}", "x")
    assert "vllm" not in versions(facts)
    one = (SAMPLES / "vllm_collect_env_conda.txt").read_text()
    other = one.replace("2.5.1", "2.9.9").replace("RTX 4090", "RTX 3090").replace("numpy", "helion")
    both = f"{one}\n\nnode 2\n\n{other}"
    facts = read_report(both, "x")
    assert facts["packages"].value.torch_build.version == "2.5.1"
    assert [each.name for each in facts["gpus"].value.gpus] == ["NVIDIA GeForce RTX 4090"]
    assert "helion" not in versions(facts)


def test_windows_lines_colours_and_entities():
    text = (SAMPLES / "ds_report.txt").read_text()
    assert "\x1b[" in text  # genuine output is coloured
    windows = text.replace("\n", "\r\n").replace("torch version", "<pre>torch version")
    assert versions(read_report(windows, "x")) == versions(read("ds_report.txt"))
    escaped = (SAMPLES / "nvidia_smi_550.txt").read_text().replace("|", "&#124;")
    assert read_report(escaped, "x")["gpus"].value == gpus("nvidia_smi_550.txt")


def test_cut_listings_prove_nothing():
    lines = (SAMPLES / "pip_list.txt").read_text().splitlines()
    assert not read_report("\n".join([*lines[:40], "...", *lines[50:]]), "x")["packages"].value.complete
    assert not read_report("\n".join(lines[:12]), "x")["packages"].value.complete
    frozen = (SAMPLES / "pip_freeze.txt").read_text().splitlines()
    assert not read_report("\n".join(reversed(frozen)), "x")["packages"].value.complete  # a requirements file
    assert read_report("\n".join(frozen[:2]), "x") == {}


def test_forms_of_pip_freeze():
    text = """
-e git+https://ghp_abcdefghijklmnopqrstuvwxyz0123@github.com/me/trl.git@abc#egg=trl
# Editable install with no version control (verl==0.4.1)
-e /home/wilma/verl
flash_attn @ file:///tmp/flash_attn-2.7.4.post1%2Bcu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl#sha256=0
torch==2.6.0
"""
    facts = read_report(text, "x")
    assert versions(facts) == {
        "trl": None, "verl": "0.4.1", "flash-attn": "2.7.4.post1+cu12torch2.6cxx11abiFALSE", "torch": "2.6.0",
    }  # fmt: skip
    assert "ghp_" not in repr(facts)


# What is no report --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "my training hangs, please help",
        "\0\x01\x02" * 1000,
        "Python version: 3.10\nPlatform: Linux",
        "pip install torch==2.6.0 vllm==0.8.5",
        "Package: trl\nVersion: 0.17",
        '[{"name": "train", "data_files": [1, 2]}]',
        '[{"name": ' * 2000,
        "GPU 0: out of memory\nGPU 1: fine",
        "| 0 | NVIDIA H100 | 80GB |",
        "2025-03-03 10:00:00 INFO loss: 0.1 version: 2\nepoch ........ 3",
        "import torch\nprint(torch.__version__)  # 2.6.0\n",
    ],
)
def test_other_text_is_not_recognised(text):
    assert read_report(text, "x") == {}


@pytest.mark.parametrize(
    "unit",
    [
        "\n", " ", "\t", "|", "| ", '[{"name":', "a b c: ", "| 0 a  \n", "| 0 a a a On\n", "GPU 0: ", "[pip3] ",
        "a==1\n", " : \n", "> ", "<p ", "\x1b[", " " * 299 + "\n", "a " * 149 + "\n", "a ..... " * 35 + "\n",
        "# Editable (a" * 20 + "\n", "Linux-1-" * 30 + "\n", "GPU 0: A" + " " * 280 + "\n",
        "a @ /a-1-1-1-1" * 20 + "\n",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_long_time(unit):
    started = time.process_time()
    read_report(unit * (LIMIT_CHARACTERS // len(unit)), "x")
    assert time.process_time() - started < 10  # 1.5 s here; a pattern that backtracks takes hours


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA B200", (10, 0)), ("NVIDIA GB200", (10, 0)), ("NVIDIA B300 SXM6 AC", (10, 3)), ("NVIDIA GB10", (12, 1)),
        ("NVIDIA GeForce RTX 5090", (12, 0)), ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", (12, 0)),
        ("NVIDIA H100 80GB HBM3", (9, 0)), ("NVIDIA H100 PCIe", (9, 0)), ("NVIDIA H20", (9, 0)),
        ("NVIDIA H20-3e", (9, 0)),
        ("NVIDIA GH200 480GB", (9, 0)), ("NVIDIA H800", (9, 0)), ("NVIDIA L4", (8, 9)), ("NVIDIA L40S", (8, 9)),
        ("NVIDIA L20", (8, 9)), ("NVIDIA GeForce RTX 4090 D", (8, 9)), ("NVIDIA RTX 6000 Ada Generation", (8, 9)),
        ("NVIDIA RTX 4000 SFF Ada Generation", (8, 9)), ("NVIDIA RTX 4000 Ada Gene...", (8, 9)),
        ("NVIDIA A100-SXM4-80GB", (8, 0)), ("NVIDIA A100-PCIE-40GB", (8, 0)), ("NVIDIA A800-SXM4-80GB", (8, 0)),
        ("NVIDIA A30", (8, 0)), ("NVIDIA A10G", (8, 6)), ("NVIDIA A40", (8, 6)), ("NVIDIA A2", (8, 6)),
        ("NVIDIA RTX A6000", (8, 6)), ("NVIDIA GeForce RTX 3090 Ti", (8, 6)), ("Tesla T4", (7, 5)),
        ("Quadro RTX 6000", (7, 5)), ("GeForce RTX 2080 Ti", (7, 5)), ("NVIDIA TITAN RTX", (7, 5)),
        ("NVIDIA GeForce GTX 1660 Ti", (7, 5)), ("Tesla V100-SXM2-32GB", (7, 0)), ("NVIDIA TITAN V", (7, 0)),
        ("Tesla P100-PCIE-16GB", (6, 0)), ("NVIDIA GeForce GTX 1080 Ti", (6, 1)), ("Tesla P40", (6, 1)),
        ("NVIDIA TITAN X (Pascal)", (6, 1)), ("NVIDIA GeForce GTX TITAN X", (5, 2)), ("NVIDIA TITAN Xp", (6, 1)),
        ("NVIDIA GeForce RTX 2050", (8, 6)), ("Tesla K80", (3, 7)), ("Orin (nvgpu)", None),
        ("AMD Instinct MI300X", None), ("NVIDIA RTX 208...", None),
        ("NVIDIA Graphics Device", None), ("", None),
    ],
)  # fmt: skip
def test_capability_by_name(name, expected):
    assert capability(name) == expected
