"""What `doctor run` says in its own name, in English and Chinese."""

from __future__ import annotations

import click

SENTENCES = {
    "en": {
        "folder": "run folder {path}",
        "no_folder": "no run folder can be created ({reason}): the command runs without the doctor",
        "check_failed": "the check failed ({error}); the command is launched without it",
        "refused": "not launched: {ids} (--gate); `--ignore {first}=REASON` allows it",
        "rehearsed": "the rehearsal passed; launching the command",
        "not_rehearsed": "not launched: the rehearsal found errors (remove `--rehearse` to launch anyway)",
        "no_guard": "no guard: {reason}",
        "usage": "figures and phases: doctor report {path}",
        "found": "the command ended with 0, but: {problem}: {headline}",
        "found_likely": "the command ended with 0, but likely: {problem}: {headline}",
        "found_one": "reason, remedy, figures and phases: doctor report {path}",
        "found_more": "{count} more, reasons, remedies, figures and phases: doctor report {path}",
        "not_judged": "the logs were not judged within {seconds} s; verdict, figures and phases: doctor report {path}",
        "stopped": "the guard stopped this run: exit code {code} instead of 0 (`--stopped-exit 0` keeps 0)",
        "ended": "the command ended with exit code {code}",
        "nothing_to_examine": "exit code {code}, and nothing to examine: {reason}",
        "nothing_fitted": (
            "exit code {code}, and nothing to examine: the disk of the run folder {path} has no room or no inode left; "
            "see `df -h` and `df -i`"
        ),
        "nothing_kept": (
            "exit code {code}, and nothing to examine: nothing could be written into the run folder {path} ({reason})"
        ),
        "failed_to_attach": (
            "the guard could not be attached ({error}); this is a bug in the doctor, and the run continued without it"
        ),
        "name_taken": (
            "the guard could not be attached: the command has a package `doctor` of its own ({error}), which keeps its "
            "name; under another name the guard would watch the run"
        ),
        "kept_out": (
            "the guard could not be attached: no Python process of the command (3.9 or newer) ran its start-up hook; "
            "`python -I`, `-E` and `-S` disable it, and so does another sitecustomize before it on PYTHONPATH"
        ),
        "record_lost": ("files in the run folder were removed during the run: whether the guard watched it is unknown"),
        "folder_lost": (
            "the run folder {path} was lost during the run ({reason}), with all records of the console, the guard "
            "and the GPUs. There is no report. The command was not affected"
        ),
        "folder_unreadable": (
            "the run folder {path} can no longer be read ({reason}): there is no report now; once it can be read "
            "again: doctor postmortem {path}; the command was not affected"
        ),
        "unrecorded": (
            "whether the guard watched the run is unknown: its record could not be written into the run folder "
            "({error})"
        ),
        "no_report": "no report could be made ({error}); this is a bug in the doctor",
        "nothing_watched": (
            "the guard watched nothing: no process created a Transformers trainer or a DeepSpeed engine; "
            "`doctor.watch(...)` lets it watch a loop of your own"
        ),
    },
    "zh": {
        "folder": "运行目录 {path}",
        "no_folder": "无法创建运行目录({reason}):命令将在没有 doctor 的情况下运行",
        "check_failed": "检查失败({error});命令将不经检查直接启动",
        "refused": "未启动:{ids}(--gate);`--ignore {first}=REASON` 可以放行",
        "rehearsed": "演练通过;开始启动命令",
        "not_rehearsed": "未启动:演练发现错误(去掉 `--rehearse` 可照原样启动)",
        "no_guard": "没有 guard:{reason}",
        "usage": "数据与各阶段:doctor report {path}",
        "found": "命令以 0 结束,但发现:{problem}:{headline}",
        "found_likely": "命令以 0 结束,但很可能:{problem}:{headline}",
        "found_one": "原因、处理办法、数据与各阶段:doctor report {path}",
        "found_more": "另有 {count} 项;原因、处理办法、数据与各阶段:doctor report {path}",
        "not_judged": "未能在 {seconds} 秒内判断日志;结论、数据与各阶段:doctor report {path}",
        "stopped": "guard 停止了本次运行:退出码为 {code} 而不是 0(`--stopped-exit 0` 保留 0)",
        "ended": "命令以退出码 {code} 结束",
        "nothing_to_examine": "退出码 {code},没有可供检查的内容:{reason}",
        "nothing_fitted": (
            "退出码 {code},没有可供检查的内容:运行目录 {path} 所在磁盘的空间或 inode 已用尽;请查看 `df -h` 和 `df -i`"
        ),
        "nothing_kept": "退出码 {code},没有可供检查的内容:无法写入运行目录 {path}({reason})",
        "failed_to_attach": "guard 未能附加({error});这是 doctor 的缺陷,训练在没有 guard 的情况下继续",
        "name_taken": (
            "guard 未能附加:该命令自己有名为 `doctor` 的包({error}),名称归它使用;将其改名后 guard 即可监视训练"
        ),
        "kept_out": (
            "guard 未能附加:命令的 Python 进程(3.9 或更新)都没有运行它的启动钩子;`python -I`、`-E` 和 `-S` 会使它失效,"
            "PYTHONPATH 中排在它前面的 sitecustomize 也会"
        ),
        "record_lost": "运行期间运行目录中的文件被删除:guard 是否监视了本次运行未知",
        "folder_lost": (
            "运行目录 {path} 在运行期间丢失({reason}),其中控制台、guard 和 GPU 的记录随之丢失:没有报告;命令不受影响"
        ),
        "folder_unreadable": (
            "运行目录 {path} 已无法读取({reason}):现在没有报告;恢复可读后运行 doctor postmortem {path};命令不受影响"
        ),
        "unrecorded": "guard 是否监视了本次运行未知:它的记录无法写入运行目录({error})",
        "no_report": "无法生成报告({error});这是 doctor 的缺陷",
        "nothing_watched": (
            "guard 没有监视任何对象:没有进程创建 transformers trainer 或 DeepSpeed engine;"
            "自己编写的训练循环可用 `doctor.watch(...)` 监视"
        ),
    },
}


class Voice:
    """Says sentences on standard error.

    Args:
        language: `en` or `zh`.

    """

    def __init__(self, language: str) -> None:
        self.language = language

    def say(self, name: str, **values: object) -> None:
        """Say the sentence of that name."""
        from doctor.base.redact import redact_text

        text = f"doctor: {SENTENCES[self.language][name].format(**values)}"
        click.echo(redact_text(text, homes=False), err=True)
