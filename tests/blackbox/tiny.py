"""A tiny model, tokenizer and data set for the programs beside; laid down with each of them. No network."""

import os

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", WANDB_MODE="disabled")


def tokenizer():
    """Bytes as tokens: 258 of them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {"<pad>": 0, "<eos>": 1}
    for each in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab[each] = len(vocab)
    made = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", padding_side="left")  # noqa: S106


def model(vocab_size=258, **more):
    """A Qwen2 of two layers with hidden states of 32."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    torch.set_num_threads(1)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=vocab_size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, eos_token_id=1, bos_token_id=None,
            **more,
        )
    )  # fmt: skip


def rows(*columns, count=8):
    """A data set with some columns of short text."""
    from datasets import Dataset

    return Dataset.from_list([{each: f"{each[0]}{number}+1=" for each in columns} for number in range(count)])


COMMON = dict(  # noqa: C408 - names of settings
    output_dir="out", use_cpu=True, bf16=False, report_to=[], max_steps=2, logging_steps=1, save_strategy="no",
    disable_tqdm=True, per_device_train_batch_size=2,
)  # fmt: skip


def grpo(reward_funcs, data=None, made=None, words=None, trainer=None, **settings):
    """Train GRPO with TRL's own trainer, or one derived from it."""
    from trl import GRPOConfig, GRPOTrainer

    values = {**COMMON, "max_completion_length": 6, "num_generations": 2, **settings}
    (trainer or GRPOTrainer)(
        model=made or model(), reward_funcs=reward_funcs, args=GRPOConfig(**values),
        train_dataset=data or rows("prompt"), processing_class=words or tokenizer(),
    ).train()  # fmt: skip


def sft(data=None, made=None, words=None, trainer=None, also=None, **settings):
    """Train SFT with TRL's own trainer, or one derived from it."""
    from trl import SFTConfig, SFTTrainer

    (trainer or SFTTrainer)(
        model=made or model(), args=SFTConfig(**{**COMMON, "max_length": 24, **settings}),
        train_dataset=data or rows("text"), processing_class=words or tokenizer(), **(also or {}),
    ).train()  # fmt: skip


def dpo(data=None, made=None, words=None, trainer=None, also=None, **settings):
    """Train DPO with TRL's own trainer, or one derived from it."""
    from trl import DPOConfig, DPOTrainer

    (trainer or DPOTrainer)(
        model=made or model(), args=DPOConfig(**{**COMMON, "max_length": 24, **settings}),
        train_dataset=data or rows("prompt", "chosen", "rejected"), processing_class=words or tokenizer(),
        **{"ref_model": model(), **(also or {})},
    ).train()  # fmt: skip
