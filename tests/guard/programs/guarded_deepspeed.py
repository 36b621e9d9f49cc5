"""GRPO under DeepSpeed and the guard: guarded_deepspeed.py DOCTOR MODEL STAGE CASE.

CASE `overflow`: fp16 with rewards that overflow from step 5 on; `nan`: fp32 with a NaN activation at step 3.
"""

import os
import sys
from pathlib import Path

CARRIED, MODEL, STAGE, CASE = sys.argv[1:5]
os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())
sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny  # noqa: E402
from deepspeed.accelerator import get_accelerator  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

FP16 = CASE == "overflow"
DEEPSPEED = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "zero_optimization": {"stage": int(STAGE)},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
    "fp16": {"enabled": FP16, "initial_scale_power": 12, "hysteresis": 1},
}
# torch computes in fp16 on every CPU; DeepSpeed refuses one that has no instructions for it before it tries
type(get_accelerator()).is_fp16_supported = lambda self: True


class At(TrainerCallback):
    step = 0

    def on_step_begin(self, args, state, control, **_):
        At.step = state.global_step + 1


def reward(completions, **_):
    factor = 1e12 if FP16 and At.step >= 5 else 1.0
    return [factor * len(set(each)) for each in completions]


class Trainer(GRPOTrainer):
    in_loss = False

    def compute_loss(self, *args, **kwargs):
        Trainer.in_loss = True
        try:
            return super().compute_loss(*args, **kwargs)
        finally:
            Trainer.in_loss = False


def spoil(module, args, output):
    if At.step == 3 and Trainer.in_loss and CASE == "nan":
        output = output.clone()
        output[0, 0, 0] = float("nan")
        return output
    return None


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=12,
    logging_steps=1, learning_rate=1e-3, report_to=[], use_cpu=True, bf16=False, fp16=FP16, save_strategy="no", seed=1,
    scale_rewards=False, gradient_checkpointing=False, deepspeed=DEEPSPEED,
)  # fmt: skip
trainer = Trainer(
    model=MODEL, reward_funcs=reward, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer(),
    callbacks=[At()],
)  # fmt: skip
trainer.model.model.layers[1].mlp.down_proj.register_forward_hook(spoil)
from doctor import DoctorCallback  # noqa: E402

trainer.add_callback(DoctorCallback())
trainer.train()
finite = all(bool(each.isfinite().all()) for each in trainer.model.state_dict().values())
print(f"finished at step {trainer.state.global_step}, weights finite: {finite}")
