"""A subclass overrides `compute_loss` with the old signature.

## What it means
Transformers 4.46 calls `compute_loss` with `num_items_in_batch`, the number of tokens over the accumulated
micro-batches. A trainer of your own, or of a library, that overrides it without that parameter no longer
fits; `training_step` is called with it by position.
## What it does to a run
The first training step raises TypeError.
## What to do
Add `num_items_in_batch=None` to the override, or pin Transformers below 4.46.
## How it is found
In a log: by the refused argument.
## References
https://github.com/shangshang-wang/Tina/issues/4
https://github.com/hiyouga/LlamaFactory/issues/8207
https://github.com/huggingface/transformers/blob/v4.52.4/src/transformers/trainer.py
https://github.com/huggingface/transformers/pull/34198
https://github.com/huggingface/transformers/pull/37980
https://github.com/huggingface/trl/pull/3568
https://github.com/QuixiAI/grokadamw/issues/7
https://huggingface.co/docs/transformers/trainer
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(
    id="TRF011", name="compute-loss-signature", severity=ERROR, since="0.1", affects={"transformers": ">=4.46"}
)

SIGNATURES = (
    Signature(
        r"TypeError: (?:(?P<owner>\w{1,80})\.)?(?P<method>compute_loss|training_step|prediction_step|l"
        r"og|_inner_training_loop)\(\) got an unexpected keyword argument"
        r" '(?P<name>num_items_in_batch)'",
    ),
    Signature(
        r"TypeError: (?:(?P<owner>\w{1,80})\.)?(?P<method>training_step|log)\(\) takes (?:from )?\d"
        r" (?:to \d )?positional arguments but (?P<count>[345]) were given",
        frame=r"transformers[\\/]trainer\.py:",
        own_code=True,  # a method of the user's calls the one that it overrides
    ),
    Signature(
        r"TypeError: (?:(?P<owner>\w{1,80})\.)?(?P<method>_maybe_log_save_evaluate)\(\) missing \d required positional "
        r"arguments?: '(?P<absent>\w{1,60})'"
    ),
    Signature(
        r"TypeError: (?:(?P<owner>\w{1,80})\.)?(?P<method>_get_(?:train|eval)_sampler)\(\) takes 1 positional "
        r"argument but 2 were given",
    ),
    Signature(
        r"(?:^|[ :])(?P<owner>\w{0,60}Trainer\w{0,20})\.(?P<method>training_step)\(\) takes 3 "
        r"positional arguments but (?P<count>4) were given",
    ),
    Signature(
        r"^TypeError: (?P<seed>seed_worker)\(\) missing 2 required positional arguments: 'num_workers' and 'rank'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{owner}.{method}` lacks a parameter that the installed Transformers passes",
        "The Trainer of 4.46 and newer hands `num_items_in_batch` to `compute_loss` and `training_step` "
        "(and `start_time` to `log` from 4.47); the override in `{owner}` still has the old signature.",
        "Extend the override: `def compute_loss(self, model, inputs, return_outputs=False, "
        "num_items_in_batch=None)`, `def training_step(self, model, inputs, num_items_in_batch=None)`, "
        "`def log(self, logs, start_time=None)`, or accept `**kwargs`; for a library's trainer upgrade "
        'that library or pin `pip install "transformers<4.46"`.',
    ),
    zh=Words(
        "`{owner}.{method}` 缺少已安装的 Transformers 会传入的参数",
        "4.46 及以上的 Trainer 会把 `num_items_in_batch` 传给 `compute_loss` 和 `training_step`(自 4.47 "
        "起还把 `start_time` 传给 `log`);`{owner}` 中的重写仍是旧签名。",
        "扩展重写的签名:`def compute_loss(self, model, inputs, return_outputs=False, "
        "num_items_in_batch=None)`、`def training_step(self, model, inputs, num_items_in_batch=None)`、"
        "`def log(self, logs, start_time=None)`,或接受 `**kwargs`;若是某个库的训练器,升级该库或固定 `pip "
        'install "transformers<4.46"`。',
    ),
)

OF_TRL = Message(
    en=Words(
        "TRL's `{owner}.{method}` lacks a parameter that the installed Transformers passes",
        "TRL is older than Transformers here: from 4.46 the Trainer hands `num_items_in_batch` to `compute_loss` and "
        "`training_step`, from 4.47 `start_time` to `log`, and TRL's override still has the old signature.",
        'Upgrade TRL (`pip install -U "trl>=0.13"`), or pin the Transformers of its time: '
        '`pip install "transformers<4.46"`.',
    ),
    zh=Words(
        "TRL 的 `{owner}.{method}` 缺少已安装的 Transformers 会传入的参数",
        "此处 TRL 比 Transformers 旧:Trainer 自 4.46 起把 `num_items_in_batch` 传给 `compute_loss` 和 `training_step`,"
        "自 4.47 起把 `start_time` 传给 `log`,而 TRL 的重写仍是旧签名。",
        '升级 TRL(`pip install -U "trl>=0.13"`),或固定同期的 Transformers:`pip install "transformers<4.46"`。',
    ),
)

COPIED = Message(
    en=Words(
        "`{owner}.{method}` is called as an older Transformers wanted it",
        "The class copies the training loop of one release, and the installed Trainer's `{method}` takes other "
        "arguments (`start_time` came after 4.45).",
        "Install the Transformers that the code was copied from (requirements.txt, README), or hand the new argument "
        "`{absent}` on in the copied loop.",
    ),
    zh=Words(
        "`{owner}.{method}` 的调用方式属于更旧的 Transformers",
        "该类复制了某一版本的训练循环,而已安装 Trainer 的 `{method}` 需要其他参数(4.45 之后增加了 `start_time`)。",
        "安装被复制代码所属的 Transformers(见 requirements.txt、README),或在复制的循环中传入新参数 `{absent}`。",
    ),
)

SAMPLER = Message(
    en=Words(
        "`{owner}.{method}` does not take the dataset that the installed Transformers passes",
        "From 4.52 on the Trainer hands the dataset to `_get_train_sampler`; `{owner}` overrides it with the "
        "signature of older releases.",
        'A trainer of TRL: `pip install -U "trl>=0.18"`. Another library\'s: upgrade it (LLaMA-Factory: pull '
        'again), or pin `pip install "transformers<4.52"`. An own class: `def {method}(self, dataset=None)`.',
    ),
    zh=Words(
        "`{owner}.{method}` 不接受已安装的 Transformers 传入的数据集",
        "自 4.52 起 Trainer 会把数据集传给 `_get_train_sampler`;`{owner}` 以旧版本的签名重写了它。",
        'TRL 的训练器:`pip install -U "trl>=0.18"`。其他库的:升级该库(LLaMA-Factory:重新拉取代码),或固定 '
        '`pip install "transformers<4.52"`。自己的类:`def {method}(self, dataset=None)`。',
    ),
)

SEED = Message(
    en=Words(
        "the trainer calls Transformers' `seed_worker` as releases before 4.52 wanted it",
        "From 4.52 on it wants the number of workers and the rank as well. A trainer with a data loader of its own "
        "(TRL's GRPOTrainer before 0.19, projects that copied it) passes the bare function, which fails in the first "
        "worker of the loader.",
        'Upgrade TRL: `pip install -U "trl>=0.19"`, or the project that copied its trainer; or pin `pip install '
        '"transformers<4.52"`. With `dataloader_num_workers=0` no worker is started, and the run goes on.',
    ),
    zh=Words(
        "训练器按 4.52 之前的方式调用 Transformers 的 `seed_worker`",
        "自 4.52 起它还需要 worker 数与 rank。自带数据加载器的训练器(0.19 之前 TRL 的 GRPOTrainer,以及复制它的项目)"
        "传入的是裸函数,在加载器的第一个 worker 中失败。",
        '升级 TRL:`pip install -U "trl>=0.19"`,或升级复制其训练器的项目;或固定 `pip install "transformers<4.52"`。'
        "设 `dataloader_num_workers=0` 则不启动 worker,训练可以继续。",
    ),
)

#: place of the signature that has no frame of Transformers' trainer, only the name of the class
_BY_NAME = 4

#: trainers of TRL that override these methods
#: https://github.com/huggingface/trl/tree/v0.12.0/trl/trainer
TRL_TRAINERS = frozenset({
    "BCOTrainer", "CPOTrainer", "DPOTrainer", "GKDTrainer", "GRPOTrainer", "KTOTrainer", "NashMDTrainer",
    "OnlineDPOTrainer", "ORPOTrainer", "PRMTrainer", "RewardTrainer", "SFTTrainer", "XPOTrainer",
})  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Name the class where the exception does; before Python 3.10 it names the method alone."""
    owner, method = hits.get("owner") or "the trainer's subclass", hits.get("method")
    message = OF_TRL if owner in TRL_TRAINERS else LOG_MESSAGE
    if hits.get("seed"):
        message = SEED
    elif "sampler" in (method or ""):
        message = SAMPLER
    elif hits.get("absent"):
        message = COPIED
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), owner=owner, method=method,
        absent=hits.get("absent") or "",
        confidence=LIKELY if hits.first.signature == _BY_NAME else CONFIRMED,
    )  # fmt: skip
