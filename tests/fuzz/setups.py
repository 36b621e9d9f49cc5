"""Damaged configurations, scripts, facts and reports, and the command that reads each."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from damage import as_json, damaged
from logs import LOG
from runs import SMI

DS = {
    "train_batch_size": 8,
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
    "fp16": {"enabled": True},
}
YAML = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_processes: 8
deepspeed_config:
  zero_stage: 3
"""
SCRIPT = """from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig(output_dir='o', num_generations=8, use_vllm=True)
GRPOTrainer(model='m', args=args, reward_funcs=[lambda completions, **k: 1]).train()
"""
MODEL = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 896, "num_hidden_layers": 24,
         "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
         "tie_word_embeddings": True, "torch_dtype": "bfloat16", "max_position_embeddings": 32768}  # fmt: skip
COMMANDS = [
    "accelerate launch --num_processes 8 --config_file a.yaml train.py --bf16 True",
    "torchrun --nproc_per_node 8 train.py",
    "deepspeed --hostfile h train.py --deepspeed ds.json", "python -m swift.cli._megatron.main rlhf --model x",
    "trl vllm-serve --model m --tensor_parallel_size 2", "vllm serve m -tp 8",
    "python -m verl.trainer.main_ppo a.b=1 +c=[1,2]",
    "env A=1 bash -c 'python train.py'", "srun -N 2 python train.py", "trinity run --config t.yaml",
    "python train.py --x",
]  # fmt: skip


TRL = {"name": "trl", "version": "0.14.0"}
PYTHON = {"executable": "/p", "version": "3.11.2", "path": ["/a"]}
FACTS = {
    "schema": "doctor-facts/1",
    "host": "h",
    "captured_ns": 10**18,
    "doctor_version": "0",
    "clock": {"offset_s": 0.1},
    "facts": {
        "interpreter": {"status": "ok", "value": PYTHON, "source": "probe"},
        "packages": {"status": "ok", "value": {"distributions": {"trl": TRL}, "modules": {}}},
        "gpus": {"status": "unavailable", "reason": "none"},
    },
}


def of_facts(r: random.Random, folder: Path) -> list[str]:
    for each in range(r.choice([1, 3])):
        (folder / f"n{each}.json").write_bytes(as_json(r, FACTS))
    return ["check", "--from", str(folder / "n0.json") if r.random() < 0.5 else str(folder)]


def of_pasted(r: random.Random, folder: Path) -> list[str]:
    texts = [
        "Package Version\n------- -------\ntrl 0.14.0\n",
        "PyTorch version: 2.5.1+cu121\nIs CUDA available: True\n",
        SMI,
    ]
    (folder / "e.txt").write_bytes(damaged(r, r.choice(texts).encode()))
    return ["check", "--from", str(folder / "e.txt")]


def of_command(r: random.Random, folder: Path) -> list[str]:
    (folder / "ds.json").write_bytes(as_json(r, DS))
    (folder / "a.yaml").write_bytes(damaged(r, YAML.encode()))
    (folder / "train.py").write_bytes(damaged(r, SCRIPT.encode()))
    words = r.choice(COMMANDS).split()
    if r.random() < 0.5:
        words.insert(
            r.randrange(len(words) + 1),
            r.choice(["--", "-m", "=", "--deepspeed", "\x1b[31m", "x=", "--num_processes=-1", "9" * 999, "'"]),
        )
    if r.random() < 0.2:
        del words[r.randrange(len(words))]
    (folder / "facts.json").write_text(json.dumps(FACTS))
    return ["check", "--from", str(folder / "facts.json"), "--", *words]


def of_report(r: random.Random, folder: Path) -> list[str]:
    state = Path(os.environ["XDG_STATE_HOME"]) / "grpo-doctor"
    shutil.rmtree(state, ignore_errors=True)
    from doctor.base.state import state_folder

    kept = state_folder(folder) / "check.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(
        as_json(
            r,
            {
                "schema": "doctor/1",
                "findings": [{"id": "TRL2205/unknown", "where": {}, "remedy": {"fix": "TRL2205/unknown"}}],
            },
        )
    )
    return ["fix"]


def of_script(r: random.Random, folder: Path) -> list[str]:
    """A command inside of a script of another language, with files that it names."""
    job = {
        "job.sh": "#!/bin/bash\n#SBATCH -N 2\nexport NCCL_DEBUG=INFO\nargs=(--bf16 True)\n"
                  'torchrun --nproc_per_node 8 train.py "${args[@]}" \\\n  --deepspeed ds.json <<EOF\nx\nEOF\n',
        "Makefile": "N ?= 8\ntrain: data\n\taccelerate launch --num_processes $(N) train.py --config a.yaml\n",
        "a.toml": '[model]\nname = "m"\n[training]\nmax_steps = 3\n',
        "a.yaml": YAML + "model_name_or_path: m\nnum_generations: 8\nhydra:\n  run: {dir: ${now:%Y}}\n",
    }  # fmt: skip
    for name, text in job.items():
        (folder / name).write_bytes(damaged(r, text.encode()))
    (folder / "train.py").write_bytes(damaged(r, SCRIPT.encode()))
    (folder / "ds.json").write_bytes(as_json(r, DS))
    (folder / "facts.json").write_bytes(as_json(r, FACTS) if r.random() < 0.3 else json.dumps(FACTS).encode())
    command = r.choice([
        "bash job.sh", "sbatch job.sh", "make train", "make -f Makefile N=2 train", "uv run prime-rl @ a.toml",
        "trl grpo --config a.yaml", "accelerate launch --config_file a.yaml train.py",
        "docker run -e A=1 i bash job.sh",
        "llamafactory-cli train a.yaml", "python -m verl.trainer.main_ppo --config-path . --config-name a",
    ])  # fmt: skip
    return ["check", "--from", str(folder / "facts.json"), "--", *command.split()]


def of_plan(r: random.Random, folder: Path) -> list[str]:
    (folder / "config.json").write_bytes(as_json(r, MODEL))
    (folder / "grpo.yaml").write_bytes(damaged(r, b"model_name_or_path: .\nnum_generations: 8\nbf16: true\n"))
    (folder / "train.py").write_bytes(damaged(r, SCRIPT.encode()))
    gpus = r.choice(["8xH100", "1x80GiB", "0xH20", "8x", "9999999xA100", "8xx", "-1x80GiB", "1x1e9GiB", "\ud800"])
    more = r.choice([[], ["--lora", "8"], ["--completion-length", "1000000"], ["--nodes", "99999"], ["--bits", "4"]])
    what = r.choice([[str(folder)], ["7B"], ["1e400B"], ["x"]])
    if r.random() < 0.4:
        more += ["--", "accelerate", "launch", "train.py", "--config", "grpo.yaml"]
        what = []
    return ["plan", *what, "--gpus", gpus, *more]


def of_two_reports(r: random.Random, folder: Path) -> list[str]:
    for name in ("a.json", "b.json"):
        (folder / name).write_bytes(as_json(r, FACTS))
    (folder / "c.txt").write_bytes(damaged(r, b"Package Version\n------- -------\ntrl 0.14.0\n"))
    (folder / "a.log").write_bytes(damaged(r, LOG.encode()))
    one, other = r.choices(["a.json", "b.json", "c.txt", "a.log"], k=2)
    return r.choice([["diff", one, other], ["postmortem", "a.log", "--context", one, "--context", other]])


def of_journal(r: random.Random, folder: Path) -> list[str]:
    from doctor.base.state import state_folder

    (folder / "a.yaml").write_text("bf16: true\n")
    digest = hashlib.sha256(b"bf16: true\n").hexdigest()
    step = {"kind": "file", "state": r.choice(["begun", "done"]), "path": str(folder / "a.yaml"), "mode": 0o644,
            "temporary": str(folder / "a.yaml.tmp"), "in_place": False, "before": digest, "after": digest,
            "backup": "0.before", "target": "0.after"}  # fmt: skip
    data = {"schema": "doctor-journal/1", "state": r.choice(["begun", "done"]), "started_ns": 1, "cwd": str(folder),
            "plan": {"problem": "TRL2205/removed", "steps": [], "safety": "safe"}, "group": None,
            "steps": [step]}  # fmt: skip
    shutil.rmtree(state_folder(folder), ignore_errors=True)
    kept = state_folder(folder) / "journal" / "1-TRL2205.removed"
    kept.mkdir(parents=True)
    (kept / "journal.json").write_bytes(as_json(r, data))
    (kept / "0.before").write_bytes(damaged(r, b"bf16: true\n"))
    return ["fix", *r.choice([["--all"], ["TRL2205/removed"]]), *r.choice([["--undo"], ["--apply"]])]


MAKERS: list[Callable[[random.Random, Path], list[str]]] = [
    of_facts, of_pasted, of_command, of_report, of_script, of_plan, of_two_reports, of_journal,
]  # fmt: skip
