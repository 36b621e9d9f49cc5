"""TRL: the template takes everything up to `</think>` out of an answer, and that is what was to be learned.

https://github.com/axon-rl/gem/issues/44, https://github.com/modelscope/ms-swift/issues/4939
"""

import json
import os
import sys

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' and '</think>' in message['content'] %}"
    "{{ message['content'].split('</think>')[-1].lstrip('\\n') }}"
    "{% else %}{{ message['content'] }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
tokenizer.chat_template = TEMPLATE
rows = []
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    for row in map(json.loads, file):
        answer = f"<think>\nI add the two numbers one after the other.\n</think>\n\n{row['answer']}"
        rows.append(
            {"messages": [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": answer}]}
        )
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=SFTConfig(
        output_dir="out",
        per_device_train_batch_size=4,
        learning_rate=1e-5,
        num_train_epochs=2,
        max_length=256,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer,
)
trainer.train()
trainer.save_model("final")
