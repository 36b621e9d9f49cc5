"""The ranks of a group bring different things to one operation: other parameters, or tensors of other sizes.

## What it means
DDP compares the parameters of all ranks when it wraps a model; collectives need tensors of one size on each. They
differ where something was built per rank: another number of classes, tokens added on one rank only, a batch that is
shorter on the last one, another version of a file.
## What it does to a run
RuntimeError on all ranks, or a hang where nobody compares.
## What to do
Build the same on every rank; pad or gather objects where sizes may differ.
## How it is found
In a log: by the words of DDP and of gloo.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather
https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.pad_across_processes
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR061", name="models-differ-between-ranks", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"RuntimeError: DDP expects same model across all ranks, but Rank (?P<rank>\d{1,6}) has (?"
            r"P<own>\d{1,9}) params, while rank (?P<other>\d{1,6}) has inconsistent (?P<theirs>\d{1,9}"
            r") params"
        ),
        "",
        Message(
            en=Words(
                "the ranks built different models: rank {rank} has {own} parameters, rank {other} has {theirs}",
                "DDP needs the same parameters in the same order on each rank. Something decides by rank: a label "
                "set or vocabulary read from a part of the data, layers frozen or added on one rank, another file "
                "or version on another node.",
                "Print `sum(1 for _ in model.parameters())` and the configuration on each rank. Read labels and "
                "vocabulary from the whole data set, do the same on every rank before wrapping, and compare files "
                "and versions of the nodes.",
            ),
            zh=Words(
                "各进程构建的模型不同:rank {rank} 有 {own} 个参数,rank {other} 有 {theirs} 个",
                "DDP 要求每个进程的参数相同且顺序一致。有内容随 rank 变化:只从部分数据读取的标签集或词表、只在某个进"
                "程上冻结或增加的层、另一节点上的文件或版本不同。",
                "在每个进程打印 `sum(1 for _ in model.parameters())` 和配置。标签与词表从整个数据集读取,封装之前各进"
                "程做同样的事,并比较各节点的文件与版本。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: (?:\[?(?P<param>[\w.]{0,80})\]?:? ?params?\[?\d{0,6}\]? in this process wi"
            r"th sizes|.{0,60}appears not to match (?:sizes|strides) of the same param in process)"
        ),
        "",
        Message(
            en=Words(
                "a parameter has another shape or memory layout on another rank",
                "DDP compares all shapes. Tokens were added, a head was sized or a checkpoint was loaded on some "
                "ranks only, or by data that differs.",
                "Print `{{name: p.shape for name, p in model.named_parameters()}}` on each rank; resize embeddings "
                "and build heads on every rank before wrapping.",
            ),
            zh=Words(
                "某个参数在另一个进程上的形状或内存布局不同",
                "DDP 会比较所有形状。只在部分进程上添加了 token、设置了输出头大小或加载了检查点,或它们依据的数据不同。",
                "在每个进程打印 `{{name: p.shape for name, p in model.named_parameters()}}`;在封装之前,每个进程都要"
                "调整嵌入并构建输出头。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: ProcessGroupGloo::(?P<operation>\w{3,40}): invalid tensor size at index \d"
            r"{1,6} \(expected \((?P<expected>[\d, ]{1,60})\), got \((?P<got>[\d, ]{1,60})\)\)"
        ),
        "",
        Message(
            en=Words(
                "`{operation}` was given tensors of different sizes: ({expected}) and ({got})",
                "A collective needs one size on every rank; the last batch, generated texts and filtered rows differ.",
                "Pad before: `accelerator.pad_across_processes(x, dim=1)` and `accelerator.gather_for_metrics(x)`; "
                "gather texts and lists with `all_gather_object`; or drop the incomplete batch "
                "(`dataloader_drop_last=True`).",
            ),
            zh=Words(
                "`{operation}` 得到的张量大小不同:({expected}) 与 ({got})",
                "集合通信要求各进程的大小一致;最后一个批次、生成的文本和筛选后的行可能不同。",
                "先填充:`accelerator.pad_across_processes(x, dim=1)` 与 `accelerator.gather_for_metrics(x)`;文本和列"
                "表用 `all_gather_object`;或丢弃不完整的批次(`dataloader_drop_last=True`)。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits, LIKELY)
