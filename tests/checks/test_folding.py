"""What follows from another finding is folded under it."""

from __future__ import annotations

from pathlib import Path

from doctor.base.fact import Context
from doctor.diagnosis.diagnose import Patient, diagnose
from doctor.diagnosis.report import as_dict
from tests.checks.cases import states

SCRIPT = """
from trl import GRPOConfig, GRPOTrainer

def reward(completions, **kwargs):
    return [1.0] * len(completions)

args = GRPOConfig(output_dir="o", bf16=True, use_vllm=True, vllm_mode="colocate")
GRPOTrainer(model="Qwen/Qwen2.5-7B", reward_funcs=reward, args=args).train()
"""
VERSIONS = {"torch": "2.13.0", "trl": "1.16.0", "transformers": "5.23.0", "accelerate": "1.15.0", "vllm": "0.31.0"}


def test_a_machine_without_a_gpu_is_one_finding(tmp_path: Path) -> None:
    """Neither that bf16 needs one nor that accelerate starts one process is told besides."""
    (tmp_path / "train.py").write_text(SCRIPT)
    packages = {
        "torch_build": {"version": "2.13.0+cu128", "cuda": "12.8"},
        "distributions": {name: {"version": version} for name, version in VERSIONS.items()},
    }
    interpreter = {"executable": "/p/bin/python", "version": "3.11.7", "platform": "linux"}
    facts = {"interpreter": interpreter, "packages": packages, "gpus": {"gpus": []}, "nvidia": {"pci_devices": 0}}
    command = ("accelerate", "launch", "--num_processes", "4", "train.py")
    context = Context(command, tmp_path, {"HOME": str(tmp_path), "PATH": ""})
    report = as_dict(diagnose(context, [Patient(states(facts, {}), "here")])[0])
    assert {each["id"] for each in report["findings"]} & {"LCH008", "TRF007", "ACC007"} == {"LCH008"}
    assert {"TRF007", "ACC007"} <= {each["id"] for each in report["skipped"] if each["reason"] == "LCH008 was found"}
