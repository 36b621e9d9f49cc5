"""A bare DeepSpeed engine in a script that knows nothing of the doctor; its loss is NaN at step 3."""

import deepspeed
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
config = {
    "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
}  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
for step in range(1, 5):
    loss = engine(torch.randn(4, 8)).pow(2).mean()
    engine.backward(loss * float("nan") if step == 3 else loss)
    engine.step()
print("finished")
