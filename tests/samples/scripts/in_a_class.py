import dataclasses

from trl import GRPOConfig, GRPOTrainer


class Settings:
    lr = 3e-6
    batch = 4


class Run:
    def __init__(self):
        base = GRPOConfig(output_dir="o", learning_rate=Settings.lr, per_device_train_batch_size=Settings.batch)
        self.config = dataclasses.replace(base, beta=0.04)
        self.trainer = GRPOTrainer(model="m", args=self.config, reward_funcs=[self.reward])

    def reward(self, completions, **kwargs):
        return [0.0 for _ in completions]

    def start(self):
        self.trainer.train()


Run().start()
