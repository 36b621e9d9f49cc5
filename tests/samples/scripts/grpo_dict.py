from trl import GRPOConfig, GRPOTrainer
import argparse, random

BASE = {"output_dir": "out", "learning_rate": 1e-6, "bf16": True, "num_generations": 8, "seed": 1}
BASE["seed"] = 42
BASE.update(beta=0.0, logging_steps=5)
vllm = dict(use_vllm=True, vllm_mode="colocate")
if random.random() > 0.5:
    vllm["vllm_mode"] = "server"
    vllm["vllm_server_port"] = 9000

known = GRPOConfig(**BASE, max_steps=10)
args = GRPOConfig(**{**BASE, "learning_rate": 2e-6}, **vllm)

if __name__ == "__main__":
    trainer = GRPOTrainer(model="m", args=args, reward_funcs="Skywork/reward-model", train_dataset=None)
    trainer.train()
