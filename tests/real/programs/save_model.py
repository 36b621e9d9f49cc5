"""Save the tiny model with its tokenizer: save_model.py FOLDER."""

import sys

import tiny
import torch

torch.manual_seed(0)
tiny.model().save_pretrained(sys.argv[1])
tiny.tokenizer().save_pretrained(sys.argv[1])
