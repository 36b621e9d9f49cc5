"""The shell could not run a line of the script that starts the run.

## What it means
A command that goes over several lines holds together by a backslash as the last letter of each. A space or a carriage
return (a file saved on Windows) behind it ends the command there, and the next line is taken for a command of its own.
Environments that are not there and variables that are not set stop a script as well.
## What it does to a run
The options behind the break never arrive: the run starts without them, or not at all.
## What to do
Let nothing stand behind a backslash, save with Unix line ends, and give what is missing.
## How it is found
In a log: by the words of bash, dash and zsh.
## References
https://wiki.ubuntu.com/DashAsBinSh
https://www.gnu.org/software/bash/manual/bash.html#Escape-Character
https://www.gnu.org/software/bash/manual/bash.html#The-Set-Builtin
https://docs.conda.io/projects/conda/en/stable/dev-guide/deep-dives/activation.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="LCH052", name="shell-line-not-run", severity=ERROR, since="0.1")

#: areas and problems that know more of the same line
_OTHERS = ("LCH002",)

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"(?:^|: )(?:line \d{1,6}: |\d{1,6}: )?(?P<word>\$'\\r'|[\w./\-]{0,80}(?:\\r|\^M)'?)(?:: ("
            r"?:command not found|not found)|: bad interpreter)"
        ),
        "",
        Message(
            en=Words(
                "the script has Windows line ends, which the shell takes for letters",
                "Every line ends with a carriage return: it sticks to the last word, so commands, paths and "
                "backslashes at the end of a line are not what they look like.",
                "`sed -i 's/\\r$//' SCRIPT.sh` (or `dos2unix SCRIPT.sh`), and set the editor (or git: "
                "`core.autocrlf=input`) to LF.",
            ),
            zh=Words(
                "脚本使用 Windows 换行符,shell 把它当成字符",
                "每行以回车符结尾,它会粘在最后一个词上,因此命令、路径和行尾的反斜杠都不是看上去的样子。",
                "`sed -i 's/\\r$//' SCRIPT.sh`(或 `dos2unix SCRIPT.sh`),并把编辑器(或 git:`core.autocrlf=input`)设为"
                " LF。",
            ),
        ),
    ),
    (
        (
            r"(?:^|: )(?:line \d{1,6}: |\d{1,6}: )?(?P<option>--?[A-Za-z][\w.\-]{0,60}(?:=[^\s:]{0,100"
            r"})?|[a-z_]{1,40}\.[\w.]{1,60}=[^\s:]{0,100}|[\w./\-]{1,120}\.(?:py|ya?ml|json)): (?:comm"
            r"and )?(?:not found|未找到命令)"
        ),
        "",
        Message(
            en=Words(
                "the shell took `{option}` for a command: the line before it does not go on",
                "A command over several lines needs a backslash as the very last letter of each line. It is "
                "missing, a space or a carriage return stands behind it, or a comment or an empty line stands "
                "between; what follows never reached the program.",
                "Look at the line ends: `cat -A SCRIPT.sh | grep -n '\\\\'` shows each as `\\$`. Remove what stands "
                "behind the backslash and comments between the lines; for Windows line ends `sed -i 's/\\r$//' "
                "SCRIPT.sh`. A script is started with its interpreter: `python {option}`.",
            ),
            zh=Words(
                "shell 把 `{option}` 当成了命令:上一行没有续行",
                "跨多行的命令要求每行最后一个字符是反斜杠。可能缺少反斜杠、其后有空格或回车符,或中间夹有注释或空行;"
                "其后的内容没有传给程序。",
                "查看行尾:`cat -A SCRIPT.sh | grep -n '\\\\'` 每行应显示为 `\\$`。去掉反斜杠后的字符以及行间注释;若"
                "为 Windows 换行符,执行 `sed -i 's/\\r$//' SCRIPT.sh`。脚本要用解释器启动:`python {option}`。",
            ),
        ),
    ),
    (
        (
            r"(?:^|: )(?:line \d{1,6}: |\d{1,6}: )?(?P<tool>conda|mamba|module|uv|poetry|micromamba): "
            r"(?:command )?(?:not found|未找到命令)"
        ),
        "",
        Message(
            en=Words(
                "the environment was not activated: this shell does not know the command for it",
                "`conda`, `module` and the like are functions of an interactive login shell; job scripts, `ssh` and "
                "`docker exec` start without them, so what follows runs with another Python.",
                "At the top of the script: `source ~/miniconda3/etc/profile.d/conda.sh && conda activate ENV` (or "
                '`eval "$(conda shell.bash hook)"`), `source /etc/profile` for `module`; or call the interpreter by '
                "its path: `~/miniconda3/envs/ENV/bin/python`.",
            ),
            zh=Words(
                "环境没有激活:执行该脚本的 shell 不认识激活命令",
                "`conda`、`module` 等是交互式登录 shell 的函数;作业脚本、`ssh` 和 `docker exec` 启动时没有它们,因此"
                "后面的命令用的是另一个 Python。",
                '在脚本开头:`source ~/miniconda3/etc/profile.d/conda.sh && conda activate ENV`(或 `eval "$(conda '
                'shell.bash hook)"`),使用 `module` 时 `source /etc/profile`;或用完整路径调用解释器:`~'
                "/miniconda3/envs/ENV/bin/python`。",
            ),
        ),
    ),
    (
        (
            r"(?:^|: )\d{1,6}: (?:[^\s:]{1,200}: )?(?P<bashism>Bad substitution|\[\[: not found|source: not found"
            r"|Syntax error: \"\(\" unexpected)"
        ),
        "",
        Message(
            en=Words(
                "a script for bash was run by `sh`, which does not know `{bashism}`",
                "On Debian and Ubuntu `sh` is dash: arrays, `${{x:a:b}}`, `[[` and `source` are bash's own. The line "
                "was not run, and what came after it ran without its result.",
                "Start it with `bash SCRIPT.sh` (not `sh SCRIPT.sh`), with `#!/bin/bash` as its first line; in "
                'Dockerfiles `SHELL ["/bin/bash", "-c"]`, in Slurm scripts `#!/bin/bash`.',
            ),
            zh=Words(
                "bash 脚本由 `sh` 执行,它不认识 `{bashism}`",
                "Debian 与 Ubuntu 的 `sh` 是 dash:数组、`${{x:a:b}}`、`[[`、`source` 都是 bash 特有的。该行没有执行,其"
                "后的内容在缺少其结果的情况下运行。",
                "用 `bash SCRIPT.sh`(而不是 `sh SCRIPT.sh`)启动,首行写 `#!/bin/bash`;Dockerfile 中 `SHELL "
                '["/bin/bash", "-c"]`,Slurm 脚本用 `#!/bin/bash`。',
            ),
        ),
    ),
    (
        r"(?:^|: )(?P<file>[^\s:]{1,200}[/\\]activate): (?:No such file or directory|没有那个文件或目录)",
        "",
        Message(
            en=Words(
                "there is no environment to activate at `{file}`",
                "The path is relative to the folder in which the script runs, lies on a disk that this node does "
                "not mount, or the environment was made elsewhere.",
                "`ls {file}` on that node; give the absolute path, or make it there: `python -m venv DIR`. Without "
                "it the run uses another Python and other packages.",
            ),
            zh=Words(
                "`{file}` 处没有可激活的环境",
                "该路径相对于脚本运行时所在的目录、位于本节点没有挂载的磁盘上,或环境创建在别处。",
                "在该节点执行 `ls {file}`;写绝对路径,或在那里创建:`python -m venv DIR`。没有它,运行会使用另一个 "
                "Python 和其他包。",
            ),
        ),
    ),
    (
        (
            r"(?:^|: )(?:line \d{1,6}: |\d{1,6}: )(?P<variable>[A-Za-z_]\w{0,60}): (?:unbound variable"
            r"|parameter not set|未绑定的变量)"
        ),
        "",
        Message(
            en=Words(
                "the script uses the variable `{variable}`, which is not set",
                "With `set -u` the shell stops at it. The variable is set by a scheduler, a login file or a caller "
                "that was not there.",
                "Set it before (`export {variable}=...`), or give a default in the script: `${{{variable}:-VALUE}}`.",
            ),
            zh=Words(
                "脚本使用了未设置的变量 `{variable}`",
                "在 `set -u` 下 shell 会在此停止。该变量应由调度器、登录文件或调用者设置,而此处没有。",
                "事先设置(`export {variable}=...`),或在脚本中给出默认值:`${{{variable}:-VALUE}}`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame, symptom_of=_OTHERS) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits, LIKELY)
