"""The kernel refused or did not find the NVIDIA module.

## What it means
The driver's kernel module is built for one kernel and, under Secure Boot, must be signed with a key the machine
trusts. After a kernel update it may be missing; a module of another build is refused.
## What it does to a run
No GPU is usable: nvidia-smi cannot talk to the driver, torch finds none.
## What to do
Build and sign the module for the running kernel, then load it.
## How it is found
In a log: by the words of modprobe, the kernel and the DKMS build.
## References
https://man7.org/linux/man-pages/man8/modprobe.8.html
https://docs.kernel.org/admin-guide/module-signing.html
https://github.com/dell/dkms
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="GPU021", name="driver-module-not-loaded", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"could not insert '?\"?nvidia(?!_peermem)[\w\-]{0,20}'?\"?: (?P<why>Key was rejected by service|"
            r"Required key not available)|\bnvidia[\w\-]{0,20}: (?:module verification failed: signature "
            r"and/or required key missing - denied|Loading of (?:unsigned )?module is rejected)"
            r"|Lockdown: [^\n]{1,60}unsigned module loading is restricted"
        ),
        Message(
            en=Words(
                "Secure Boot refuses the NVIDIA kernel module: no key that this machine trusts signed it",
                "The module was built on this machine (DKMS, .run installer) and signed with no key or one "
                "that is not enrolled in the firmware. The kernel does not load it, so no GPU can be used.",
                "Enrol the key: `sudo mokutil --import /var/lib/shim-signed/mok/MOK.der` (DKMS: "
                "/var/lib/dkms/mok.pub), reboot and confirm in the blue MOK screen; or install the "
                "distribution's signed modules (`linux-modules-nvidia-580-open-generic`); or switch Secure "
                "Boot off in the firmware (`mokutil --sb-state` shows it). Then `sudo modprobe nvidia && "
                "nvidia-smi`.",
            ),
            zh=Words(
                "Secure Boot 拒绝了 NVIDIA 内核模块:它没有用本机信任的密钥签名",
                "模块在本机构建(DKMS、.run 安装程序),没有签名或所用密钥未登记到固件中。内核不加载它,因此无法使用 GPU。",
                "登记密钥:`sudo mokutil --import /var/lib/shim-signed/mok/MOK.der`(DKMS:/var/lib/dkms/mok.pub),"
                "重启并在蓝色 MOK 界面确认;或安装发行版已签名的模块(`linux-modules-nvidia-580-open-generic`);或"
                "在固件中关闭 Secure Boot(`mokutil --sb-state` 查看)。然后 `sudo modprobe nvidia && nvidia-smi`"
                "。",
            ),
        ),
    ),
    (
        (
            r"modprobe: FATAL: Module nvidia[\w\-]{0,20} not found in directory (?P<directory>/lib/modules/"
            r"[\w.\-+]{1,60})|could not insert '?\"?nvidia(?!_peermem)[\w\-]{0,20}'?\"?: (?P<why>Exec "
            r"format error|Invalid argument|Unknown symbol in module[^\n]{0,60}|No such device)"
            r"|\bnvidia[\w\-]{0,20}: (?:disagrees about version of symbol|version magic '[^'\n]{1,80}' should be)"
            r"|Bad return status for module build on kernel: (?P<kernel>[\w.\-+]{1,60})"
            r"|GPL-incompatible module nvidia\.ko uses GPL-only symbol"
        ),
        Message(
            en=Words(
                "the NVIDIA kernel module is missing for the running kernel, or was built for another one",
                "After a kernel update the module has to be built again (DKMS); without the kernel's headers or with "
                "another compiler that fails, a driver that is much older than the kernel does not build at all "
                "(`GPL-only symbol`), and a module of the old kernel is refused. `No such device` means that the "
                "module loaded and found no card that it supports.",
                "`uname -r` and `dkms status` show what fits. Install the headers and build: `sudo apt install "
                "linux-headers-$(uname -r)`, `sudo dkms autoinstall` (log: /var/lib/dkms/nvidia/*/build/make.log), or "
                "take the distribution's ready modules; take a newer driver where the old one does not build; or boot "
                "the former kernel. Then `sudo modprobe nvidia && nvidia-smi`; reboot when an old module is still "
                "loaded.",
            ),
            zh=Words(
                "当前内核缺少 NVIDIA 内核模块,或模块是为另一内核构建的",
                "内核更新后需要重新构建模块(DKMS);缺少内核头文件或编译器不同会失败,比内核旧很多的驱动根本无法构建"
                "(`GPL-only symbol`),旧内核的模块会被拒绝。`No such device` 表示模块已加载,但没有它支持的显卡。",
                "用 `uname -r` 与 `dkms status` 查看是否匹配。安装头文件并构建:`sudo apt install "
                "linux-headers-$(uname -r)`,`sudo dkms autoinstall`(日志:/var/lib/dkms/nvidia/*/build/make.log),或使用"
                "发行版现成的模块;旧驱动无法构建时换更新的驱动;或启动之前的内核。然后 `sudo modprobe nvidia && "
                "nvidia-smi`;若旧模块仍在内存中请重启。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
