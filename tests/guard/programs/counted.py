"""How often a step reads a number from the device, and what failing hooks cost: counted.py DOCTOR MODEL CASE.

Prints for each optimizer step the calls of `aten::_local_scalar_dense`. CASE `counts` counts, `broken-callback` makes
every event of the callback raise, `broken-parts` whatever those call, `broken-writes` lets every write of it fail;
DOCTOR "none" runs without a guard.
"""

import itertools
import json
import os
import sys
from pathlib import Path

CARRIED, MODEL, CASE = sys.argv[1:4]
os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())
if CARRIED != "none":
    sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny  # noqa: E402
import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402


class Reads(TorchDispatchMode):
    """Counts numbers that Python reads from tensors."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


class Counter(TrainerCallback):
    """Notes the count from the beginning of a step to the beginning of the next one."""

    def __init__(self, reads):
        self.reads, self.steps = reads, []

    def on_step_begin(self, *_, **__):
        self.steps.append(self.reads.count)

    on_train_end = on_step_begin


def break_hooks():
    """Make every hook of the guard raise."""
    from doctor.monitors.guard import guard, stuck, trainer_hooks, transformers
    from doctor.monitors.guard.shield import shielded

    @shielded
    def fail(self, *_, **__):
        raise RuntimeError("a bug of the guard")

    kept = {"on_train_begin", "_attach", "_look_on"}  # without those no other hook is ever called
    parts = (guard.Guard, trainer_hooks.TrainerHooks, stuck.StuckWatch)
    for owner in parts if CASE == "broken-parts" else (transformers.DoctorCallback,):
        for name, value in list(vars(owner).items()):
            if hasattr(value, "__wrapped__") and name not in kept:
                bug = shielded(named(fail.__wrapped__, f"{owner.__name__}.{name}"))
                setattr(owner, name, bug)


def named(function, name):
    """The same function under another name, for hooks are switched off by theirs."""
    copy = type(function)(function.__code__, function.__globals__, closure=function.__closure__)
    copy.__qualname__ = name
    return copy


def break_writes():
    """Let every write of the guard fail, as on a full disk."""
    from doctor.run import folder

    class Full:
        def __getattr__(self, name):
            if name in {"write", "open"}:
                raise OSError(28, "No space left on device")
            return getattr(os, name)

    folder.os = Full()


def main():
    reads = Reads()
    counter = Counter(reads)
    config = GRPOConfig(
        output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=5,
        logging_steps=5, learning_rate=1e-3, report_to=[], use_cpu=True, bf16=False, save_strategy="no", seed=1,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=MODEL, reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(),
        processing_class=tiny.tokenizer(), callbacks=[counter],
    )  # fmt: skip
    if CARRIED != "none":
        from doctor import DoctorCallback

        if CASE in {"broken-callback", "broken-parts"}:
            break_hooks()
        if CASE == "broken-writes":
            break_writes()
        trainer.add_callback(DoctorCallback())
    if CASE == "counts":
        with reads:
            trainer.train()
    else:
        trainer.train()
    weights = trainer.model.state_dict().values()
    result = {
        "reads": [after - before for before, after in itertools.pairwise(counter.steps)],
        "sum": float(sum(each.double().abs().sum() for each in weights)),
        "losses": [each.get("loss") for each in trainer.state.log_history],
    }
    Path("result-0.json").write_text(json.dumps(result))


main()
