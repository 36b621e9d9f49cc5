"""The index of a retriever cannot be read, or does not fit on the GPU.

## What it means
Agents that search (Search-R1 and its kin) ask a retrieval server that holds an index of faiss: for Wikipedia with e5
about 60 GB flat, read from one file and perhaps copied to GPUs.
## What it does to a run
The retrieval server ends at its start, and the training that asks it gets refused connections.
## What to do
Give the path of the whole file, and a place that is large enough for it.
## How it is found
In a log: by faiss's own errors.
## References
https://github.com/facebookresearch/faiss/wiki/Faiss-on-the-GPU
https://github.com/PeterGriffinJin/Search-R1/blob/main/docs/retriever.md
https://github.com/PeterGriffinJin/Search-R1/issues/57
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="DAT057", name="faiss-index-unusable", severity=ERROR, since="0.1")

MEMORY = Message(
    en=Words(
        "the GPU has no memory for the index of faiss ({size} bytes in one piece)",
        "A flat index is copied to the GPU as a whole, and more while it is copied; the training or another "
        "server may hold the rest of that GPU.",
        "Spread it over several free GPUs in half precision (`co.useFloat16 = True; co.shard = True`, "
        "`CUDA_VISIBLE_DEVICES` with GPUs that the training does not use), leave it on the CPU (no "
        "`--faiss_gpu`), or take a smaller kind of index (IVF, PQ, HNSW: `e5_HNSW64.index`).",
    ),
    zh=Words(
        "GPU 没有足够显存容纳 faiss 索引(单块 {size} 字节)",
        "flat 索引会整体复制到 GPU,复制过程中还需要更多;训练或其他服务可能占用了该 GPU 的其余显存。",
        "以半精度分布到多块空闲 GPU(`co.useFloat16 = True; co.shard = True`,`CUDA_VISIBLE_DEVICES` 选训练不"
        "用的 GPU),留在 CPU 上(不加 `--faiss_gpu`),或使用更小的索引类型(IVF、PQ、HNSW:`e5_HNSW64.index`)。",
    ),
)
ABSENT = Message(
    en=Words(
        "the file of the index of faiss is absent: `{path}`",
        "The path in the launch script is that of an example, or the parts were downloaded and not put together.",
        "Download it and join its parts (`cat part_* > e5_Flat.index`), and give that path (`--index_path`); an "
        "index of your own is built first (`search_r1/search/build_index.sh`). Check with `ls -lh`.",
    ),
    zh=Words(
        "faiss 索引文件不存在:`{path}`",
        "启动脚本中的路径是示例路径,或已下载各分片但没有合并。",
        "下载并合并分片(`cat part_* > e5_Flat.index`),再给出该路径(`--index_path`);自己的索引需先构建"
        "(`search_r1/search/build_index.sh`)。用 `ls -lh` 检查。",
    ),
)
TORN = Message(
    en=Words(
        "the file of the index of faiss is incomplete or no index",
        "Reading ended before the end that its header tells: the download or `cat` of the parts broke off, the "
        "disk was full, or it is a pointer of git LFS.",
        "Compare its size with the source (`ls -l`), download it again, and join all parts in order (`cat part_aa "
        "part_ab > e5_Flat.index`).",
    ),
    zh=Words(
        "faiss 索引文件不完整或不是索引",
        "读取在头部声明的结尾之前就结束:下载或分片合并中断,磁盘已满,或它是 git LFS 指针。",
        "与来源比较大小(`ls -l`),重新下载,并按顺序合并全部分片(`cat part_aa part_ab > e5_Flat.index`)。",
    ),
)
CPU = Message(
    en=Words(
        "the installed faiss is the build for the CPU, and its functions for GPUs are asked for",
        "`faiss-cpu` has none of them; it also hides an installed `faiss-gpu` of the same import name.",
        "`conda install -c pytorch -c nvidia faiss-gpu` in an environment of its own (or `pip install "
        "faiss-gpu-cu12`), after `pip uninstall faiss-cpu`; or start the retriever without `--faiss_gpu`.",
    ),
    zh=Words(
        "安装的 faiss 是 CPU 版本,而代码调用了 GPU 函数",
        "`faiss-cpu` 没有这些函数;它还会遮蔽同名导入的 `faiss-gpu`。",
        "`pip uninstall faiss-cpu` 之后,在独立环境中 `conda install -c pytorch -c nvidia faiss-gpu`(或 `pip "
        "install faiss-gpu-cu12`);或启动检索服务时不加 `--faiss_gpu`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"StandardGpuResources: alloc fail [^\n]{0,120}size (?P<size>\d{1,15}) bytes \(cudaMalloc error o"
            r"ut of memory"
        ),
        MEMORY,
        CONFIRMED,
    ),
    (
        Signature(r"faiss[^\n]{0,200}could not open (?P<path>[^\n]{1,250}?) for reading", keywords=("faiss",)),
        ABSENT,
        CONFIRMED,
    ),
    (
        Signature(
            r"faiss::[^\n]{0,200}(?:failed: read error|Index type 0x[0-9a-f]{1,12} [^\n]{0,40}not recognized)",
            keywords=("faiss::",),
        ),
        TORN,
        CONFIRMED,
    ),
    (
        Signature(
            r"AttributeError: module 'faiss' has no attribute '(?:StandardGpuResources|index_cpu_to_all_gpus|"
            r"index_cpu_to_gpu|GpuMultipleClonerOptions|GpuClonerOptions|get_num_gpus)'"
        ),
        CPU,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
