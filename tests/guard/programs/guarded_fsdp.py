"""SFT under Accelerate's FSDP and the guard: guarded_fsdp.py DOCTOR MODEL VERSION CASE, in two processes.

VERSION is 1 (FullyShardedDataParallel) or 2 (fully_shard). CASE `nan`: a NaN activation at step 3 on rank 1 alone;
`raises`: the same, and the forward that is run again fails there between two layers; `never`.
"""

import json
import os
import sys
from pathlib import Path

CARRIED, MODEL, VERSION, CASE = sys.argv[1:5]
os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())
os.environ["ACCELERATE_USE_FSDP"] = "true"
sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny  # noqa: E402
import torch  # noqa: E402
from accelerate.state import PartialState  # noqa: E402
from accelerate.utils import DistributedType  # noqa: E402
from datasets import Dataset  # noqa: E402
from transformers import Trainer, TrainingArguments  # noqa: E402

BROKEN_AT = 3
RANK = int(os.environ["RANK"])
initialise = PartialState.__init__


def with_a_device(self, *args, **kwargs):
    """Accelerate asks for an accelerator before it makes FSDP, which torch itself runs on a CPU too."""
    initialise(self, *args, **kwargs)
    if self.distributed_type == DistributedType.MULTI_CPU:
        self.distributed_type, self.device = DistributedType.MULTI_XPU, torch.device("cpu")


PartialState.__init__ = with_a_device


class Spoilt(Trainer):
    in_loss = False

    def compute_loss(self, *args, **kwargs):
        Spoilt.in_loss = True
        try:
            return super().compute_loss(*args, **kwargs)
        finally:
            Spoilt.in_loss = False

    def now(self):
        return Spoilt.in_loss and RANK == 1 and CASE != "never" and self.state.global_step == BROKEN_AT - 1


def main():
    from transformers import AutoModelForCausalLM

    from doctor import DoctorCallback

    tokenizer, callback = tiny.tokenizer(), DoctorCallback()
    texts = [f"{each}+1={each + 1}" for each in range(64)]
    rows = [tokenizer(each, padding="max_length", max_length=12)["input_ids"] for each in texts]
    shards = {
        "version": int(VERSION), "transformer_layer_cls_to_wrap": ["Qwen2DecoderLayer"],
        "cpu_ram_efficient_loading": False, "sync_module_states": False,
        "state_dict_type": "SHARDED_STATE_DICT",  # torch 2.13 dies of a whole one of version 1 that is moved to the CPU
    }  # fmt: skip
    config = TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, max_steps=5, logging_steps=1, learning_rate=1e-3, report_to=[],
        use_cpu=True, bf16=False, save_strategy="no", seed=1, disable_tqdm=True, fsdp=True, fsdp_config=shards,
    )  # fmt: skip
    trainer = Spoilt(
        model=AutoModelForCausalLM.from_pretrained(MODEL), args=config, callbacks=[callback],
        train_dataset=Dataset.from_list([{"input_ids": each, "labels": each} for each in rows]),
    )  # fmt: skip

    def spoil(_module, _args, output):
        return output + torch.tensor([float("nan")] + [0.0] * (output.shape[-1] - 1)) if trainer.now() else None

    def fail(_module, _args, _output):
        if CASE == "raises" and trainer.now() and not torch.is_grad_enabled():
            raise RuntimeError("it works once only")

    first, second = trainer.model.model.layers[:2]
    first.mlp.down_proj.register_forward_hook(fail)
    second.mlp.down_proj.register_forward_hook(spoil)
    trainer.train()
    weights = [each.to_local() if hasattr(each, "to_local") else each for each in trainer.model_wrapped.parameters()]
    wrapped = {type(each).__name__ for each in trainer.model_wrapped.modules()}
    result = {
        "step": trainer.state.global_step, "finite": all(bool(each.isfinite().all()) for each in weights),
        "sharded": any(each.startswith(("FSDP", "FullySharded")) for each in wrapped),
        "found": [
            [each.problem.id, each.where.step, each.where.rank, each.where.module] for each in callback.guard.findings
        ],
    }  # fmt: skip
    Path(f"result-{RANK}.json").write_text(json.dumps(result))


main()
