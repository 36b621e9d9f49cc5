"""A training script over stand-ins of the libraries, for interpreters that hold nothing: stand_in.py CASE.

`transformers.trainer` lies beside it; it hands its default callbacks the events that the real one does.
"""

import sys

from transformers import trainer

CASE = sys.argv[1] if len(sys.argv) > 1 else ""

if CASE == "before":
    raise RuntimeError("the data set is gone")
made = trainer.Trainer()
made.train(float("nan") if CASE == "nan" else 1.0)
if CASE == "raises":
    raise RuntimeError("the reward server answered 502")
print("finished")
