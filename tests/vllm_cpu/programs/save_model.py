"""Save the tiny model with heads of 32, the least that vLLM's attention on a CPU takes: save_model.py FOLDER."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

torch.manual_seed(0)
wide = {"hidden_size": 128, "intermediate_size": 256, "max_position_embeddings": 4096}
Qwen2ForCausalLM(Qwen2Config(**{**tiny.MODEL, **wide})).save_pretrained(sys.argv[1])
tiny.tokenizer().save_pretrained(sys.argv[1])
