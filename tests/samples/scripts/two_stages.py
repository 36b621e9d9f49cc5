from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

sft = SFTTrainer("m", SFTConfig(output_dir="sft", learning_rate=2e-5))
grpo_config = GRPOConfig(output_dir="grpo", learning_rate=1e-6)
grpo = GRPOTrainer("sft", lambda completions, **kw: [0.0 for _ in completions], grpo_config)
grpo.train()
