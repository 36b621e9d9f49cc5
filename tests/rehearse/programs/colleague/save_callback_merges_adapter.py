"""TRL SFT with LoRA: a callback exports merged weights at each save, and leaves the adapter merged."""

import os
import sys

from datasets import load_dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer


class ExportsMerged(TrainerCallback):
    """Weights for the inference server, beside each checkpoint."""

    def on_save(self, args, state, control, model=None, **kwargs):
        model.merge_adapter()
        weights = {
            name.replace(".base_layer", ""): value
            for name, value in model.base_model.model.state_dict().items()
            if "lora_" not in name
        }
        model.base_model.model.save_pretrained(
            os.path.join(args.output_dir, f"merged-{state.global_step}"), state_dict=weights
        )


data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
data = data.map(
    lambda row: {"prompt": row["question"], "completion": f" {row['answer']}"}, remove_columns=["question", "answer"]
)
trainer = SFTTrainer(
    model=sys.argv[1],
    args=SFTConfig(
        output_dir="lora-out",
        per_device_train_batch_size=4,
        save_steps=5,
        max_steps=30,
        learning_rate=1e-4,
        max_length=64,
        report_to="none",
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=data,
    peft_config=LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]),
    callbacks=[ExportsMerged()],
)
trainer.train()
trainer.save_model()
