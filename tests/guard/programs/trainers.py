"""Trainers of TRL and Transformers under the callback, a NaN in one layer at step 2: trainers.py DOCTOR MODEL NAME...

Behind a name `:healthy` leaves the layer as it is. Prints one line of JSON for each.
"""

import importlib
import json
import sys
from pathlib import Path

CARRIED, MODEL, *NAMES = sys.argv[1:]
sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import trl  # noqa: E402
from datasets import Dataset  # noqa: E402

from doctor import DoctorCallback  # noqa: E402

BROKEN_AT = 2
SMALL = {
    "per_device_train_batch_size": 2, "max_steps": 4, "logging_steps": 1, "report_to": [], "use_cpu": True,
    "bf16": False, "save_strategy": "no", "seed": 1, "learning_rate": 1e-3, "disable_tqdm": True,
}  # fmt: skip
PAIRS = Dataset.from_list(
    [{"prompt": f"{each}+1=", "chosen": f"{each + 1}", "rejected": f"{each}"} for each in range(16)]
)
JUDGED = Dataset.from_list(
    [{"prompt": f"{each}+1=", "completion": f"{each + each % 2}", "label": bool(each % 2)} for each in range(16)]
)
HINTED = Dataset.from_list([{"prompt": f"{each}+1=", "privileged_context": f"{each + 1}"} for each in range(16)])
TRIPLES = PAIRS.add_column("reference", [f"{each + 1}" for each in range(16)])
TALKS = Dataset.from_list([
    {"messages": [{"role": "user", "content": f"{each}+1="}, {"role": "assistant", "content": f"{each + 1}"}]}
    for each in range(16)
])  # fmt: skip
#: marks the assistant's part, which is what these trainers learn
TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}{% endgeneration %}"
    "{% else %}{{ m['content'] }}{% endif %}{% endfor %}"
)
WHOLE = Dataset.from_list([{"text": f"{each}+1={each + 1}"} for each in range(16)])


SAMPLED, SHORT = {"num_generations": 2, "max_completion_length": 8}, {"max_completion_length": 8}
REWARDED, TAUGHT = {"reward_funcs": tiny.variety}, {"teacher_model": MODEL}
#: of trl.experimental: module, data, settings, and what else the trainer takes
EXPERIMENTAL = {
    "ORPOTrainer": ("orpo", PAIRS, {"max_length": 24}, {}),
    "CPOTrainer": ("cpo", PAIRS, {"max_length": 24}, {}),
    "TPOTrainer": ("tpo", TRIPLES, {}, {}),
    "GKDTrainer": ("gkd", TALKS, {"max_new_tokens": 8}, TAUGHT),
    "GOLDTrainer": ("gold", TALKS, SHORT, TAUGHT),
    "IWOPDTrainer": ("iw_opd", TALKS, SHORT, TAUGHT),
    "SDFTTrainer": ("sdft", HINTED, SAMPLED, {}),
    "SDPOTrainer": ("sdpo", HINTED, SAMPLED, REWARDED),
    "GMPOTrainer": ("gmpo", tiny.sums(), SAMPLED, REWARDED),
    "A2POTrainer": ("a2po", tiny.sums(), SHORT, REWARDED),
}


def experimental(name):
    """The same as `made`."""
    folder, data, more, also = EXPERIMENTAL[name]
    module = importlib.import_module(f"trl.experimental.{folder}")
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)  # the teacher's own
    tokenizer.chat_template = TEMPLATE
    also = {"model": MODEL, "processing_class": tokenizer, **also}
    return getattr(module, name), getattr(module, name.replace("Trainer", "Config")), data, more, also


def tokens(tokenizer):
    rows = [tokenizer(each["text"], padding="max_length", max_length=12)["input_ids"] for each in WHOLE]
    return Dataset.from_list([{"input_ids": each, "labels": each} for each in rows])


def made(name, tokenizer):
    """The trainer's class, its configuration, its data, and what else it takes."""
    if name == "Trainer":
        model = transformers.AutoModelForCausalLM.from_pretrained(MODEL)
        return transformers.Trainer, transformers.TrainingArguments, tokens(tokenizer), {}, {"model": model}
    model = MODEL
    if name == "RewardTrainer":
        model = transformers.AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=1)
        model.config.pad_token_id = tokenizer.pad_token_id
    data = {
        "SFTTrainer": WHOLE, "DPOTrainer": PAIRS, "RewardTrainer": PAIRS, "KTOTrainer": JUDGED,
    }.get(name, tiny.sums())  # fmt: skip
    more, also = {}, {"model": model, "processing_class": tokenizer}
    if name == "OnlineDPOTrainer":
        from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

        also["reward_funcs"] = tiny.variety
        return OnlineDPOTrainer, OnlineDPOConfig, data, {"max_new_tokens": 8}, also
    if name == "DistillationTrainer":
        more, also["teacher_model"] = {"max_completion_length": 8}, MODEL
    if name == "RLOOTrainer":
        more = {"num_generations": 2, "max_completion_length": 8}
        also["reward_funcs"] = tiny.variety
    return getattr(trl, name), getattr(trl, name.replace("Trainer", "Config")), data, more, also


def run(name):
    name, _, healthy = name.partition(":")
    base, config, data, more, also = experimental(name) if name in EXPERIMENTAL else made(name, tiny.tokenizer())

    class Spoilt(base):
        in_loss = generates = False

        def compute_loss(self, *args, **kwargs):
            self.in_loss = True
            try:
                return super().compute_loss(*args, **kwargs)
            finally:
                self.in_loss = False

    alone = name == "OnlineDPOTrainer"  # it generates and computes its loss within `training_step`
    callback = DoctorCallback()
    folder = name + healthy
    args = config(output_dir=folder, **SMALL, **more)
    trainer = Spoilt(args=args, train_dataset=data, callbacks=[callback], **also)

    def spoil(module, _args, output):
        if (trainer.in_loss or (alone and not trainer.generates)) and trainer.state.global_step == BROKEN_AT - 1:
            return output + torch.zeros_like(output).index_fill_(-1, torch.tensor([0]), float("nan"))
        return None

    generate = trainer.model.generate if alone else None

    def generated(*args, **kwargs):
        trainer.generates = True
        try:
            return generate(*args, **kwargs)
        finally:
            trainer.generates = False

    if alone:
        trainer.model.generate = generated
    if not healthy:
        trainer.model.model.layers[1].mlp.down_proj.register_forward_hook(spoil)
    trainer.train()
    return {
        "name": name, "step": trainer.state.global_step, "saved": Path(folder, f"checkpoint-{BROKEN_AT}").is_dir(),
        "finite": all(bool(each.isfinite().all()) for each in trainer.model.parameters()),
        "found": [
            [each.problem.id, each.where.step, each.where.module]
            for each in callback.guard.findings if healthy or each.problem.id == "NUM006"
        ],
    }  # fmt: skip


for NAME in NAMES:
    print(json.dumps(run(NAME)), flush=True)
