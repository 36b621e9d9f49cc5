"""Stands in for a training: prints what TRL prints; ends in an error where `--broken` is given."""

import sys
import time

for step in range(1, 31):
    print(
        {"loss": round(1 / step, 4), "grad_norm": 0.5, "reward": round(0.1 + step / 50, 4), "epoch": step / 30},
        flush=True,
    )
    time.sleep(0.02)
    if "--broken" in sys.argv and step == 20:
        raise KeyError("answer")
