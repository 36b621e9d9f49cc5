"""Bare DeepSpeed engines under `doctor.watch`, one after another: deepspeed_engine.py STAGE:PRECISION:BAD[:STEPS]...

BAD is `never`, or KIND@STEP[/RANK]: `loss-nan@3` (a NaN loss), `gradient-nan@3` (a finite loss, NaN on the way back),
`overflow@3` (every loss from step 3 on is too large for fp16), `loss-nan@3/1` (on rank 1 alone), `weight-nan@3`,
`raises@3/1` (a NaN loss on all ranks, and the forward that is run again fails on rank 1 between two layers).
Prints one line of JSON for each case and rank.
"""

import json
import os
import sys

import deepspeed
import torch
from deepspeed.accelerator import get_accelerator

import doctor

# torch computes in fp16 on every CPU; DeepSpeed refuses one that has no instructions for it before it tries
type(get_accelerator()).is_fp16_supported = lambda self: True
RANK = int(os.environ["RANK"])
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
PRECISIONS = {
    "fp16": {"fp16": {"enabled": True, "initial_scale_power": 6, "loss_scale_window": 2, "hysteresis": 1}},
    "bf16": {"bf16": {"enabled": True}},
    "fp32": {},
}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 4)
        self.works_once = False

    def forward(self, x):
        x = torch.nn.functional.gelu(self.first(x))
        if self.works_once and not torch.is_grad_enabled():
            raise RuntimeError("it works once only")
        return self.second(x)


class Case:
    def __init__(self, text):
        stage, self.precision, bad, *steps = text.split(":")
        self.text, self.stage, self.steps = text, int(stage), int(steps[0]) if steps else 8
        self.kind, _, place = bad.partition("@")
        at, _, rank = place.partition("/")
        self.at = int(at) if at else 1 << 30
        self.here = not rank or int(rank) == RANK

    def loss(self, engine, step):
        output = engine(torch.randn(4, 16, dtype=DTYPES[self.precision]))
        loss = (output - 1).float().pow(2).mean()
        if self.kind == "raises" and step == self.at:
            engine.module.works_once = self.here
            return loss * float("nan")
        if step < self.at or not self.here:
            return loss
        if self.kind == "gradient-nan" and step == self.at:
            return loss + (output.float() * 0).abs().sqrt().sum()
        if self.kind == "loss-nan" and step == self.at:
            return loss * float("nan")
        return loss * 1e12 if self.kind == "overflow" else loss

    def engine(self):
        torch.manual_seed(0)
        model = Model()
        config = {
            "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0,
            "zero_optimization": {"stage": self.stage}, "zero_allow_untested_optimizer": True,
            "zero_force_ds_cpu_optimizer": False, **PRECISIONS[self.precision],
        }  # fmt: skip
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]

    def spoil(self, weight):
        """Its last value, which the last rank holds under ZeRO 3; all ranks gather it."""
        with deepspeed.zero.GatheredParameters([weight], modifier_rank=0, enabled=self.stage == 3), torch.no_grad():
            weight[-1] = float("nan")

    def run(self):
        engine = self.engine()
        watch = doctor.watch(engine)
        torch.manual_seed(RANK)
        step, stopped, scales = 0, None, []
        try:
            for step in range(1, self.steps + 1):
                if self.kind == "weight-nan" and step == self.at:
                    self.spoil(engine.module.second.bias)
                engine.backward(self.loss(engine, step))
                engine.step()
                scales.append(getattr(engine.optimizer, "loss_scale", None))
        except Exception as error:
            stopped = f"{type(error).__name__}: {error}"
        shards = [getattr(each, "ds_tensor", each) for each in engine.module.parameters()]
        watch.close()
        return {
            "case": self.text, "rank": RANK, "step": step, "stopped": stopped, "scales": scales,
            "skipped": engine.skipped_steps, "finite": all(bool(each.isfinite().all()) for each in shards),
            "missing": watch.missing, "steps_seen": [step for step, _ in watch.guard.recent],
            "found": [
                {
                    "id": each.problem.id, "step": each.where.step, "severity": each.severity.value,
                    "module": each.where.module, "rank": each.where.rank, "headline": each.words("en").headline,
                }
                for each in watch.guard.findings
            ],
        }  # fmt: skip


for argument in sys.argv[1:]:
    sys.stdout.write(json.dumps(Case(argument).run()) + "\n")
    sys.stdout.flush()
