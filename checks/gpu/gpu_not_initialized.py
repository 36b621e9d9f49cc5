"""The NVIDIA driver could not initialize a GPU.

## What it means
The kernel module found the card on the bus and could not bring it up: it lost power or its link, its firmware does
not answer, nouveau holds it, the BIOS gave it no address space, or this driver does not support it.
## What it does to a run
The card is missing from nvidia-smi (`No devices were found`) and CUDA counts fewer GPUs, or none.
## What to do
Read the driver's own line; power-cycle the machine; install the right driver; free the card from nouveau or vfio.
## How it is found
In a log: by the lines of the kernel module (NVRM).
## References
https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1151
https://us.download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/commonproblems.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="GPU020", name="gpu-not-initialized", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\bNVRM: (?:The NVIDIA GPU [^\n]{1,80}(?:installed in this system is not supported|installed in t"
            r"his system requires)|[^\n]{0,80}is not supported by (?:the |this )?(?:NVIDIA )?(?:open |propriet"
            r"ary )?)|\bNVRM: installed in this system (?:is not supported|requires use of the NVIDIA open)|\b"
            r"NVRM: Open nvidia\.ko is only ready for use on Data Center GPUs"
        ),
        Message(
            en=Words(
                "the installed NVIDIA driver does not support this GPU",
                "Either the driver is too old for a new card or has dropped an old one, or it is the wrong "
                "kind: Blackwell cards need the open kernel modules, Maxwell to Volta the proprietary ones.",
                "Install the driver branch for the card: R570 or newer with the open modules "
                "(`nvidia-driver-580-open`) for Blackwell, R580 at most with the proprietary ones for Maxwell, "
                "Pascal and Volta. Then reboot and check `nvidia-smi`.",
            ),
            zh=Words(
                "已安装的 NVIDIA 驱动不支持此 GPU",
                "驱动对新卡来说太旧,或已不再支持旧卡,或种类不对:Blackwell 需要 open 内核模块,Maxwell 至 Volta "
                "需要 proprietary 模块。",
                "为该卡安装合适的驱动分支:Blackwell 用 R570 及以上的 open 模块"
                "(`nvidia-driver-580-open`),Maxwell、Pascal、Volta 用最高 R580 的 proprietary 模块。然后重启并"
                "检查 `nvidia-smi`。",
            ),
        ),
    ),
    (
        (
            r"\bNVRM: (?:This can occur when a driver such as|GPU [\w:.]{4,20} is already bound to|[^\n]{0,60}"
            r"nouveau, rivafb)"
        ),
        Message(
            en=Words(
                "another driver holds the GPU (nouveau or vfio), so the NVIDIA driver cannot have it",
                "The card was bound before the NVIDIA module came: by nouveau, which the kernel brings along, "
                "or by vfio-pci, which keeps it for a virtual machine.",
                "`lspci -nnk -d 10de:` shows the driver in use. For nouveau: `echo -e 'blacklist "
                "nouveau\\noptions nouveau modeset=0' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf`, "
                "rebuild the initramfs (`update-initramfs -u`, `dracut -f`) and reboot. For vfio-pci take its "
                "ids out of the kernel's command line.",
            ),
            zh=Words(
                "GPU 被其他驱动(nouveau 或 vfio)占用,NVIDIA 驱动无法使用",
                "在 NVIDIA 模块加载之前,该卡已绑定到内核自带的 nouveau,或为虚拟机保留的 vfio-pci。",
                "`lspci -nnk -d 10de:` 显示正在使用的驱动。nouveau:`echo -e 'blacklist nouveau\\noptions "
                "nouveau modeset=0' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf`,重建 "
                "initramfs(`update-initramfs -u`、`dracut -f`)并重启。vfio-pci:从内核命令行去掉其 id。",
            ),
        ),
    ),
    (
        (
            r"\bNVRM: (?:GPU (?P<pci>[\w:.]{4,20}): )?(?:RmInitAdapter failed!|rm_init_adapter failed)|\bNVRM:"
            r" None of the NVIDIA devices were (?:probed|initialized)|\bnvidia: probe of (?P<probe>[\w:.]"
            r"{4,20}) failed with error|\bNVRM: BAR\d is \d{1,9}M @ 0x0"
        ),
        Message(
            en=Words(
                "the NVIDIA driver could not bring up a GPU: it failed to initialize",
                "The kernel module sees the card on the PCI bus and gets no sensible answer from it: after it "
                "fell off the bus (Xid 79), with too little power or a bad seat or riser, GSP firmware that "
                "does not start or does not match the module, or no address space from the BIOS (BAR at 0). "
                "The card is missing in nvidia-smi, and CUDA counts fewer GPUs.",
                "Look further up for `Xid 79`, `GSP` and firmware lines. Power the machine off fully (cold "
                "start) and on again; a warm reboot often is not enough. Still there: reseat the card, its "
                "power cables and riser, switch on Above 4G Decoding and Resizable BAR in the BIOS, and "
                "install one driver version cleanly (modules and firmware). If it follows the card, replace "
                "it; until then leave it out with CUDA_VISIBLE_DEVICES.",
            ),
            zh=Words(
                "NVIDIA 驱动无法启动某张 GPU:初始化失败",
                "内核模块能在 PCI 总线上看到该卡,但得不到正常应答:掉出总线(Xid 79)之后、供电不足、接触或转接卡"
                "不良、GSP 固件无法启动或与模块不符,或 BIOS 没有分配地址空间(BAR 为 0)。nvidia-smi 中缺少该卡"
                ",CUDA 数到的 GPU 更少。",
                "向上查找 `Xid 79`、`GSP` 与固件相关行。将机器完全断电后再开机(冷启动),仅热重启往往不够。若仍存"
                "在:重新插好显卡、供电线与转接卡,在 BIOS 打开 Above 4G Decoding 与 Resizable BAR,并干净地安装同"
                "一版本的驱动(模块与固件)。若问题跟随该卡则更换;期间用 CUDA_VISIBLE_DEVICES 避开它。",
            ),
        ),
    ),
)

#: of the module and of the kernel; what the patterns give by themselves ("failed with error") stands in ordinary lines
WORDS = (("NVRM: ",), ("NVRM: ",), ("NVRM: ", "nvidia: probe of "))

SIGNATURES = tuple(Signature(pattern, keywords=words) for (pattern, _), words in zip(CASES, WORDS, strict=True))


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
