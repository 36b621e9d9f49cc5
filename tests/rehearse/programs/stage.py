"""What the scripts of this folder train on: a large model's configuration without weights, a tokenizer, files of data.

stage.py FOLDER makes `base` (a 7B model's shape, no weights on disk), `small` (a model with its weights), and
`sums.jsonl`, `chat.jsonl`, and folders of data in `public`.
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: of a model that is small as it is
NARROW = {
    "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2,
}  # fmt: skip
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tokenizer():
    """One token a byte, with a chat template."""
    vocabulary = {each: number for number, each in enumerate(SPECIAL)}
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[letter] = len(vocabulary)
    bytewise = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytewise.add_special_tokens(SPECIAL)
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )
    made.chat_template = TEMPLATE
    return made


def shape(**changes):
    """The configuration of a 7B model, but for its vocabulary."""
    wanted = {
        "vocab_size": 259, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 32768, "pad_token_id": 0,
        "eos_token_id": 2, "bos_token_id": 0, "architectures": ["Qwen2ForCausalLM"], "dtype": "float32", **changes,
    }  # fmt: skip
    return Qwen2Config(**wanted)


def rows(count=48):
    """Sums, each with its answer."""
    for number in range(count):
        yield {"question": f"What is {number} + {number + 7}?", "answer": str(2 * number + 7)}


def public(folder):
    """Datasets in the forms of the hub's that TRL's own scripts are documented with, a folder each."""
    found = {"sft": [], "pairs": [], "prompts": [], "kto": []}
    for each in rows():
        asked = [{"role": "user", "content": each["question"]}]
        right, wrong = ([{"role": "assistant", "content": text}] for text in (f"It is {each['answer']}.", "No idea."))
        found["sft"].append({"messages": asked + right})
        found["pairs"].append({"chosen": asked + right, "rejected": asked + wrong})
        found["prompts"].append({"prompt": asked, "solution": each["answer"]})
        found["kto"] += [{"prompt": asked, "completion": one, "label": one is right} for one in (right, wrong)]
    for name, content in found.items():
        (folder / name).mkdir(parents=True)
        for split in ("train", "test"):
            lines = "".join(f"{json.dumps(each)}\n" for each in content)
            (folder / name / f"{split}.jsonl").write_text(lines)


def main(folder):
    public(folder / "public")
    base, small = folder / "base", folder / "small"
    shape().save_pretrained(base)
    tokenizer().save_pretrained(base)
    Qwen2ForCausalLM(shape(**NARROW)).save_pretrained(small)
    tokenizer().save_pretrained(small)
    for name, width in (("same", 64), ("other", 32)):  # what a training left: of this model, and of a narrower one
        left = folder / name / "checkpoint-40"
        narrow = shape(**{**NARROW, "hidden_size": width})
        Qwen2ForCausalLM(narrow).save_pretrained(left)
        (left / "trainer_state.json").write_text('{"global_step": 40}')
    with (folder / "sums.jsonl").open("w") as file:
        for each in rows():
            file.write(json.dumps(each) + "\n")
    system = "Think inside <think></think> and give the result inside <answer></answer>."
    with (folder / "chat.jsonl").open("w") as file:
        for each in rows():
            messages = [{"role": "system", "content": system}, {"role": "user", "content": each["question"]}]
            file.write(json.dumps({"prompt": messages, "solution": each["answer"]}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
