"""Pieces of a checkpoint are missing.

## What it means
A checkpoint in pieces by rank lacks some of them: the save was cut off, or the run had several nodes without a common
disk, so that each node holds the pieces of its own ranks.
## What it does to a run
Neither resuming nor joining the weights works: the loader stops at the first file that is not there.
## What to do
Copy the pieces from the other nodes into one folder. Where they are nowhere, go back to the checkpoint before.
## How it is found
The ranks in the names of the files against the number of ranks in them (veRL), or against the highest rank (ZeRO);
torch's `.metadata`, which is written last.
In a log: by the exception of DeepSpeed's script.
## References
https://github.com/volcengine/verl/blob/main/verl/model_merger/fsdp_model_merger.py
https://github.com/volcengine/verl/blob/main/verl/utils/checkpoint/fsdp_checkpoint_manager.py
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/utils/zero_to_fp32.py
https://pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from doctor.checks.checkpoint._pieces import shown
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.checkpoints import WEIGHTS, Checkpoints

PROBLEM = Problem(id="CKP016", name="checkpoint-pieces-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Expected (?P<world>\d{1,6}) of '\*_optim_states\.pt' under '(?P<path>[^'\n]{1,300})' but found "
        r"(?P<there>\d{1,6}) files"
    ),
    Signature(
        r"FileNotFoundError: \[Errno 2\] [^:'\n]{2,60}: '(?P<folder>[^'\n]{1,400})/(?:"
        r"model|optim|extra_state)_world_size"
        r"_(?P<ranks>\d{1,6})_rank_(?P<rank>\d{1,6})\.pt'"
    ),
    Signature(r"FileNotFoundError: \[Errno 2\] [^:'\n]{2,60}: '(?P<place>[^'\n]{1,400})/\.metadata'"),
)

LOG_MESSAGE_RANK = Message(
    en=Words(
        "the shard of rank {rank} is missing: the checkpoint was saved by {ranks} ranks",
        "veRL and Trinity-RFT save one file for each rank, and all are needed to resume or to join the weights. The "
        "nodes of that run had no common disk and each kept its own ranks' files, or the save was cut off.",
        "Look for `*_world_size_{ranks}_rank_{rank}.pt` on the other nodes and copy all files into this folder; if it "
        "is nowhere, take the checkpoint before. Point `trainer.default_local_dir` at a disk that all nodes share.",
    ),
    zh=Words(
        "缺少 rank {rank} 的分片:该检查点由 {ranks} 个 rank 保存",
        "veRL 与 Trinity-RFT 为每个 rank 各存一个文件,恢复训练或合并权重时都需要齐全。"
        "那次运行的各节点没有共享磁盘,各自只存了自己 rank 的文件,或保存被中断。",
        "在其他节点上查找 `*_world_size_{ranks}_rank_{rank}.pt` 并把所有文件复制到该目录;若都找不到,请用上一个检查点。"
        "把 `trainer.default_local_dir` 指向所有节点共享的磁盘。",
    ),
)

OTHER_WORLD = Message(
    en=Words(
        "no shard of rank {rank} for {ranks} ranks: the checkpoint is of another number, or not all here",
        "To resume, veRL and Trinity-RFT open the file that carries the number of ranks of this run and the own rank "
        "in its name. A checkpoint of another number of GPUs has no such file, and neither has a node whose disk holds "
        "the files of other ranks.",
        "`ls` the folder on every node: the names tell of how many ranks the checkpoint is "
        "(`model_world_size_8_rank_0.pt`: 8). Resume with that number of GPUs; with another one join the shards "
        "(`python -m verl.model_merger merge --backend fsdp --local_dir DIR/actor --target_dir OUT`) and begin anew "
        "from these weights. If only files of some ranks are there, copy the others from their nodes.",
    ),
    zh=Words(
        "没有 {ranks} 个 rank 中 rank {rank} 的分片:检查点的 rank 数不同,或文件不全",
        "恢复训练时,veRL 与 Trinity-RFT 打开的文件名中带有本次运行的 rank 数和自己的 rank。由不同数量的 GPU 保存的检查"
        "点没有这样的文件;磁盘上只有其他 rank 文件的节点也没有。",
        "在每个节点上 `ls` 该目录:文件名说明检查点由多少个 rank 保存(`model_world_size_8_rank_0.pt` 即为 8)。用相同数量"
        "的 GPU 恢复;数量不同时先合并分片(`python -m verl.model_merger merge --backend fsdp --local_dir DIR/actor "
        "--target_dir OUT`),再从该权重重新开始。若只缺部分 rank 的文件,从相应节点复制过来。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{there} of {world} ZeRO partitions are there",
        "The checkpoint was cut off while it was saved, or the nodes of the run have no common disk and each holds "
        "its own ranks' part. Without all of them the weights cannot be joined.",
        "Copy the missing files from the other nodes into the same folder; where they are nowhere, take the "
        "checkpoint before.",
    ),
    zh=Words(
        "{world} 个 ZeRO 分片中只有 {there} 个",
        "检查点在保存时被中断,或者各节点没有共享磁盘,各自只存了自己 rank 的部分。缺少任何一个都无法合并权重。",
        "从其他节点把缺少的文件复制到同一目录;如果都找不到,请用上一个检查点。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{count} pieces of checkpoint `{folder}` are missing, first `{first}`",
        "The save was cut off, or the nodes of the run have no common disk and each holds its own ranks' part. Neither "
        "resuming nor joining the weights works without them.",
        "Copy the missing files from the other nodes into the same folder; where they are nowhere, take the "
        "checkpoint before.",
    ),
    zh=Words(
        "检查点 `{folder}` 缺少 {count} 个分片,首先是 `{first}`",
        "保存被中断,或者各节点没有共享磁盘,各自只存了自己 rank 的部分。缺少它们既不能恢复训练,也不能合并权重。",
        "从其他节点把缺少的文件复制到同一目录;如果都找不到,请用上一个检查点。",
    ),
)


@check(PROBLEM)
def pieces_missing(checkpoints: Checkpoints) -> Judgement:
    """A run that is saving right now looks the same for a moment."""
    for each in checkpoints.found:
        if each.kind == WEIGHTS or not each.missing:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            where=Where(file=each.folder, step=each.step),
            evidence=(Evidence(each.folder, f"{each.files} files are there; missing: {', '.join(each.missing[:4])}"),),
            folder=shown(each.folder),
            count=len(each.missing),
            first=each.missing[0].rpartition("/")[2],
        )


METADATA = Message(
    en=Words(
        "the distributed checkpoint `{place}` has no `.metadata`",
        "torch writes the shards (`__0_0.distcp` ...) first and `.metadata` last, by one rank. The save was cut off "
        "before that, the folder is another one than meant (a level too high or too low), or that rank wrote to the "
        "disk of its own node.",
        "Look with `ls -a` at that folder and the ones around it, on the node of rank 0 as well: copy `.metadata` "
        "(hidden, so `cp *` leaves it out) beside the shards. Where it is nowhere, take the checkpoint before; save to "
        "a disk that all nodes share.",
    ),
    zh=Words(
        "分布式检查点 `{place}` 没有 `.metadata`",
        "torch 先写各分片(`__0_0.distcp` 等),最后由一个 rank 写 `.metadata`。保存在此之前被中断,目录不是所指的那个(高了"
        "或低了一级),或该 rank 写到了自己节点的磁盘上。",
        "用 `ls -a` 查看该目录及其上下级,也查看 rank 0 所在节点:把 `.metadata`(隐藏文件,`cp *` 会漏掉)复制到分片旁边。"
        "若都找不到,请用上一个检查点;并保存到所有节点共享的磁盘。",
    ),
)


def explain(hits: Hits) -> Finding:
    """One rank's shard, the table of a distributed checkpoint, or a count of ZeRO's partitions.

    The merger reads the number of ranks from the checkpoint, a run that resumes takes its own.
    """
    place = hits.get("place")
    if place:
        return found(
            PROBLEM, METADATA, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, place=shown(place)
        )
    rank = hits.get("rank")
    merging = any("merger" in frame for frame in hits.first.frames)
    return found(
        PROBLEM,
        (LOG_MESSAGE_RANK if merging else OTHER_WORLD) if rank else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if merging or not rank else LIKELY,
        rank=rank or "",
        ranks=hits.get("ranks") or "",
        there=hits.get("there") or "",
        world=hits.get("world") or "",
    )
