"""veRL's asynchronous vLLM server finds another number of workers than its tensor parallel size needs.

## What it means
In releases around 0.4 to 0.5 the server does not start workers of its own. It looks for the trainer's actors by their
names and takes `data parallel x tensor parallel` of them.
## What it does to a run
The server ends while it starts.
## What to do
A tensor parallel size that the GPUs of the trainer fill, and workers that are up before the server.
## How it is found
In a log: by the assertion, which tells all the numbers.
## References
https://github.com/verl-project/verl/issues/1365
https://github.com/verl-project/verl/blob/v0.5.0/verl/workers/rollout/vllm_rollout/vllm_async_server.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL031", name="server-finds-other-workers", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"instance_id: \S{1,120} has (?P<got>\d{1,6}) (?:actors|workers), but vllm_dp_size: (?P<dp>\d{1,6}) \*"
        r" vllm_tp_size: (?P<tp>\d{1,6}) = (?P<wanted>\d{1,6}) is expected"
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "the asynchronous vLLM server found {got} workers and needs {wanted} ({dp} x {tp})",
        "It looks for the rollout workers among Ray's named actors of this run. With 0 it found none: they were not "
        "started before it, have ended, run in another Ray namespace, or carry another name prefix (a script of your "
        "own that makes the server without veRL's worker group), or the server's process started a Ray of its own "
        '(Ray then says "Started a local Ray instance") instead of joining the run\'s; or vLLM is newer than '
        "this veRL (or rLLM, which carries a veRL of its own) knows. With another number than "
        "{wanted} the tensor parallel size of the rollout does not fit the GPUs of the trainer.",
        "Let veRL start both (`actor_rollout_ref.rollout.mode=async` in its trainer), and look at the workers' logs "
        "for an earlier failure. Against a Ray of its own start the cluster first (`ray start --head`) and `export "
        "RAY_ADDRESS=auto`. Set `actor_rollout_ref.rollout.tensor_model_parallel_size` to a divisor of "
        "`trainer.n_gpus_per_node`. Compare vLLM with the release that the framework pins (rLLM and veRL of mid-2025: "
        "0.8.5). Newer releases start the server's workers differently: an upgrade takes this "
        "check away.",
    ),
    zh=Words(
        "异步 vLLM 服务器找到 {got} 个 worker,而需要 {wanted} 个({dp} x {tp})",
        "它在本次运行的 Ray 具名 actor 中查找 rollout worker。找到 0 个:worker 没有先于它启动、已经退出、位于另一个 "
        "Ray 命名空间,或名称前缀不同(自己的脚本在没有 veRL worker group 的情况下创建服务器);或服务器进程没有加入本次运"
        '行的 Ray,而是自己启动了一个(Ray 会输出 "Started a local Ray instance");或 vLLM 比该 veRL(或自带 veRL 的 rLLM)'
        "新。数目不是 {wanted}:rollout 的张量并行大小与训练器的 GPU 数不符。",
        "让 veRL 启动两者(在其训练器中设 `actor_rollout_ref.rollout.mode=async`),并在 worker 日志中查找更早的失败。若"
        "它自己启动了 Ray:先 `ray start --head` 并 `export RAY_ADDRESS=auto`。把 "
        "`actor_rollout_ref.rollout.tensor_model_parallel_size` 设为 `trainer.n_gpus_per_node` 的约数。将 vLLM 与框架"
        "限定的版本对照(2025 年中的 rLLM 与 veRL 为 0.8.5)。较新版本以不同方式启动服务器的 worker,升级后不再有此检查。",
    ),
)
