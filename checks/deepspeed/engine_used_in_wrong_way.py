"""A DeepSpeed engine is called in a way that its stage or its arguments do not allow.

## What it means
The engine keeps its own books about passes: who calls backward, where gradients are accumulated, which modules train,
which optimizer steps. Its assertions fire when the loop around it works otherwise.
## What it does to a run
AssertionError or RuntimeError when the engine is made or in the first step.
## What to do
What the finding says for the assertion that fired.
## How it is found
In a log: by the messages of DeepSpeed's engine.
## References
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/engine.py
https://github.com/deepspeedai/DeepSpeed/pull/6662
https://github.com/modelscope/ms-swift/issues/3107
https://github.com/deepspeedai/DeepSpeed/issues/7354
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DSP040", name="engine-used-in-wrong-way", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"AssertionError: backward pass is invalid for module in evaluation mode",
        Message(
            en=Words(
                "ZeRO-3 got a backward pass of modules in evaluation mode",
                "Something called `model.eval()` and did not switch back: a generation, an evaluation, a library "
                "that keeps parts frozen by `eval()`. Up to 0.15.3 DeepSpeed keeps separate books for both modes "
                "and refuses this.",
                "`pip install -U 'deepspeed>=0.15.4'`, which takes it; or call `model.train()` before the "
                "forward pass whose loss is trained on (after every `generate`), and update the trainer "
                "(ms-swift, TRL, Lightning) that left the mode.",
            ),
            zh=Words(
                "ZeRO-3 收到处于评估模式的模块的反向传播",
                "某处调用了 `model.eval()` 而没有切回:生成、评估,或以 `eval()` 冻结部分模块的库。DeepSpeed "
                "0.15.3 及之前对两种模式分别记账,会拒绝这种情况。",
                "`pip install -U 'deepspeed>=0.15.4'`(允许这样做);或在用于训练的前向之前(每次 `generate` 之后)调"
                "用 `model.train()`,并更新遗留该模式的训练器(ms-swift、TRL、Lightning)。",
            ),
        ),
    ),
    (
        r"RuntimeError: Direct calls to tensor\.backward\(\) are not supported in this configuration",
        Message(
            en=Words(
                "`loss.backward()` was called where DeepSpeed's engine must do it",
                "In this configuration (ZeRO stage 0, or a PyTorch without the hooks) the engine sees the "
                "gradients only through its own call.",
                "`engine.backward(loss)` (or `accelerator.backward(loss)`) in place of `loss.backward()`, and "
                "`engine.step()` in place of `optimizer.step()`.",
            ),
            zh=Words(
                "在必须由 DeepSpeed 引擎执行的地方调用了 `loss.backward()`",
                "在此配置下(ZeRO stage 0,或缺少相应钩子的 PyTorch),引擎只能通过自己的调用看到梯度。",
                "用 `engine.backward(loss)`(或 `accelerator.backward(loss)`)代替 `loss.backward()`,用 "
                "`engine.step()` 代替 `optimizer.step()`。",
            ),
        ),
    ),
    (
        (
            r"AssertionError: (?:zero stage (?P<stage>\d) requires an optimizer|must provide optimizer during "
            r"init in order to use (?P<what>\w{4,12}))"
        ),
        Message(
            en=Words(
                "the DeepSpeed engine was made without an optimizer and is to train",
                "Stages 1 and 2 partition the optimizer, and backward and step need one: neither the "
                "configuration nor `deepspeed.initialize` brought it. A reference or reward model that is only "
                "evaluated meets this under ZeRO-1 and 2, too.",
                'Give one: `"optimizer": {{"type": "AdamW", "params": {{...}}}}` in the configuration, or '
                "`deepspeed.initialize(model=model, optimizer=optimizer, ...)`. For a model that is not trained "
                'use ZeRO-3 (`"stage": 3`) or stage 0, or leave it outside DeepSpeed.',
            ),
            zh=Words(
                "DeepSpeed 引擎创建时没有优化器,却要用于训练",
                "stage 1 和 2 对优化器分片,backward 和 step 也需要优化器:配置和 `deepspeed.initialize` 都没有给出"
                "。只做评估的参考模型或奖励模型在 ZeRO-1、2 下也会遇到。",
                '给出优化器:在配置中写 `"optimizer": {{"type": "AdamW", "params": {{...}}}}`,或 '
                "`deepspeed.initialize(model=model, optimizer=optimizer, ...)`。不训练的模型使用 "
                'ZeRO-3(`"stage": 3`)或 stage 0,或不交给 DeepSpeed。',
            ),
        ),
    ),
    (
        (
            r"AssertionError: You are using an untested ZeRO Optimizer\. Please add "
            r"<\"zero_allow_untested_optimizer\": true>"
        ),
        Message(
            en=Words(
                "ZeRO does not know the optimizer that it was given",
                "DeepSpeed has tested its partitioning with Adam, AdamW and a few others, and wants a word for "
                "any other (Lion, Muon, an 8-bit or a custom one).",
                'Add `"zero_allow_untested_optimizer": true` to the top level of the DeepSpeed configuration, or '
                "use `--optim adamw_torch`.",
            ),
            zh=Words(
                "ZeRO 不认识所给的优化器",
                "DeepSpeed 只对 Adam、AdamW 等少数优化器测试过分片,其他优化器(Lion、Muon、8 位或自定义)需要明确许可。",
                '在 DeepSpeed 配置的顶层加入 `"zero_allow_untested_optimizer": true`,或使用 `--optim adamw_torch`。',
            ),
        ),
    ),
    (
        (
            r"AssertionError: Parameter with name: (?P<parameter>[^\s]{1,200}) occurs multiple times in "
            r"optimizer\.param_groups"
        ),
        Message(
            en=Words(
                "`{parameter}` stands twice in the optimizer's groups",
                "It would be stepped twice; tied weights that are listed under both names do this, and groups "
                "that overlap.",
                "Build the groups from `dict(model.named_parameters())`, which lists a tied weight once, and let "
                "each parameter into one group only.",
            ),
            zh=Words(
                "`{parameter}` 在优化器的参数组中出现两次",
                "它会被更新两次;以两个名字列出的共享权重和互相重叠的参数组会造成这种情况。",
                "用 `dict(model.named_parameters())` 构建参数组(共享权重只列一次),并让每个参数只进入一个组。",
            ),
        ),
    ),
    (
        (
            r"AssertionError: (?:Native DeepSpeed MoE is not supported with ZeRO Stage 3|MoE not supported "
            r"with Stage 3)"
        ),
        Message(
            en=Words(
                "DeepSpeed's own MoE layers do not work under ZeRO-3",
                "Their experts are spread over ranks already, which partitioning would cut once more.",
                'Use `"stage": 2` (or 1). A model of Transformers with experts (Mixtral, Qwen MoE) does not need '
                "DeepSpeed's layers: load it as it is under ZeRO-3 and name its block in "
                "`deepspeed.utils.set_z3_leaf_modules`.",
            ),
            zh=Words(
                "DeepSpeed 自带的 MoE 层不能用于 ZeRO-3",
                "其专家已分布在各 rank 上,再分片会再次切开。",
                '使用 `"stage": 2`(或 1)。Transformers 的 MoE 模型(Mixtral、Qwen MoE)不需要 DeepSpeed 的层:在 '
                "ZeRO-3 下按原样加载,并用 `deepspeed.utils.set_z3_leaf_modules` 指明其块。",
            ),
        ),
    ),
    (
        r"AssertionError: loss must be a scalar tensor(?: with grad_fn)?\.",
        Message(
            en=Words(
                "the loss given to DeepSpeed is no number with a gradient",
                "It has several elements, or was computed without a graph (`torch.no_grad`, detached, nothing "
                "trainable on its way).",
                "Reduce it (`loss.mean()`), compute it outside of `no_grad`, and make sure that something "
                "trains: `model.print_trainable_parameters()`; with gradient checkpointing and LoRA also "
                "`model.enable_input_require_grads()`.",
            ),
            zh=Words(
                "交给 DeepSpeed 的 loss 不是带梯度的标量",
                "它有多个元素,或在没有计算图的情况下得到(`torch.no_grad`、已 detach、途中没有可训练参数)。",
                "先归约(`loss.mean()`),在 `no_grad` 之外计算,并确认有可训练参数"
                ":`model.print_trainable_parameters()`;梯度检查点与 LoRA 同用时再调用 "
                "`model.enable_input_require_grads()`。",
            ),
        ),
    ),
    (
        r"AssertionError: It is illegal to call Engine\.step\(\) inside no_sync context manager",
        Message(
            en=Words(
                "`engine.step()` was called inside `no_sync`",
                "Gradients that were not exchanged between the ranks would be applied, each rank its own.",
                "Leave the `with engine.no_sync():` block before the last backward of an accumulation and before "
                "`step()`; or let DeepSpeed accumulate (`gradient_accumulation_steps` in its configuration).",
            ),
            zh=Words(
                "在 `no_sync` 内调用了 `engine.step()`",
                "这会让各 rank 应用未交换的、各自的梯度。",
                "在累积的最后一次 backward 和 `step()` 之前离开 `with engine.no_sync():`;或让 DeepSpeed 自己累积("
                "配置中的 `gradient_accumulation_steps`)。",
            ),
        ),
    ),
    (
        (
            r"AssertionError: Not sure how to proceed, we were given (?:deepspeed configs in the deepspeed arguments|"
            r"both a)"
        ),
        Message(
            en=Words(
                "`deepspeed.initialize` gets its configuration twice: in `args` and in the call",
                "`args.deepspeed_config` (set by `--deepspeed_config`) names one, and `config=` of the call is "
                "another; DeepSpeed does not choose.",
                "Give only one: drop `args=args` from `deepspeed.initialize(...)` (or set `args.deepspeed_config = "
                "None`) when `config=` is passed; or leave `config=` out and keep the option of the command line.",
            ),
            zh=Words(
                "`deepspeed.initialize` 得到了两份配置:在 `args` 中和在调用中",
                "`args.deepspeed_config`(由 `--deepspeed_config` 设置)指定一份,调用的 `config=` 是另一份;DeepSpeed "
                "不会替你选择。",
                "只给一份:传入 `config=` 时从 `deepspeed.initialize(...)` 去掉 `args=args`(或设 "
                "`args.deepspeed_config = None`);或不传 `config=`,保留命令行选项。",
            ),
        ),
    ),
    (
        r"AssertionError: DeepSpeed backend not set, please initialize it using init_process_group\(\)",
        Message(
            en=Words(
                "DeepSpeed's communication is used before it was initialised",
                "Since 0.6 DeepSpeed has a communication layer of its own (`deepspeed.comm`), and code that was "
                "written for an older release only initialises torch.distributed.",
                "Call `deepspeed.init_distributed()` after `torch.distributed.init_process_group` and before "
                "anything of DeepSpeed that communicates; or keep the old code with an old DeepSpeed (`pip install "
                "'deepspeed<0.6'`).",
            ),
            zh=Words(
                "在初始化之前使用了 DeepSpeed 的通信",
                "从 0.6 起 DeepSpeed 有自己的通信层(`deepspeed.comm`),而为旧版编写的代码只初始化 torch.distributed。",
                "在 `torch.distributed.init_process_group` 之后、任何 DeepSpeed 通信之前调用 "
                "`deepspeed.init_distributed()`;或对旧代码使用旧版 DeepSpeed(`pip install 'deepspeed<0.6'`)。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
