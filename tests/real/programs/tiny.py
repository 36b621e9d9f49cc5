"""A model, a tokenizer and a data set small enough for a CPU, made from nothing."""

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

MODEL = {
    "vocab_size": 258, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "pad_token_id": 0, "eos_token_id": 1,
}  # fmt: skip


def tokenizer(**changes):
    """One token a byte, without a chat template."""
    vocabulary = {"<pad>": 0, "<eos>": 1}
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[letter] = len(vocabulary)
    bytewise = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "padding_side": "left", **changes}
    return PreTrainedTokenizerFast(tokenizer_object=bytewise, **special)


def model():
    """A Qwen2 of two layers with random weights."""
    return Qwen2ForCausalLM(Qwen2Config(**MODEL))


def sums(count=32):
    """Prompts like `3+4=`."""
    return Dataset.from_list([{"prompt": f"{number}+{number + 1}="} for number in range(count)])


def variety(completions, **_):
    """A reward: how many different letters a completion has."""
    return [len(set(each)) / 10 for each in completions]
