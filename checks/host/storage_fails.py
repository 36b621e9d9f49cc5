"""The kernel reports a disk that fails or a file system that it made read-only.

## What it means
A drive no longer answers, returns errors, or was switched off after a reset that failed; file systems on it are
damaged or were turned read-only to protect them.
## What it does to a run
Reads and writes of weights, data sets, caches and checkpoints fail with input/output errors or hang; a checkpoint in
the making is incomplete.
## What to do
Drain the node, look at the drive, repair or replace it; resume elsewhere from the last whole checkpoint.
## How it is found
In a log: by the kernel's lines about the device or the file system.
## References
https://github.com/leptonai/gpud/blob/main/components/disk/kmsg_matcher.go
https://docs.kernel.org/admin-guide/ext4.html
https://docs.kernel.org/admin-guide/xfs.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="HST018", name="storage-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\bnvme (?P<device>nvme\d{1,3}): (?:I/O [^\n]{1,120}timeout|Device not ready; aborting reset|Disa"
            r"bling device after reset failure|Removing after probe failure|controller is down; will reset)"
        ),
        Message(
            en=Words(
                "the drive `{device}` does not answer the kernel",
                "An NVMe drive let commands run into their time-out, or was switched off because a reset did "
                "not help. It is failing, too hot, badly seated, or its power saving does not work on this "
                "board. Files on it cannot be read or written; the training program is not the cause.",
                "Drain the node and look at the drive: `sudo smartctl -a /dev/{device}`, `sudo nvme smart-log "
                "/dev/{device}`, `dmesg -T | grep -i nvme`. A reboot may bring it back; if it happens again "
                "replace the drive (or try `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off` on the "
                "kernel's command line). Resume on another node or disk from the last checkpoint that is whole.",
            ),
            zh=Words(
                "磁盘 `{device}` 对内核没有响应",
                "该 NVMe 盘的命令超时,或复位失败后被内核停用:磁盘损坏、过热、接触不良,或省电模式与主板不兼容。"
                "其上的文件无法读写,与训练程序无关。",
                "排空该节点并检查磁盘:`sudo smartctl -a /dev/{device}`、`sudo nvme smart-log /dev/{device}`、"
                "`dmesg -T | grep -i nvme`。重启可能恢复;若再次发生请更换磁盘(或在内核命令行尝试 "
                "`nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`)。在其他节点或磁盘上从最近的完整检查点继"
                "续。",
            ),
        ),
    ),
    (
        (
            r"\b(?P<system>EXT4-fs|XFS|BTRFS|F2FS)(?: error| critical| warning)? ?\(?(?:device )?(?P<device>"
            r"[\w.\-]{1,40})\)?[^\n]{0,160}(?:Remounting filesystem read-only|forced readonly|I/O error while "
            r"writing superblock|metadata I/O error|Corruption (?:of in-memory data|detected)|Filesystem has b"
            r"een shut down|Shutting down filesystem)"
        ),
        Message(
            en=Words(
                "the kernel gave up the {system} file system on `{device}`: damaged or read-only",
                "It found errors that it could not write around, and turned the file system read-only or off "
                "to protect what is there. Every later write to it fails (Errno 30 or 5). Behind it lies a "
                "failing disk, a lost connection to it, or damage from an earlier crash.",
                "Look at the lines before it for the disk's own errors (`dmesg -T | grep -iE 'nvme|ata|I/O "
                "error'`) and at `sudo smartctl -a`. Unmount it and repair (`fsck`, `xfs_repair`), or replace "
                "the disk; only then remount or reboot. Point `output_dir` and the caches to another disk "
                "meanwhile and resume from the last whole checkpoint.",
            ),
            zh=Words(
                "内核放弃了 `{device}` 上的 {system} 文件系统:已损坏或变为只读",
                "内核遇到无法绕过的写入错误,为保护数据将文件系统改为只读或关闭。之后的写入都会失败(Errno 30 或 "
                "5)。原因是磁盘故障、与磁盘的连接中断,或先前崩溃造成的损坏。",
                "在其之前的行中查找磁盘自身的错误(`dmesg -T | grep -iE 'nvme|ata|I/O error'`),并查看 `sudo "
                "smartctl -a`。卸载后修复(`fsck`、`xfs_repair`)或更换磁盘,然后再挂载或重启。期间把 "
                "`output_dir` 与缓存指向其他磁盘,并从最近的完整检查点继续。",
            ),
        ),
    ),
    (
        (
            r"(?:blk_update_request: |critical )?(?:I/O|medium|target) error, dev (?P<device>(?!fd|sr|loop)"
            r"[\w.\-]{1,40}), sector|Buffer I/O error on dev(?:ice)? (?P<buffer>(?!fd|sr|loop)[\w.\-]{1,40}), "
            r"logical block|md/raid\S{1,20}: Disk failure on (?P<member>[\w.\-]{1,40})|\bblock (?P<path>nvme\w"
            r"{1,20}): no available path"
        ),
        Message(
            en=Words(
                "the kernel could not read or write a disk",
                "The disk, its cable or the remote store behind it returned errors. Files on it are lost or "
                "torn; the training program is not the cause.",
                "Drain the node. `dmesg -T | grep -iE 'I/O error|nvme|ata'` shows the device, `sudo smartctl "
                "-a /dev/DEVICE` its health; check the file system (`fsck`, `xfs_repair`) and replace the disk "
                "if errors come back. Resume on another disk or node from the last checkpoint that is whole.",
            ),
            zh=Words(
                "内核无法读写某块磁盘",
                "磁盘、线缆或其后的远程存储返回错误。其上的文件可能丢失或不完整,与训练程序无关。",
                "排空该节点。`dmesg -T | grep -iE 'I/O error|nvme|ata'` 显示设备,`sudo smartctl -a "
                "/dev/DEVICE` 显示健康状况;检查文件系统(`fsck`、`xfs_repair`),若错误再现则更换磁盘。在其他磁盘"
                "或节点上从最近的完整检查点继续。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
