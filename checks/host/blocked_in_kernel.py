"""A process waits inside the kernel, usually for storage, and cannot be stopped.

## What it means
The kernel reports tasks that stood in an uninterruptible wait (state D) for two minutes: for a network file system
whose server does not answer, a disk that fails, or a driver.
## What it does to a run
The rank stands still and no signal ends it; the others run into the time-out of a collective.
## What to do
Look what the task waits for; bring the storage back or remount it, otherwise reboot the node.
## How it is found
In a log: by the kernel's hung-task lines, or by those of NFS and Lustre about a server that is gone.
## References
https://github.com/leptonai/gpud/blob/main/components/cpu/kmsg_matcher.go
https://docs.kernel.org/admin-guide/sysctl/kernel.html
https://github.com/torvalds/linux/blob/master/kernel/hung_task.c
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="HST019", name="blocked-in-kernel", severity=ERROR, since="0.1")

SERVER = Message(
    en=Words(
        "the storage server of a network mount does not answer the kernel",
        "Every process that touches the mount waits inside the kernel until the server is back: it can "
        "be neither used nor killed, and other ranks run into the time-out of a collective.",
        "Check the server and the network to it (`ping`, `showmount -e SERVER`, `lfs check servers`, "
        "`ceph -s`), and who else lost it. When it is back the processes go on; if it stays away, "
        "remount (`umount -fl`) or reboot the node, and resume from the last checkpoint. Keep data "
        "caches and temporary files on a local disk.",
    ),
    zh=Words(
        "网络挂载的存储服务器对内核没有响应",
        "接触该挂载点的进程都会在内核中等待服务器恢复:既不能工作也不能被杀死,其他 rank 会在集合通信中超时。",
        "检查服务器及到它的网络(`ping`、`showmount -e SERVER`、`lfs check servers`、`ceph -s`),以及还有"
        "哪些节点失去了它。恢复后进程会继续;若不恢复,重新挂载(`umount -fl`)或重启节点,并从最近的检查点"
        "继续。数据缓存与临时文件放在本地磁盘。",
    ),
)

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\btask (?P<task>[^:\n]{1,60}):(?P<pid>\d{1,9})[^\n]{0,60}? blocked for more than (?P<seconds>\d"
            r"{1,6}) seconds"
        ),
        Message(
            en=Words(
                "`{task}` (pid {pid}) was blocked inside the kernel for more than {seconds} s",
                "It sits in an uninterruptible wait (state D) and no signal ends it. Nearly always it waits "
                "for storage: a network or FUSE mount (NFS, Lustre, JuiceFS) whose server does not answer, or "
                "a disk that fails; more rarely for a driver, the GPU's included. Other ranks then run into "
                "the time-out of a collective: that is only a symptom.",
                "Read the call trace below the line: names such as nfs, fuse, lustre, ext4, nvme or nvidia "
                "tell what it waits for. Check the mount (`df -h` and `ls` on it, `mount | grep -E "
                "'nfs|fuse|lustre'`), the storage server and `dmesg -T | grep -iE 'I/O error|nvme|not "
                "responding'`. Bring the server back or remount (`umount -fl`); else drain and reboot the "
                "node, and resume from the last checkpoint.",
            ),
            zh=Words(
                "`{task}`(pid {pid})在内核中阻塞超过 {seconds} 秒",
                "它处于不可中断等待(D 状态),任何信号都无法结束。几乎总是在等待存储:网络或 FUSE 挂载(NFS、Lustre"
                "、JuiceFS)的服务器没有响应,或磁盘故障;少数情况是等待驱动(包括 GPU 驱动)。其他 rank 的集合通信"
                "超时只是症状。",
                "查看该行下方的调用栈:nfs、fuse、lustre、ext4、nvme、nvidia 等名称说明它在等什么。检查挂载点(对"
                "其 `df -h`、`ls`,`mount | grep -E 'nfs|fuse|lustre'`)、存储服务器,以及 `dmesg -T | grep -iE "
                "'I/O error|nvme|not responding'`。恢复服务器或重新挂载(`umount -fl`);否则排空并重启节点,从最近"
                "的检查点继续。",
            ),
        ),
    ),
    (r"\bnfs\w{0,8}: server (?P<server>[\w.:\-]{1,120}) not responding", SERVER),
    (r"\bceph: (?:\[[^\]\n]{1,80}\]: )?mds\d{1,4} hung", SERVER),
    (r"\bceph: (?:\[[^\]\n]{1,80}\]: )?mds\d{1,4} caps stale", SERVER),
    (r"\bLustre(?:Error)?: [^\n]{1,200}Connection to [^\n]{1,120} was lost; in progress operations", SERVER),
    (
        (
            r"\bLustreError: (?:[^\n]{1,120}: )?Communicating with [^\n]{1,60}, operation \w{1,40} failed with "
            r"-(?:107|110|114)\b"
        ),
        SERVER,
    ),
)

#: what every line of a case holds; what the patterns give by themselves ("down", "hung") stands in ordinary lines
WORDS = (" blocked for more than ", " not responding", "ceph: ", "ceph: ", "; in progress operations", "LustreError: ")

SIGNATURES = tuple(
    Signature(pattern, keywords=(words,), symptom_of=("HST018",))
    for (pattern, _), words in zip(CASES, WORDS, strict=True)
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
