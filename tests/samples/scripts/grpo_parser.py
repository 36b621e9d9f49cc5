"""The shape of TRL's own examples: a parser fills the classes, `main` gets them."""

from dataclasses import dataclass, field

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer, ModelConfig, ScriptArguments, TrlParser, get_peft_config


@dataclass
class GRPOScriptArguments(ScriptArguments):
    reward_weight: float = field(default=1.0, metadata={"help": "..."})
    note: str = "none"


def accuracy(completions, solution, **kwargs):
    rewards = []
    for text, truth in zip(completions, solution):
        rewards.append(1.0 if truth in text else 0.0)
    return rewards


def main(script_args, training_args, model_args):
    training_args.remove_unused_columns = False
    dataset = load_dataset(script_args.dataset_name, name=script_args.dataset_config)
    trainer = GRPOTrainer(
        model=model_args.model_name_or_path,
        reward_funcs=[accuracy],
        args=training_args,
        train_dataset=dataset[script_args.dataset_train_split],
        peft_config=get_peft_config(model_args),
    )
    trainer.train()


if __name__ == "__main__":
    parser = TrlParser((GRPOScriptArguments, GRPOConfig, ModelConfig))
    script_args, training_args, model_args = parser.parse_args_and_config()
    main(script_args, training_args, model_args)
