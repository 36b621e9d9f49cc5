"""GRPO of the tiny model under the guard, broken at step 3 in one place: guarded.py DOCTOR MODEL CASE [SEED].

DOCTOR is the folder that holds the carried doctor; "none" runs without a guard. A case may begin with the rank that
alone is broken: `1:activation`.
"""

import contextlib
import json
import os
import sys
from pathlib import Path

CARRIED, MODEL, CASE = sys.argv[1:4]
ONLY, _, CASE = CASE.rpartition(":")
RANK = os.environ.get("RANK", "0")
BROKEN = RANK in ONLY or not ONLY
os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
if CARRIED != "none":
    sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny  # noqa: E402
import torch  # noqa: E402
from peft import LoraConfig  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

BROKEN_AT, SPOILT = 3, "model.layers.1.mlp.down_proj"
GREEDY = {"generation_kwargs": {"do_sample": False}}
#: what differs from a run that works, by case
CONFIG = {
    "weight-greedy": GREEDY,
    "weight-unfiltered": {**GREEDY, "logging_nan_inf_filter": False},
    "explodes": {"learning_rate": 1e30, "max_grad_norm": 0.0, "lr_scheduler_type": "constant"},
    "explodes-greedy": {"learning_rate": 1e30, "lr_scheduler_type": "constant", **GREEDY},
    "unclipped": {"max_grad_norm": 0.0},
    "accumulates": {"gradient_accumulation_steps": 2, "max_steps": 5},
    "long": {"max_steps": 12},
    "slope": {"gradient_checkpointing": False},
    "activation-iterations": {"num_iterations": 2, "gradient_accumulation_steps": 2, "max_steps": 5},
    "activation-checkpointing": {"gradient_checkpointing_kwargs": {"use_reentrant": True}},
    "activation-cispo": {"loss_type": "cispo", "importance_sampling_level": "sequence", "max_grad_norm": 0.0},
    "activation-compiled": {
        "torch_compile": True,
        "torch_compile_backend": "eager",
        "gradient_checkpointing": False,
        "generation_kwargs": {"min_new_tokens": 8},
    },
    "skips-adaptive": {"use_adaptive_entropy": True, "entropy_coef_delta": 0.125, "entropy_target": 100.0},
}
POLICY = {
    "skips": {"NUM006": "skip-step"}, "skips-adaptive": {"NUM006": "skip-step"}, "raises": {"NUM006": "raise"},
    "reward-nan-stops": {"RLX006": "stop"},
}  # fmt: skip
SMALL = {
    "per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 8, "max_steps": 6,
    "logging_steps": 1, "learning_rate": 1e-3, "report_to": [], "use_cpu": True, "bf16": False,
    "save_strategy": "no", "seed": SEED,
}  # fmt: skip


class At(TrainerCallback):
    """Says which step is made, and spoils a weight before it."""

    step = 0
    interrupted = False

    def on_step_begin(self, args, state, control, model=None, **_):
        At.step = state.global_step + 1
        if BROKEN and CASE.startswith("weight") and At.step == BROKEN_AT:
            with torch.no_grad():
                model.lm_head.weight[7, 5] = float("nan")


def reward(completions, **_):
    scores = tiny.variety(completions)
    if BROKEN and At.step == BROKEN_AT and CASE.startswith("reward"):
        scores[1] = float(CASE.split("-")[1])
    if CASE == "again" and At.step == 2 and not At.interrupted:
        At.interrupted = True
        raise KeyboardInterrupt
    return scores


async def reward_in_a_while(completions, **_):
    return reward(completions)


class Trainer(GRPOTrainer):
    """Knows when the forward is that of the loss."""

    in_loss = False

    def compute_loss(self, *args, **kwargs):
        Trainer.in_loss = True
        try:
            loss = super().compute_loss(*args, **kwargs)
            return loss * float("nan") if CASE.endswith("-loss") and At.step == BROKEN_AT else loss
        finally:
            Trainer.in_loss = False


def spoil(module, args, output):
    """One element of the activation, only in the forward that is trained on; or a slope that does not exist."""
    if BROKEN and At.step == BROKEN_AT and Trainer.in_loss:
        if CASE == "slope":
            return output + (output * 0).pow(2).sum(-1, keepdim=True).sqrt()
        output = output.clone()
        output[0, 0, 0] = float("inf" if CASE == "activation-inf" else "nan")
        return output
    return None


def generating_is_no_loss(model):
    """TRL 0.14 generates within `compute_loss`."""
    generate = model.generate

    def generated(*args, **kwargs):
        was, Trainer.in_loss = Trainer.in_loss, False
        try:
            return generate(*args, **kwargs)
        finally:
            Trainer.in_loss = was

    model.generate = generated


def main():
    At.step = 0
    tokenizer = tiny.tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]  # Transformers 4.46 hands all of them to the model
    lora = LoraConfig(r=4, target_modules=["q_proj", "down_proj"]) if CASE.endswith("-lora") else None
    trainer = Trainer(
        peft_config=lora, model=MODEL, reward_funcs=reward_in_a_while if CASE == "reward-nan-async" else reward,
        args=GRPOConfig(output_dir="out", **{**SMALL, **CONFIG.get(CASE, {})}),
        train_dataset=tiny.sums(), processing_class=tokenizer, callbacks=[At()],
    )  # fmt: skip
    generating_is_no_loss(trainer.model)
    if CASE.startswith(("activation", "slope", "unclipped", "accumulates", "skips", "raises")):
        trainer.model.get_submodule(f"{'base_model.model.' if lora else ''}{SPOILT}").register_forward_hook(spoil)
    if CARRIED == "none":
        trainer.train()
    else:
        import doctor

        if CASE == "activation-rank-0-guarded" and RANK != "0":
            trainer.train()
        elif CASE == "callback":
            trainer.add_callback(doctor.DoctorCallback())
            trainer.train()
        elif CASE == "again":  # as in a notebook
            trainer.add_callback(doctor.DoctorCallback())
            with contextlib.suppress(KeyboardInterrupt):
                trainer.train()
            trainer.train()
        else:
            with doctor.guard(trainer, policy=POLICY.get(CASE)):
                trainer.train()
    weights = trainer.accelerator.unwrap_model(trainer.model).state_dict().values()
    result = {
        "step": trainer.state.global_step,
        "finite": all(bool(each.isfinite().all()) for each in weights),
        "losses": [each.get("loss") for each in trainer.state.log_history],
        "sum": float(sum(each.double().abs().sum() for each in weights)),
        "entropy_coef": getattr(trainer, "entropy_coef", None),
        "own": sorted(set(vars(trainer)) & {"compute_loss", "training_step"}),
    }
    Path(f"result-{RANK}.json").write_text(json.dumps(result))
    print("finished")


main()
