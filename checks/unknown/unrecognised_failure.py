"""Judges unrecognised-failure (UNK001), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.base.patterns import later
from doctor.base.ranks import ranks_text
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.unrecognised import Unknown
from doctor.catalogue.words import words_of
from doctor.checks.unknown._advice import advice_of
from doctor.checks.unknown._kinds import ARGUMENT, COLLECTIVE, CUDA, DEFINITION, MEMORY, NETWORK, NOTHING, Kind, kind_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: kinds that a library's own release brings and another one mends
_OF_RELEASES = (ARGUMENT, NOTHING, DEFINITION)
#: packages through which everything is called
_BELOW = ("torch", "pydantic", "click", "hydra", "ray", "typer", "fire", "IPython", "uvicorn", "starlette", "fastapi")

#: functions of one's own that score completions
_SCORING = later(r"\((?P<name>\w{0,60}(?:reward|score|grade|judge|verif)\w{0,60})\)$")
_SCORED = (
    "It happened below `{name}`, which scores completions: a model writes anything, so such a function should catch "
    "what it and the libraries that it calls raise, and answer 0.0 (or `None`, where the trainer leaves such a row "
    "out) instead of ending the run. "
)
_SCORED_ZH = (
    "它发生在为回答评分的 `{name}` 之下:模型什么都可能写出来,这样的函数应捕获自身及所调用库抛出的异常,返回 "
    "0.0(或 `None`,若训练器会忽略该行),而不是结束运行。"
)

#: https://docs.python.org/3/reference/simple_stmts.html#the-raise-statement
_INSTEAD = (
    "The code there raises it in place of another exception (`raise ... from`), which is the cause, and stands above "
    "it in the whole log, before `The above exception was the direct cause`: give that, too. "
)
_INSTEAD_ZH = (
    "该处代码用它代替了另一个异常(`raise ... from`),后者才是原因,位于完整日志中它的上方,"
    "在 `The above exception was the direct cause` 之前:请一并给出。"
)


def answer(unknown: Unknown) -> Finding | None:
    """Say what is known of an exception that no signature knows."""
    if unknown.kind != "exception":
        return None
    own = bool(unknown.own) and unknown.own[0] == unknown.raised_in
    kind = kind_of(unknown.type, own_code=own, message=unknown.message, worded=unknown.worded, place=unknown.raised_in)
    general = kind in (CUDA, MEMORY)  # these messages name the same switches whatever went wrong
    advice, advice_zh = ("", "") if general else advice_of(unknown.type, f"{unknown.message}\n{unknown.worded}")
    scoring = next((found_ for each in unknown.own if (found_ := _SCORING.search(each))), None)
    if scoring and not general:
        advice, advice_zh = (
            advice + _SCORED.format(**scoring.groupdict()),
            advice_zh + _SCORED_ZH.format(**scoring.groupdict()),
        )
    elif unknown.library and kind in _OF_RELEASES and not own:
        callers = [each for each in unknown.callers if each not in _BELOW]
        by = f"of {' or '.join(f'`{each}`' for each in callers)} that calls it, " if callers else ""
        by_zh = f"(及调用它的 {'、'.join(f'`{each}`' for each in callers)})" if callers else ""
        advice += (
            f"Another release of `{unknown.library}`, {by}or of what it calls there, mends such errors mostly: upgrade "
            "it first, or pin the versions it was made for. "
        )
        advice_zh += (
            f"这类错误多半由 `{unknown.library}`{by_zh}或被调用包的另一版本修复:先升级它,或固定它所针对的版本。"
        )
    if unknown.instead:
        advice, advice_zh = _INSTEAD + advice, _INSTEAD_ZH + advice_zh
    return found(
        PROBLEM, MESSAGE, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY,
        type=unknown.type, who=unknown.process or "the run", who_zh=unknown.process or "该运行",
        place=f"`{unknown.raised_in}`" if unknown.raised_in else "a place the log does not show",
        place_zh=f"`{unknown.raised_in}`" if unknown.raised_in else "日志未显示",
        what=kind.what, what_zh=kind.what_zh, first=kind.first, first_zh=kind.first_zh, advice=advice,
        advice_zh=advice_zh, **_details(unknown),
        **_collect(unknown, kind),
    )  # fmt: skip


def _details(unknown: Unknown) -> dict[str, Any]:
    """Whole sentences about frames, library and ranks; empty where there is nothing to say."""
    own = ", ".join(f"`{each}`" for each in unknown.own)
    names = ", ".join(f"`{each}`" for each in unknown.names)
    ranks = ranks_text(unknown.others)
    library = f"`{unknown.library}` {unknown.library_version}".strip()
    return {
        "own": f"Your own code on the way there: {own}." if own else "No frame of your own code is on the way there.",
        "own_zh": f"途经的自己代码:{own}。" if own else "途中没有自己代码的栈帧。",
        "library": (f" It was raised inside {library}." if unknown.library else "")
        + (f" It names {names}." if names else ""),
        "library_zh": (f"由 {library} 抛出。" if unknown.library else "") + (f"消息中提到 {names}。" if names else ""),
        "others": f" Rank {ranks} failed only because of it." if ranks else "",
        "others_zh": f"rank {ranks} 只是受其牵连。" if ranks else "",
    }


def _collect(unknown: Unknown, kind: Kind) -> dict[str, Any]:
    """What to gather for the next attempt, and why this one shows too little."""
    english = [
        (
            "Then collect more: run `doctor check --save-facts facts.json` in that environment and pass it with "
            "`--context`."
        )
    ]
    chinese = ["然后收集更多信息:在该环境中运行 `doctor check --save-facts facts.json`,并用 `--context` 传入。"]
    if unknown.begins:
        names = ", ".join(f"`doctor explain {each}`" for each in unknown.begins)
        english.insert(
            0, f"The message is cut off: give all of it, for it begins as that of a known problem ({names})."
        )
        chinese.insert(0, f"错误信息被截断:请给出完整内容,其开头与已知问题的信息相同({names})。")
    if kind in (CUDA, NETWORK, COLLECTIVE) or unknown.others:
        english.append("`NCCL_DEBUG=INFO` and `TORCH_DISTRIBUTED_DEBUG=DETAIL` show what the ranks were doing.")
        chinese.append("`NCCL_DEBUG=INFO` 与 `TORCH_DISTRIBUTED_DEBUG=DETAIL` 可显示各 rank 的动作。")
    if unknown.folded:
        english.append("Ray folded repeated lines away in this log: run with `RAY_DEDUP_LOGS=0` to see every process.")
        chinese.append("Ray 在日志中合并了重复行:设置 `RAY_DEDUP_LOGS=0` 以看到每个进程。")
    if not unknown.raised_in:
        english.append(
            "The log shows no traceback; `TORCH_SHOW_CPP_STACKTRACES=1` or `PYTHONFAULTHANDLER=1` gives one."
        )
        chinese.append("日志中没有回溯;设置 `PYTHONFAULTHANDLER=1` 或 `TORCH_SHOW_CPP_STACKTRACES=1` 可得到回溯。")
    return {"collect": " ".join(english), "collect_zh": "".join(chinese)}
