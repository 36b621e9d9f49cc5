"""Prints how many bytes the old way to log-probabilities holds, for one element of the logits.

TRL up to 1.14: the model's logits, lifted to 32 bit by accelerate or not, scaled, then TRL's own
`selective_log_softmax`, and backward. Out: a line of JSON {precision: bytes}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from trl.trainer.utils import selective_log_softmax

sys.path.insert(0, str(Path(__file__).parent))
from live import Live

BATCH, TOKENS, VOCABULARY, HIDDEN = 4, 128, 8192, 32


def bytes_an_element(dtype: torch.dtype, *, lifted: bool) -> float:
    torch.manual_seed(0)
    hidden = torch.randn(BATCH, TOKENS + 1, HIDDEN, dtype=dtype, requires_grad=True)
    weight = torch.randn(VOCABULARY, HIDDEN, dtype=dtype, requires_grad=True)
    tokens = torch.randint(0, VOCABULARY, (BATCH, TOKENS))
    live = Live()
    with live:
        logits = hidden @ weight.t()
        logits = logits.float() if lifted else logits
        logits = logits[:, :-1][:, -TOKENS:]
        logits.div_(0.9)
        chosen = selective_log_softmax(logits, tokens)
        del logits
        chosen.sum().backward()
    return max(live.peaks.values()) / (BATCH * TOKENS * VOCABULARY)


print(
    json.dumps(
        {
            "float32": bytes_an_element(torch.float32, lifted=False),
            "lifted": bytes_an_element(torch.bfloat16, lifted=True),
            "bfloat16": bytes_an_element(torch.bfloat16, lifted=False),
        }
    )
)
