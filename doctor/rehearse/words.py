"""What a rehearsal says in its own name, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

#: why something was not rehearsed, by key; values in braces
REASONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "no_gpu": "this machine has no GPU: precision, kernels, memory and speed of a GPU were not tried",
        "no_engine": "vLLM cannot run here: generation went through Transformers; engine and weight update were not "
            "tried",
        "server": "a running vLLM server is never contacted: generation went through Transformers; the weight update "
            "was not tried",
        "in_parts": "whether the engine follows was not tried: each rank holds a part of the policy only",
        "not_seen": "whether the engine follows was not seen: {reason}",
        "no_vllm": "the run has no engine of its own: completions come from the model that is trained",
        "uploads": "nothing is uploaded and no repository is made",
        "trackers": "trackers are off: what they need was imported, nothing was sent",
        "tiny": "the model is a tiny one of the same architecture: memory, speed and what the weights know were not "
            "tried",
        "lengths": "completions end after {tokens} tokens: longer ones were not tried",
        "real_scale": "at real scale nothing is saved, and the program ends behind the training",
        "rows": "of large data only the first rows were read: what comes later in `{path}` was not looked at",
        "steps": "the training ends after {steps} steps: what happens later was not seen",
        "compile": "`torch.compile` is off on a machine without a GPU",
        "gguf": "a GGUF file is loaded as it is",
        "not_in_the_run": "the run asks for none",
        "nothing_saved": "the run saved no checkpoint to resume from",
        "resume_off": "`--no-resume`: the second start was left out",
        "broke_before": "the run broke before it",
        "no_overlay": "writes are not held in an overlay ({why}): what was there before may not be overwritten or "
            "deleted",
        "refused": "the script changes `{path}`, which was there before: refused",
        "quantised": "weights quantised with `{method}` were replaced by plain ones",
        "not_made": "no tiny model could be made of `{name}` ({error}): the real one was loaded",
        "not_main_thread": "`{function}` runs in a thread: only its own completions were tried",
        "unusual_call": "`{function}` is called in a way that cannot be repeated",
        "own_checkpoint": "the checkpoint `{folder}` was compared by its headers and not loaded",
        "loop": "the loop was ended after {steps} steps: what it does at its end was not tried",
        "no_step_hook": "this torch tells nobody of an optimizer's steps: the loop was ended by the deadline",
        "framework": "nothing was started: {framework} runs in workers of its own, which are not rehearsed here",
        "remote": "remote addresses were refused: {hosts}",
        "no_answers": "the data has no column of right answers that `{function}` reads: what it earns was not judged",
        "models_as_rewards": "rewards given by models were not tried as an adversary would",
        "several_nodes": "one machine of {nodes}: what happens between nodes was not tried",
    },
    "zh": {
        "no_gpu": "本机没有 GPU:未尝试 GPU 上的精度、内核、显存和速度",
        "no_engine": "vLLM 无法在此运行:生成改由 Transformers 完成;未尝试引擎和权重更新",
        "server": "绝不联系正在运行的 vLLM 服务器:生成改由 Transformers 完成;未尝试权重更新",
        "in_parts": "未尝试引擎是否跟随:每个 rank 只持有策略的一部分",
        "not_seen": "未看到引擎是否跟随:{reason}",
        "no_vllm": "该运行没有自己的引擎:生成来自被训练的模型",
        "uploads": "不上传任何内容,也不创建仓库",
        "trackers": "跟踪器已关闭:所需的包已导入,没有发送任何内容",
        "tiny": "模型换成了相同结构的微型模型:未尝试显存、速度以及权重所含的知识",
        "lengths": "生成在 {tokens} 个 token 后结束:未尝试更长的生成",
        "real_scale": "真实规模下不保存任何内容,程序在训练后结束",
        "rows": "大型数据只读取了前面的行:未查看 `{path}` 后面的内容",
        "steps": "训练在 {steps} 步后结束:未看到之后的情况",
        "compile": "没有 GPU 的机器上关闭了 `torch.compile`",
        "gguf": "GGUF 文件按原样加载",
        "not_in_the_run": "该运行没有要求",
        "nothing_saved": "该运行没有保存可供恢复的检查点",
        "resume_off": "`--no-resume`:省略了第二次启动",
        "broke_before": "运行在此之前就出错了",
        "no_overlay": "写入没有放在 overlay 中({why}):不得覆盖或删除先前已有的内容",
        "refused": "脚本修改先前已有的 `{path}`:已拒绝",
        "quantised": "用 `{method}` 量化的权重已换成普通权重",
        "not_made": "无法为 `{name}` 制作微型模型({error}):加载了真实模型",
        "not_main_thread": "`{function}` 在线程中运行:只尝试了它自己的生成",
        "unusual_call": "`{function}` 的调用方式无法重复",
        "own_checkpoint": "检查点 `{folder}` 只按文件头比较,没有加载",
        "loop": "循环在 {steps} 步后被结束:未尝试它结束时所做的事",
        "no_step_hook": "此版本的 torch 不通知优化器的步:循环由期限结束",
        "framework": "没有启动任何内容:{framework} 在自己的 worker 中运行,无法在此演练",
        "remote": "已拒绝远程地址:{hosts}",
        "no_answers": "数据中没有 `{function}` 读取的正确答案列:未判断它给出的分数",
        "models_as_rewards": "由模型给出的奖励没有用对抗性的回答尝试",
        "several_nodes": "只有 {nodes} 台机器中的一台:未尝试节点之间的情况",
    },
}  # fmt: skip

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "begins": "rehearsing; at most {seconds:.0f} s. Not rehearsed:",
        "step": "one step took {seconds:.2f} s with the tiny model; it says nothing of the real one's speed",
        "mapping": "mapping all {rows:,} rows will take about {duration} (measured on {measured:,} rows)",
        "memory": "memory of the real model: `doctor plan -- {command}`",
        "follows": "after a large step trainer and engine give the same tokens the same log probabilities, {gap:.2g} "
        "apart (before it {before:.2g}, the engine from itself {noise:.2g})",
        "does_not_follow": "after a large step trainer and engine differ by {gap:.2g} a token (before it {before:.2g})",
        "interrupted": "interrupted: nothing is left running",
    },
    "zh": {
        "begins": "开始演练;最长 {seconds:.0f} 秒。不演练:",
        "step": "微型模型的一步用时 {seconds:.2f} 秒;这不代表真实模型的速度",
        "mapping": "映射全部 {rows:,} 行大约需要 {duration}(在 {measured:,} 行上测得)",
        "memory": "真实模型的显存:`doctor plan -- {command}`",
        "follows": "一大步之后,trainer 和引擎对相同 token 给出相同的对数概率,相差 {gap:.2g}(之前 {before:.2g},"
        "引擎与自身相差 {noise:.2g})",
        "does_not_follow": "一大步之后,trainer 和引擎每个 token 相差 {gap:.2g}(之前 {before:.2g})",
        "interrupted": "已中断:没有留下任何进程",
    },
}
