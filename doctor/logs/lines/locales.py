"""What shells and the C library say in Chinese, as they say it in English: patterns are written for one language.

The words are those of the translations themselves: https://translationproject.org/domain/libc.html and
https://translationproject.org/domain/bash.html, zh_CN (libc 2.30.9000 and older, bash 4.2 to 5.2), and of coreutils
9.1, whose words some distributions' shells say. Python asks the C library for messages in English unless a program sets
LC_MESSAGES, so most of these lines are those of a shell, of ssh or of a launcher.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.base.patterns import later

#: English -> Chinese; only words that no sentence of a program holds by chance
SAID = {
    "Killed": ("已杀死",),
    "Segmentation fault": ("段错误",),
    "Aborted": ("已放弃", "已中止"),
    "Bus error": ("总线错误",),
    "Terminated": ("已终止",),
    "Floating point exception": ("浮点数例外", "浮点异常"),
    "Illegal instruction": ("非法指令",),
    "Trace/breakpoint trap": ("追踪与中断点陷阱", "跟踪或断点陷阱"),
    "CPU time limit exceeded": ("超出 CPU 时限", "CPU 时间超出限制"),
    "File size limit exceeded": ("文件大小超出限制",),
    "Broken pipe": ("断开的管道",),
    "No space left on device": ("设备上没有空间",),
    "Disk quota exceeded": ("超出磁盘限额",),
    "Read-only file system": ("只读文件系统",),
    "Stale file handle": ("过旧的文件控柄",),
    "Input/output error": ("输入/输出错误",),
    "Resource temporarily unavailable": ("资源暂时不可用",),
    "Cannot allocate memory": ("无法分配内存",),
    "Too many open files": ("打开的文件过多",),
    "Connection refused": ("拒绝连接",),
    "Connection timed out": ("连接超时",),
    "Connection reset by peer": ("连接被对方重设",),
    "No route to host": ("没有到主机的路由",),
    "Network is unreachable": ("网络不可达",),
    "Address already in use": ("地址已在使用",),
    "Name or service not known": ("未知的名称或服务", "名称或服务未知"),
    "Temporary failure in name resolution": ("域名解析暂时失败", "域名解析出现暂时性错误"),
    "No address associated with hostname": ("没有与主机名关联的地址",),
    "Permission denied": ("权限不够",),
    "Operation not permitted": ("不允许的操作",),
    "No such file or directory": ("没有那个文件或目录",),
    "Device or resource busy": ("设备或资源忙",),
    "Exec format error": ("可执行文件格式错误",),
    "Argument list too long": ("参数列表过长",),
    "Transport endpoint is not connected": ("传输端点尚未连接",),
    "cannot open shared object file": ("无法打开共享对象文件",),
    "error while loading shared libraries": ("载入共享库时出错",),
    "symbol lookup error": ("符号查询错误",),
    "command not found": ("未找到命令",),
    "bad interpreter": ("错误的解释器",),
}
_ENGLISH = {chinese: english for english, all_of_it in SAID.items() for chinese in all_of_it}
_ALL_ENGLISH = "\n".join(SAID)
_ANY_ENGLISH = later("|".join(map(re.escape, SAID)))
_ANY = later("|".join(map(re.escape, sorted(_ENGLISH, key=len, reverse=True))))
#: bash's own: "(core dumped)", and the number of a script's line before and behind its unit
_DUMPED = later(r" ?[(（](?:核心已转储|吐核)[)）]")
_LINE = later(r"(?P<name>(?<=\S):)?(?:第 ?(\d{1,7}) ?行|行 ?(\d{1,7}))[:：]")
#: how a shell at a terminal tells that a job has died, with its number and perhaps its process, the command behind it:
#: https://www.gnu.org/software/bash/manual/html_node/Job-Control-Basics.html; zsh has small letters and two words of
#: its own: https://github.com/zsh-users/zsh/blob/master/Src/signames2.awk
_DEATHS = {
    "killed": "Killed", "segmentation fault": "Segmentation fault", "aborted": "Aborted", "abort": "Aborted",
    "bus error": "Bus error", "terminated": "Terminated", "floating point exception": "Floating point exception",
    "illegal instruction": "Illegal instruction", "illegal hardware instruction": "Illegal instruction",
}  # fmt: skip
_JOB = later(
    rf"(?i)^(?:\[\d{{1,4}}\] {{0,3}}[+\-]? {{1,20}}(?:\d{{1,9}} {{1,12}})?|zsh: )(?P<word>{'|'.join(_DEATHS)})"
    r"(?:(?P<dumped> {0,12}\(core dumped\))(?: {0,12}\S[^\n]{0,4000})?| {2,80}\S[^\n]{0,4000})?$"
)


def in_english(text: str) -> str:
    """A line of a shell or the C library in English, as one of a script; any other line as it is."""
    if not text.isascii() and _ANY.search(text):
        text = _ANY.sub(lambda match: _ENGLISH[match[0]], text)
        text = _LINE.sub(lambda match: f"{': ' if match['name'] else ''}line {match[2] or match[3]}:", text)
        text = _DUMPED.sub(" (core dumped)", text).replace("：", ": ").replace(":  ", ": ")
    if text[:1] in "[z" and (job := _JOB.match(text)):
        return _DEATHS[job["word"].lower()] + (" (core dumped)" if job["dumped"] else "")
    return text


def in_chinese(literals: Iterable[bytes]) -> Iterator[bytes]:
    """What stands in a Chinese line for literals that hold English words of shell or C library, or a part of them."""
    for literal in literals:
        text = literal.decode("utf-8", "replace")
        if text.strip() not in _ALL_ENGLISH and not _ANY_ENGLISH.search(text):
            continue  # nearly all of the thousands that a catalogue has
        for english, all_of_it in SAID.items():
            if english in text or text.strip() in english:
                yield from (each.encode() for each in all_of_it)
