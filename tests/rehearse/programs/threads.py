"""Scripts after public threads, whole or with one mistake, written before any of them was run: threads.py BASE NAME.

Each mistake names the thread that it is drawn from; none has a check of its own.
"""

import functools
import os
import sys

import torch
from datasets import Dataset, load_dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

BASE, NAME = sys.argv[1], sys.argv[2]
HERE = os.environ.get("STAGE", ".")
COMMON = {
    "output_dir": "out", "per_device_train_batch_size": 4, "num_train_epochs": 5, "save_steps": 20, "logging_steps": 5,
    "report_to": [], "use_cpu": True, "learning_rate": 1e-5,
}  # fmt: skip
LORA = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


def sums():
    return load_dataset("json", data_files=os.path.join(HERE, "sums.jsonl"), split="train")


def loaded():
    return AutoModelForCausalLM.from_pretrained(BASE), AutoTokenizer.from_pretrained(BASE)


def conversation(tokenizer, row):
    asked = {"role": "user", "content": row["question"]}
    return tokenizer.apply_chat_template([asked, {"role": "assistant", "content": row["answer"]}], tokenize=False)


def masked(tokenizer, mark, size=64):
    """Rows of equal length in which all before the last mark, and the padding, has no label."""
    wanted, rows = tokenizer(mark, add_special_tokens=False)["input_ids"], []
    for row in sums():
        made = tokenizer(conversation(tokenizer, row), padding="max_length", max_length=size, padding_side="right")
        ids, labels, reached = made["input_ids"], [-100] * size, False
        for at, (token, real) in enumerate(zip(ids, made["attention_mask"])):
            if reached and real:
                labels[at] = token
            reached = reached or ids[max(0, at - len(wanted) + 1) : at + 1] == wanted
        rows.append({"input_ids": ids, "attention_mask": made["attention_mask"], "labels": labels})
    return Dataset.from_list(rows)


ASSISTANT = "<|im_start|>assistant\n"


def trained(model, data, kind=Trainer, **more):
    settings = {**COMMON, **more.pop("settings", {})}
    trainer = kind(model=model, args=TrainingArguments(**settings), train_dataset=data, **more)
    trainer.train()
    return trainer


def right_tokens(given):
    """Shares of right tokens, by whether they end a row."""
    guessed, labels = torch.as_tensor(given.predictions).argmax(-1)[:, :-1], torch.as_tensor(given.label_ids)[:, 1:]
    counted = labels != -100
    return (guessed == labels)[counted].float(), counted


def grpo(rewards, data=None, model=None, **settings):
    from trl import GRPOConfig, GRPOTrainer

    made, tokenizer = loaded()
    config = GRPOConfig(**{**COMMON, **settings}, bf16=False, num_generations=4, max_completion_length=64)
    trainer = GRPOTrainer(
        model=model or made, args=config, train_dataset=data or prompts(), processing_class=tokenizer,
        reward_funcs=rewards,
    )  # fmt: skip
    trainer.train()
    return trainer


def prompts():
    return sums().rename_column("question", "prompt")


def short(completions, **_):
    return [0.1 / (1 + len(each)) for each in completions]


def loop(clears_early, rate=1e-4):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    data = masked(tokenizer, ASSISTANT).with_format("torch")
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    model.train()
    for _ in range(8):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                if clears_early:
                    optimizer.zero_grad()
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    accelerator.save_state("state")


# right ---------------------------------------------------------------------------------------------------------------


def trainer_best():
    """Labels behind the assistant's mark, a metric of one's own, and the best checkpoint loaded at the end."""
    model, tokenizer = loaded()
    data = masked(tokenizer, ASSISTANT).train_test_split(test_size=0.25, seed=1)

    def metrics(given):
        hits, _ = right_tokens(given)
        return {"right": float(hits.mean())}

    best = {
        "eval_strategy": "steps",
        "eval_steps": 20,
        "load_best_model_at_end": True,
        "metric_for_best_model": "right",
    }
    trainer = trained(model, data["train"], eval_dataset=data["test"], compute_metrics=metrics, settings=best)
    trainer.save_metrics("eval", trainer.evaluate())


def accelerate_accumulates():
    """Accumulation, clipping and a schedule under Accelerate, and a state that is saved at the end."""
    loop(clears_early=False)


def reward_cached():
    """A reward that is cached by what it judges, and is asked in threads."""
    from concurrent.futures import ThreadPoolExecutor

    @functools.lru_cache(maxsize=4096)
    def one(said, answer):
        return 1.0 if said.rpartition("####")[2].strip() == answer else 0.0

    def judged(completions, answer, **_):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(one, completions, answer))

    data = prompts().map(lambda row: {"prompt": f"{row['prompt']} End with ####."})
    grpo([judged, short], data, num_iterations=2, beta=0.04)


def zero3_gathers():
    """A loss of one's own that reads a weight where ZeRO-3 has gathered it."""
    import deepspeed

    class Penalised(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **more):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **more)
            weight = self.accelerator.unwrap_model(model).get_output_embeddings().weight
            with deepspeed.zero.GatheredParameters([weight]):
                norm = weight.detach().float().norm()
            assert norm > 0
            return (loss + 0 * norm, outputs) if return_outputs else loss + 0 * norm

    zero3(Penalised)


def lora_goes_on():
    """An adapter that goes on being trained, under checkpointing, and is merged at the end."""
    model, tokenizer = loaded()
    get_peft_model(model, LORA).save_pretrained("adapter")
    model, tokenizer = loaded()
    model.config.use_cache = False
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    model = PeftModel.from_pretrained(model, "adapter", is_trainable=True)
    trained(model, masked(tokenizer, ASSISTANT), settings={"learning_rate": 1e-4, "warmup_steps": 2})
    model.merge_and_unload().save_pretrained("merged")


def dpo_adapter():
    """Preferences under LoRA, the reference computed beforehand."""
    from trl import DPOConfig, DPOTrainer

    model, tokenizer = loaded()
    rows = [{"prompt": f"{row['question']} ", "chosen": row["answer"], "rejected": "no idea"} for row in sums()]
    data = Dataset.from_list(rows).train_test_split(test_size=0.25, seed=1)
    config = DPOConfig(
        **COMMON, bf16=False, precompute_ref_log_probs=True, eval_strategy="steps", eval_steps=20, loss_type="ipo"
    )
    trainer = DPOTrainer(
        model=model, args=config, train_dataset=data["train"], eval_dataset=data["test"], processing_class=tokenizer,
        peft_config=LORA,
    )  # fmt: skip
    trainer.train()
    trainer.save_model("preferred")


# mistakes ------------------------------------------------------------------------------------------------------------


def metrics_arrays():
    """A metric with a value for each class, which no state holds. https://github.com/huggingface/transformers/issues/39616"""
    model, tokenizer = loaded()
    data = masked(tokenizer, ASSISTANT).train_test_split(test_size=0.25, seed=1)

    def metrics(given):
        hits, _ = right_tokens(given)
        return {"right": float(hits.mean()), "by_class": torch.stack([hits.mean(), 1 - hits.mean()]).numpy()}

    trained(
        model, data["train"], eval_dataset=data["test"], compute_metrics=metrics,
        settings={"eval_strategy": "steps", "eval_steps": 20},
    )  # fmt: skip


def mask_elsewhere():
    """The mark behind which labels begin is another template's. https://github.com/datawhalechina/happy-llm/issues/50"""
    model, tokenizer = loaded()
    trained(model, masked(tokenizer, "<|start_header_id|>assistant<|end_header_id|>\n\n"))


def cleared_early():
    """Gradients are cleared between backward and step. https://github.com/meituan-longcat/LongCat-Image/issues/46"""
    loop(clears_early=True)


def save_signature():
    """A method with the parameters of an earlier release. https://github.com/2U1/Phi3-Vision-Finetune/issues/39"""

    class Saves(Trainer):
        def _save_checkpoint(self, model, trial, metrics=None):
            super()._save_checkpoint(model, trial, metrics=metrics)

    model, tokenizer = loaded()
    trained(model, masked(tokenizer, ASSISTANT), Saves)


def reentrant():
    """Checkpointing around frozen layers, whose inputs want no gradient, asked of what LoRA has wrapped already.

    A mistake with Transformers 4.51 and PEFT 0.15; with 5.23 and 0.21 the inputs want one.
    """
    model, tokenizer = loaded()
    model = get_peft_model(model, LORA)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    trained(model, masked(tokenizer, ASSISTANT))


def pops_answers():
    """The first function uses the answers up, which the second one is given too."""

    def judged(completions, answer, **_):
        return [1.0 if each.strip() == answer.pop(0) else 0.0 for each in completions]

    def near(completions, answer, **_):
        return [0.2 if right in each else 0.0 for each, right in zip(completions, answer)]

    grpo([judged, near])


def cached_by_prompt():
    """A cache of scores whose key is the question alone."""
    known = {}

    def judged(prompts, completions, answer, **_):
        for prompt, said, right in zip(prompts, completions, answer):
            known.setdefault(prompt, 1.0 if said.rpartition("####")[2].strip() == right else 0.0)
        return [known[each] for each in prompts]

    grpo([judged])


def by_place():
    """Right answers by the place in the file, although rows are shuffled and repeated."""
    answers = sums()["answer"]

    def judged(completions, **_):
        return [1.0 if each.strip() == right else 0.0 for each, right in zip(completions, answers)]

    grpo([judged])


def shifted_twice():
    """Labels that are shifted, for a model that shifts them. https://github.com/huggingface/transformers/issues/32944"""
    model, tokenizer = loaded()
    data = masked(tokenizer, ASSISTANT)
    trained(model, data.map(lambda row: {"labels": [*row["labels"][1:], -100]}))


def zero3(kind):
    model, tokenizer = loaded()
    folder = os.path.dirname(os.path.abspath(__file__))
    trained(model, masked(tokenizer, ASSISTANT), kind, settings={"deepspeed": os.path.join(folder, "zero3.json")})


def zero3_reads():
    """A loss that multiplies by a weight which ZeRO-3 has put in parts. https://github.com/huggingface/trl/issues/600"""

    class Own(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **_):
            labels = inputs.pop("labels")
            inner = self.accelerator.unwrap_model(model)
            hidden = inner.model(**inputs).last_hidden_state
            logits = torch.nn.functional.linear(hidden, inner.lm_head.weight)
            return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    zero3(Own)


def optimizer_before_lora():
    """The optimizer has the parameters of the base model, which LoRA then freezes."""
    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0)
    trained(get_peft_model(model, LORA), masked(tokenizer, ASSISTANT), optimizers=(optimizer, None))


def adapter_for_inference():
    """An adapter that was loaded as if nobody trained it. https://github.com/huggingface/peft/issues/282"""
    model, tokenizer = loaded()
    get_peft_model(model, LORA).save_pretrained("adapter")
    model, tokenizer = loaded()
    trained(PeftModel.from_pretrained(model, "adapter"), masked(tokenizer, ASSISTANT))


CASES = {
    "trainer-best": trainer_best, "accelerate-accumulates": accelerate_accumulates, "reward-cached": reward_cached,
    "zero3-gathers": zero3_gathers, "lora-goes-on": lora_goes_on, "dpo-adapter": dpo_adapter,
    "metrics-arrays": metrics_arrays, "mask-elsewhere": mask_elsewhere, "cleared-early": cleared_early,
    "save-signature": save_signature, "reentrant": reentrant, "pops-answers": pops_answers,
    "cached-by-prompt": cached_by_prompt, "by-place": by_place, "shifted-twice": shifted_twice,
    "zero3-reads": zero3_reads, "optimizer-before-lora": optimizer_before_lora,
    "adapter-for-inference": adapter_for_inference,
}  # fmt: skip

CASES[NAME]()
