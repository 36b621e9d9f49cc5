import sys

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer

if "--fast" in sys.argv:
    config = GRPOConfig(output_dir="out", num_generations=4, learning_rate=1e-5, use_vllm=True)
else:
    config = GRPOConfig(output_dir="out", num_generations=8, learning_rate=1e-5, evaluation_strategy="steps")

model = AutoModelForCausalLM.from_pretrained("local/model", torch_dtype="auto")
if "--lora" in sys.argv:
    model = get_peft_model(model, LoraConfig(r=8, modules_to_save=["lm_head"]))
trainer = GRPOTrainer(model=model, args=config, reward_funcs=[])
trainer.train()
