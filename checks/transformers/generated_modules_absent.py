"""A process cannot import code that another process of the run downloaded with a model or data set.

## What it means
`trust_remote_code` copies a model's Python files into a cache folder and imports them as `transformers_modules` (data
sets: `datasets_modules`). No package of that name exists; another process knows it only if it loaded the same model
by itself or has the folder in its path.
## What it does to a run
A worker that gets such an object (a configuration, a tokenizer, a processor) fails while it unpacks it.
## What to do
Share the folder with all workers, or use code that is part of Transformers.
## How it is found
In a log: by the name of the module.
## References
https://github.com/vllm-project/vllm/pull/871
https://github.com/vllm-project/vllm/issues/6607
https://github.com/verl-project/verl/issues/4482
https://huggingface.co/docs/transformers/models#custom-models
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF056", name="generated-modules-absent", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"No module named '(?P<module>transformers_modules|datasets_modules)(?:\.[^'\n]{1,200})?'"),)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "a process got an object of a model's own code (`{module}`) and cannot import that code",
        "`{module}` is no package that could be installed. It is the cache folder into which one process put the "
        "Python files that came with the model; a worker on another node, with another HF_HOME or started before, "
        "does not have it in its path and fails when it unpickles a configuration, tokenizer or processor of such "
        "a class.",
        "Do not pip install it. Put the cache on a disk that all nodes share and into the path of all workers: "
        "`export HF_MODULES_CACHE=/shared/hf_modules PYTHONPATH=/shared/hf_modules:$PYTHONPATH` before `ray start` "
        "on every node. Or let every process load model and tokenizer by name with `trust_remote_code=True` "
        "instead of handing the object over; or upgrade Transformers to a release that has the architecture itself "
        "and switch `trust_remote_code` off. A folder name with a dot in the model's path breaks the import as "
        "well: rename it.",
    ),
    zh=Words(
        "某进程收到模型自带代码(`{module}`)的对象,却无法导入该代码",
        "`{module}` 不是可以安装的包,而是某个进程存放模型所附 Python 文件的缓存目录;在其他节点上、HF_HOME 不同或更"
        "早启动的 worker 的路径中没有它,反序列化此类配置、分词器或 processor 时就会失败。",
        "不要 pip install 它。把该缓存放在所有节点共享的磁盘,并加入所有 worker 的路径:在每个节点 `ray start` 之前 "
        "`export HF_MODULES_CACHE=/shared/hf_modules PYTHONPATH=/shared/hf_modules:$PYTHONPATH`。或让每个进程用 "
        "`trust_remote_code=True` 按名称自行加载模型与分词器,而不是传递对象;或把 Transformers 升级到自带该架构的版"
        "本并关闭 `trust_remote_code`。模型路径的目录名带点也会使导入失败:请改名。",
    ),
)
