"""Scripts of unusual shape, whole or with one mistake, written before any of them was run: unusual.py BASE NAME."""

import os
import sys

import torch
from datasets import Dataset, IterableDataset, load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

BASE, NAME = sys.argv[1], sys.argv[2]
HERE = os.environ.get("STAGE", ".")
COMMON = {
    "output_dir": "out", "per_device_train_batch_size": 4, "save_steps": 50, "logging_steps": 5, "report_to": [],
    "use_cpu": True, "learning_rate": 1e-5, "max_steps": 60,
}  # fmt: skip


def sums():
    return load_dataset("json", data_files=os.path.join(HERE, "sums.jsonl"), split="train")


def loaded():
    return AutoModelForCausalLM.from_pretrained(BASE), AutoTokenizer.from_pretrained(BASE)


def texts():
    return [f"{row['question']} {row['answer']}" for row in sums()]


def collator(tokenizer):
    def collate(rows):
        batch = tokenizer([each["text"] for each in rows], padding=True, return_tensors="pt")
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return batch

    return collate


def batches(tokenizer, every=4):
    found, lines = collator(tokenizer), [{"text": each} for each in texts()]
    return [found(lines[at : at + every]) for at in range(0, len(lines), every)]


def grpo(rewards, data, model=None, tokenizer=None, **settings):
    from trl import GRPOConfig, GRPOTrainer

    made, own = loaded()
    config = GRPOConfig(**{**COMMON, **settings}, bf16=False, num_generations=4, max_completion_length=64)
    GRPOTrainer(
        model=model or made, args=config, train_dataset=data, processing_class=tokenizer or own, reward_funcs=rewards
    ).train()


def short(completions, **_):
    return [1.0 / (1 + len(each)) for each in completions]


def prompts():
    return sums().rename_column("question", "prompt")


# right ---------------------------------------------------------------------------------------------------------------


def own_loop():
    """A loop that is watched, with a schedule, clipping, accumulation and checkpoints of its own."""
    import doctor

    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    handle = doctor.watch(model, optimizer)
    with handle:
        for step, batch in enumerate(batches(tokenizer) * 20):
            loss = model(**batch).loss / 2
            loss.backward()
            handle.observe(loss=float(loss))
            if step % 2:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    torch.save(model.state_dict(), "final.pt")


def accelerate_two():
    """Accelerate in two processes, with accumulation, metrics that are gathered, and a save of what was unwrapped."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = torch.utils.data.DataLoader([{"text": each} for each in texts()], batch_size=4,
                                         collate_fn=collator(tokenizer))  # fmt: skip
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(5):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            accelerator.print(float(accelerator.gather(loss.detach()).mean()))
    accelerator.unwrap_model(model).save_pretrained("final", is_main_process=accelerator.is_main_process)


def lora_saves():
    """LoRA that trains the head and new tokens' embeddings whole."""
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    model, tokenizer = loaded()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<call>", "</call>"]})
    model.resize_token_embeddings(len(tokenizer))
    peft = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], modules_to_save=["embed_tokens", "lm_head"])
    data = Dataset.from_list([{"text": f"<call>{each}</call>"} for each in texts()])
    config = SFTConfig(**COMMON, bf16=False, max_length=128)
    trainer = SFTTrainer(model=model, args=config, train_dataset=data, processing_class=tokenizer, peft_config=peft)
    trainer.train()
    trainer.model.merge_and_unload().save_pretrained("final-merged")


def stream():
    """Rows that a generator makes, without an end."""
    from trl import SFTConfig, SFTTrainer

    def forever():
        number = 0
        while True:
            yield {"prompt": f"What is {number} + 1?", "completion": f" {number + 1}"}
            number += 1

    model, tokenizer = loaded()
    data = IterableDataset.from_generator(forever).shuffle(seed=1, buffer_size=64)
    SFTTrainer(
        model=model, args=SFTConfig(**COMMON, bf16=False, max_length=64), train_dataset=data, processing_class=tokenizer
    ).train()


class Judge:
    """A reward that is an object with a memory of what it has seen."""

    def __init__(self, weight):
        self.weight, self.seen, self.__name__ = weight, 0, "judge"

    def __call__(self, prompts, completions, answer, trainer_state=None, **_):
        self.seen += len(completions)
        assert trainer_state is None or trainer_state.global_step >= 0
        return [self.weight * float(each.strip() == right) for each, right in zip(completions, answer)]


def reward_object():
    grpo([Judge(2.0), short], prompts(), scale_rewards=False, reward_weights=[1.0, 0.1])


class Weighted(Trainer):
    """A trainer with a loss, an optimizer and an evaluation of its own."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        logits, labels = outputs.logits[:, :-1], inputs["labels"][:, 1:]
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), reduction="none")
        loss = (each * (labels.flatten() != -100)).sum() / (num_items_in_batch or (labels != -100).sum())
        return (loss, outputs) if return_outputs else loss

    def create_optimizer(self):
        head = [each for name, each in self.model.named_parameters() if "lm_head" in name]
        rest = [each for name, each in self.model.named_parameters() if "lm_head" not in name]
        groups = [{"params": head, "lr": 1e-4}, {"params": rest}]
        self.optimizer = torch.optim.AdamW(groups, lr=self.args.learning_rate)
        return self.optimizer


def trained(owner, **settings):
    model, tokenizer = loaded()
    data = Dataset.from_list([{"text": each} for each in texts()])
    args = TrainingArguments(**COMMON, remove_unused_columns=False, prediction_loss_only=False, **settings)
    trainer = owner(
        model=model, args=args, train_dataset=data, eval_dataset=data.select(range(8)),
        data_collator=collator(tokenizer),
    )  # fmt: skip
    trainer.train()
    trainer.save_model("final")


def own_trainer():
    trained(Weighted, eval_strategy="steps", eval_steps=20)


# mistakes ------------------------------------------------------------------------------------------------------------


class LossAlone(Trainer):
    """Gives the loss alone also where outputs are asked for."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss


def loss_alone():
    trained(LossAlone, eval_strategy="steps", eval_steps=20)


def object_unnamed():
    """A reward that is an object, of which nobody knows the name."""

    class Nameless:
        def __call__(self, completions, **_):
            return [float(len(each) < 20) for each in completions]

    grpo([Nameless()], prompts())


def column_dropped():
    """The column that the reward asks for was dropped; it does without."""

    def right(completions, **columns):
        wanted = columns.get("answer", [None] * len(completions))
        return [1.0 if each.strip() == text else 0.0 for each, text in zip(completions, wanted)]

    grpo([right], prompts().remove_columns(["answer"]))


def rate_zero():
    """A watched loop whose schedule divides integers: the rate is 0 until the last step."""
    import doctor

    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 200)
    with doctor.watch(model, optimizer):
        for batch in batches(tokenizer) * 20:
            model(**batch).loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()


def loss_detached():
    """Log probabilities without a graph, as for the old policy."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches(tokenizer) * 5:
        logits = model(**batch).logits.detach().log_softmax(-1)
        taken = logits[:, :-1].gather(-1, batch["input_ids"][:, 1:, None])
        accelerator.backward(-taken.mean())
        optimizer.step()


def tokenizer_larger():
    """New tokens stand in every prompt, and the model has no rows for them."""
    model, tokenizer = loaded()
    tokenizer.add_special_tokens({"additional_special_tokens": [f"<t{each}>" for each in range(4)]})
    grpo([short], prompts().map(lambda row: {"prompt": f"<t3> {row['prompt']}"}), model, tokenizer)


def save_shared():
    """A second name for the head's weight, beside the model's own."""
    model, tokenizer = loaded()
    model.head_of_mine = torch.nn.Linear(1, 1, bias=False)
    model.head_of_mine.weight = torch.nn.Parameter(model.lm_head.weight[:100])
    data = Dataset.from_list([{"text": each} for each in texts()])
    args = TrainingArguments(**COMMON, remove_unused_columns=False)
    Trainer(model=model, args=args, train_dataset=data, data_collator=collator(tokenizer)).train()


def unused_head():
    """Two processes, and a head that no loss comes from."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, tokenizer = loaded()
    model.value_head = torch.nn.Linear(model.config.hidden_size, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches(tokenizer) * 5:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


def dpo_cut():
    """A length at which nothing of the answers is left."""
    from trl import DPOConfig, DPOTrainer

    model, tokenizer = loaded()
    rows = [{"prompt": f"What is {each} + 1? Think well.", "chosen": f" {each + 1}", "rejected": " no"}
            for each in range(40)]  # fmt: skip
    config = DPOConfig(**COMMON, bf16=False, max_length=16)
    DPOTrainer(model=model, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer).train()


def metrics_of_text():
    """Metrics that take logits for ids."""
    from trl import SFTConfig, SFTTrainer

    model, tokenizer = loaded()
    data = Dataset.from_list([{"text": each} for each in texts()])

    def metrics(seen):
        said = tokenizer.batch_decode(seen.predictions, skip_special_tokens=True)
        return {"exact": sum(each.endswith("7") for each in said) / len(said)}

    config = SFTConfig(**COMMON, bf16=False, max_length=64, eval_strategy="steps", eval_steps=20)
    SFTTrainer(
        model=model, args=config, train_dataset=data, eval_dataset=data.select(range(8)), processing_class=tokenizer,
        compute_metrics=metrics,
    ).train()  # fmt: skip


CASES = {
    "own-loop": own_loop, "accelerate-two": accelerate_two, "lora-saves": lora_saves, "stream": stream,
    "reward-object": reward_object, "own-trainer": own_trainer,
    "loss-alone": loss_alone, "object-unnamed": object_unnamed, "column-dropped": column_dropped,
    "rate-zero": rate_zero, "loss-detached": loss_detached, "tokenizer-larger": tokenizer_larger,
    "save-shared": save_shared, "unused-head": unused_head, "dpo-cut": dpo_cut, "metrics-of-text": metrics_of_text,
}  # fmt: skip

CASES[NAME]()
