"""The first screen in Chinese: what `doctor` and `doctor --help` print in a Chinese locale."""

from __future__ import annotations

_HEAD = """\
用法: doctor [选项] 命令 [参数]...

  找出用 TRL、vLLM、DeepSpeed、Accelerate、veRL 或 Trinity-RFT 做 GRPO 训练时
  哪里出了错。

  doctor check                                     检查本机与当前环境
  doctor check -- accelerate launch train_grpo.py  连同这条命令一起检查
  doctor run -- accelerate launch train_grpo.py    检查、守护,失败时诊断
  doctor train.log                                 某次运行为何失败
  doctor explain VLL001                            某个问题是什么、如何处理

选项:
  --version   显示版本。
  -h, --help  显示此帮助。

命令:
"""

#: command -> one line of help, of every command of `doctor.cli.app`
SUMMARIES = {
    "check": "找出在本机上用这条命令会出什么问题。",
    "rehearse": "正式运行之前,用微型模型把整个运行缩小演练一遍。",
    "run": "检查、守护并采样一条训练命令,失败时给出诊断。",
    "monitor": "采样 GPU 真实的活动:实时查看,或在命令运行期间记录。",
    "report": "报告一次运行如何结束、GPU 时间用在哪里。",
    "hang": "显示停滞的运行中哪个进程在等哪个进程。",
    "postmortem": "根据日志诊断失败的运行。",
    "last": "显示最近一次运行的结论。",
    "runs": "列出各次运行:结论、时长、最佳指标、命令。",
    "compare": "显示两次运行之间,或自上次正常运行以来的差异。",
    "checkpoint": "给出目录中最后一个完整的检查点,以及恢复需要什么。",
    "fix": "修复发现的问题:先显示,可撤销。",
    "serve": "启动 vLLM 服务器,并绕过其已知缺陷。",
    "plan": "估算一次运行:每张 GPU 的显存、批次与启动所用的文件。",
    "explain": "显示某个问题的手册,或根据错误文本查找问题。",
    "list": "列出 doctor 认识的问题。",
    "env": "输出可贴到 issue 中的环境报告(已去除机密)。",
    "diff": "比较两份保存的环境,或与当前环境比较。",
    "mcp": "供编程智能体使用的服务(MCP,标准输入输出)。",
    "agents": "输出或安装供编程智能体使用的技能文件。",
    "completion": "输出 bash、zsh 或 fish 的补全脚本。",
    "schema": "输出报告或 facts 的 JSON schema。",
}

_TAIL = """
  各命令的选项见 `doctor 命令 --help`。
  退出码:0 无错误,1 有错误,2 用法有误,3 doctor 自身出错,
  119 守护程序停止了运行,130 被中断。"""


def chinese() -> str:
    """The screen, at most 80 columns wide."""
    widest = max(map(len, SUMMARIES))
    return _HEAD + "".join(f"  {name:{widest}}  {told}\n" for name, told in SUMMARIES.items()) + _TAIL
