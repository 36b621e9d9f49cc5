from unsloth import FastLanguageModel
from trl import GRPOConfig, GRPOTrainer

max_seq_length = 1024
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Qwen3-4B-Base", max_seq_length=max_seq_length, load_in_4bit=False, fast_inference=True
)
model = FastLanguageModel.get_peft_model(model, r=32, lora_alpha=64, target_modules=["q_proj"])
training_args = GRPOConfig(num_generations=4, max_completion_length=max_seq_length - 256, output_dir="outputs")
trainer = GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=[], args=training_args)
trainer.train()
