"""The few words that renderers add to findings, by language. Whole phrases, never glued fragments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.base.fact import NO_COMMAND
from doctor.base.ranks import ranks_text

#: of what could not be judged: the most frequent, the others are counted
_REASONS_SHOWN = 2

#: what a check says that waits for a launch command, in every language
_WAITS = frozenset({NO_COMMAND, "没有给出启动命令"})

#: what two runs are compared by (`doctor.logs.history.compared.PARTS`)
PARTS: Mapping[str, Mapping[str, str]] = {
    "en": {each: each for each in ("command", "configuration", "code", "data", "environment", "machine")},
    "zh": {
        "command": "命令", "configuration": "配置", "code": "代码", "data": "数据", "environment": "环境",
        "machine": "机器",
    },
}  # fmt: skip

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "error": "error", "warning": "warning", "info": "info", "why": "why", "do": "do", "seen": "seen",
        "more": "more", "likely": "likely, not proven", "fix": "doctor fix {id}",
        "by_check": "found by `doctor check`, without running it", "by_both": "found by `doctor check` too",
        "healthy": "Nothing found that will go wrong.",
        "healthy_figures": "Nothing found in these figures.",
        "healthy_rehearsal": "The rehearsal finished, and nothing broke.",
        "blind": "Nothing found, but the doctor could not see everything.",
        "counts": "errors: {errors} · warnings: {warnings} · notes: {infos} · {checks} checks in {seconds:.1f} s",
        "skipped": "not judged: {count} of {all} checks: {reasons}",
        "skipped_others": "other reasons ({count})",
        "skipped_hint": "--verbose lists them",
        "footer": "`doctor explain ID` prints the manual: {ids}",
        "skipped_count": "not judged: {count}",
        "area": "{area} {checked}", "area_blind": "{area} {checked}/{all}",
        "areas": "checked: {areas}", "closing_title": "errors, in the order in which they occur",
        "ignored": "ignored on request: {ids}",
        "crashed": "{id} crashed and was left out: {error}. This is a bug in the doctor.",
        "skipped_title": "Not judged",
        "plots_title": "Metrics by step",
        "plots_hint": "Drag to zoom, double-click to zoom out. Dashed lines: where a finding began.",
        "step": "step",
        "value": "value",
        "figures_title": "metrics of step {step}", "figures_title_mixed": "metrics that were logged once",
        "timeline_title": "metrics, steps {first} to {last}",
        "timeline_samples": "metrics, samples {first} to {last}",
        "began": "{ids} from step {step}",
        "log_scale": "log",
        "no_command": "{count} more checks need a launch command: `doctor check -- COMMAND`",
        "verdict_known": "Cause found: {id} {name}", "verdict_known_at": "Cause found: {id} {name}, {place}",
        "verdict_unknown": "Cause unknown: no known problem matches; below is where it began",
        "verdict_no_end": "Neither a failure nor the end of a run in what was read: see below",
        "verdict_healthy": "Healthy: nothing in these logs went wrong",
        "verdict_untold": "Nothing wrong found; not judged: these logs have no training metrics",
        "verdict_few": "Nothing wrong found in a few values, which are too few to call the run healthy",
        "verdict_unmet": "Nothing wrong found, but most answers are wrong in the run's own test at its end",
        "verdict_unmoved": "Nothing wrong found, but the KL to the policy that sampled is printed as 0 in every step",
        "verdict_unrisen": "Nothing wrong found, but nothing shows that the run learnt: the reward did not rise",
        "verdict_unimproved": "Nothing wrong found, but nothing shows that the run learnt: no held-out score improved",
        "verdict_unshown": "Nothing wrong found, but nothing shows that the run learnt: no held-out score over the run",
        "verdict_used": "The run succeeded; its use of the machine has problems: see below",
        "not_seen": "not seen: {what}",
        "not_seen_sampler_learner": "sampler = learner (no log probabilities of the engine)",
        "not_seen_groups": "deviation within groups", "not_seen_entropy": "entropy", "not_seen_kl": "KL and clipping",
        "not_seen_lengths": "lengths of the answers", "not_seen_gradient": "gradient norm",
        "not_seen_held_out": "a held-out score", "not_seen_metrics": "any metric that a rule judges",
        "not_seen_course": "where the metrics go (too few values)",
        "not_seen_unmet": "a good result of the run's own test",
        "not_seen_unmoved": "whether the second update of a batch moves the policy",
        "not_seen_unrisen": "a reward that rises by more than its noise",
        "not_seen_unimproved": "a held-out score that improves by more than its noise",
        "not_seen_unshown": "anything that shows what was learnt",
        "unjudged": "metrics that no rule judges: {names}",
        "verdict_open": "Nothing wrong found, but too little was seen to call the run healthy",
        "nodes": "{count:,} of {of:,} nodes",
        "cause": "cause", "symptom": "consequence", "contributing": "contributing",
        "counts_log": "errors: {errors} · warnings: {warnings} · notes: {infos} · {checks} problems looked for "
            "in {seconds:.1f} s",
        "chain_title": "what happened, in this order", "chain_somebody": "a process",
        "chain_raised": "raised {detail}", "chain_lost": "lost another process ({detail})",
        "chain_waited": "waited for another process without an answer ({detail})",
        "chain_ended": "ended with exit code {detail}", "chain_signal": "was ended by {detail}",
        "chain_closed": "was stopped by the launcher ({detail})", "chain_more": "and {count} more",
        "chain_alike": " and {count} more processes", "echoes": "also matches {ids}",
    },
    "zh": {
        "error": "错误", "warning": "警告", "info": "提示", "why": "原因", "do": "处理", "seen": "依据",
        "more": "详情", "likely": "很可能,尚未证实", "fix": "doctor fix {id}",
        "by_check": "由 `doctor check` 发现,无需运行", "by_both": "`doctor check` 也发现了它",
        "healthy": "没有发现会出问题的地方。",
        "healthy_figures": "这些数据没有发现问题。",
        "healthy_rehearsal": "演练已完成,没有出错。",
        "blind": "没有发现问题,但有些内容无法检查。",
        "counts": "错误 {errors} · 警告 {warnings} · 提示 {infos} · {checks} 项检查,用时 {seconds:.1f} 秒",
        "skipped": "未判断:{all} 项检查中的 {count} 项:{reasons}",
        "skipped_others": "其他原因({count})",
        "skipped_hint": "--verbose 可逐项列出",
        "footer": "`doctor explain ID` 显示手册:{ids}",
        "skipped_count": "未判断:{count}",
        "area": "{area} {checked}", "area_blind": "{area} {checked}/{all}",
        "areas": "已检查:{areas}", "closing_title": "错误,按发生的先后",
        "ignored": "按要求忽略:{ids}",
        "crashed": "{id} 崩溃,已跳过:{error}。这是 doctor 自身的缺陷。",
        "skipped_title": "未判断",
        "plots_title": "各指标随步数的变化",
        "plots_hint": "拖动放大,双击还原。虚线:问题开始的位置。",
        "step": "步",
        "value": "值",
        "figures_title": "第 {step} 步的各项指标", "figures_title_mixed": "只出现一次的指标",
        "timeline_title": "各项指标,第 {first} 至 {last} 步",
        "timeline_samples": "各项指标,第 {first} 至 {last} 个样本",
        "began": "{ids} 始于第 {step} 步",
        "log_scale": "对数",
        "no_command": "另有 {count} 项检查针对启动命令:`doctor check -- COMMAND`",
        "verdict_known": "已找到原因:{id} {name}", "verdict_known_at": "已找到原因:{id} {name},{place}",
        "verdict_unknown": "原因未知:没有匹配的已知问题;下面说明从哪里开始",
        "verdict_no_end": "读到的内容中既没有故障,也没有运行的结束:见下",
        "verdict_healthy": "正常:这些日志中没有出错",
        "verdict_untold": "没有发现问题;未作判断:这些日志不含训练指标",
        "verdict_few": "少数几个数值中没有发现问题;数值太少,不足以下结论",
        "verdict_unmet": "没有发现问题,但运行自己在结束时的测试中大多数回答是错的",
        "verdict_unmoved": "没有发现问题,但与采样策略之间的 KL 在每一步都打印为 0",
        "verdict_unrisen": "没有发现问题,但也看不出模型学到了什么:奖励没有上升",
        "verdict_unimproved": "没有发现问题,但也看不出模型学到了什么:留出集得分没有提高",
        "verdict_unshown": "没有发现问题,但也看不出模型学到了什么:没有贯穿运行的留出集得分",
        "verdict_used": "运行正常结束,但对机器的使用存在问题,见下文",
        "not_seen": "未看到:{what}",
        "not_seen_sampler_learner": "采样器 = 学习器(没有引擎的对数概率)",
        "not_seen_groups": "组内差异", "not_seen_entropy": "熵", "not_seen_kl": "KL 与裁剪",
        "not_seen_lengths": "回答长度", "not_seen_gradient": "梯度范数",
        "not_seen_held_out": "留出集得分", "not_seen_metrics": "任何有规则判断的指标",
        "not_seen_course": "指标的走向(数值太少)",
        "not_seen_unmet": "运行自己的测试取得好结果",
        "not_seen_unmoved": "同一批次的第二次更新是否改变了策略",
        "not_seen_unrisen": "超出自身波动的奖励上升",
        "not_seen_unimproved": "超出自身波动的留出集得分提高",
        "not_seen_unshown": "任何能说明学到了什么的指标",
        "unjudged": "没有规则判断的指标:{names}",
        "verdict_open": "没有发现问题,但看到的内容太少,不足以下结论",
        "nodes": "{of:,} 个节点中的 {count:,} 个",
        "cause": "原因", "symptom": "后果", "contributing": "促成因素",
        "counts_log": "错误 {errors} · 警告 {warnings} · 提示 {infos} · 查找了 {checks} 个问题,用时 {seconds:.1f} 秒",
        "chain_title": "事情经过(按先后)", "chain_somebody": "某进程",
        "chain_raised": "抛出 {detail}", "chain_lost": "失去了另一个进程({detail})",
        "chain_waited": "等待另一个进程未果({detail})",
        "chain_ended": "以退出码 {detail} 结束", "chain_signal": "被 {detail} 终止",
        "chain_closed": "被启动器停止({detail})", "chain_more": "另有 {count} 个",
        "chain_alike": " 及另外 {count} 个进程", "echoes": "同一段文字也符合 {ids}",
    },
}  # fmt: skip


#: where evidence comes from, when that is no name of a file or a program
_SOURCES_ZH: Mapping[str, str] = {
    "launch command": "启动命令", "environment": "环境变量", "installed packages": "已安装的包",
    "batch rule": "批次规则", "release history": "版本历史", "name resolution": "主机名解析",
    "visible GPUs": "可见的 GPU", "cache": "缓存", "kernel messages": "内核消息",
    "listening sockets": "监听的套接字", "listening ports": "监听的端口", "interfaces": "网络接口",
    "memory": "内存", "host": "主机", "connection": "连接", "sampler": "采样器", "doctor's data": "doctor 的数据",
    "CUDA toolkit": "CUDA 工具包", "torch's architectures": "torch 支持的架构",
}  # fmt: skip


def commands_of(finding: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """What to paste: the remedy's commands, and the doctor's own that mends it."""
    fix = finding["remedy"]["fix"]
    return [*finding["remedy"]["commands"], *([words["fix"].format(id=fix)] if fix else [])]


def source_of(evidence: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Where evidence comes from, with its line."""
    source = str(evidence["source"])
    told = _SOURCES_ZH.get(source, source) if words is WORDS["zh"] else source
    return f"{told}:{evidence['line']}" if evidence["line"] else told


def place_of(where: Mapping[str, object]) -> str:
    """Short form of a place: `train.py:12:5`, `train.log:31, step 4`, `GPU 3`, `rank 1`; empty when there is none."""
    if file := where.get("file"):
        place = ":".join(str(part) for part in (file, where.get("line"), where.get("column")) if part is not None)
        return f"{place}, step {where['step']}" if "step" in where else place
    parts = [
        f"{name} {where[key]}" for key, name in (("gpu", "GPU"), ("rank", "rank"), ("step", "step")) if key in where
    ]
    return ", ".join([*parts, *(str(where[key]) for key in ("host", "module") if key in where)])


_NODES_COLUMNS = 30


def told_once(findings: Iterable[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], list[str]]]:
    """Findings to be drawn, each with the names of consequences that quote the very same words.

    A cause and the general problem it is a case of both know one line of a log; the reader needs the cause.
    """
    drawn: list[tuple[Mapping[str, Any], list[str]]] = []
    for finding in over_cards(findings):
        quoted = finding["evidence"][:1]
        first = next((names for each, names in drawn if quoted and each["evidence"][:1] == quoted), None)
        if first is not None and finding["role"] == "symptom":
            first.append(f"{finding['id']} {finding['name']}")
        else:
            drawn.append((finding, []))
    return drawn


def over_cards(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Findings of one kind on several cards as one: `gpu` names all of them, `cards` holds what the others say."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for number, each in enumerate(findings):
        where = each.get("where") or {}
        alike: tuple[Any, ...] = (number,)
        if isinstance(where.get("gpu"), int) and not each.get("nodes"):
            alike = (each["id"], each["severity"], each["role"], each["remedy"]["text"], where.get("host"))
        groups.setdefault(alike, []).append(each)
    return [each[0] if len(each) == 1 else _of_cards(each) for each in groups.values()]


#: cards whose own words are drawn
_MOST_CARDS = 8


def _of_cards(group: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    first = group[0]
    told = [str(each["headline"]) for each in group[1:] if each["headline"] != first["headline"]]
    more = [f"+{len(told) - _MOST_CARDS}"] if len(told) > _MOST_CARDS else []
    cards = ranks_text(sorted({each["where"]["gpu"] for each in group}))
    return {**first, "where": {**first["where"], "gpu": cards}, "cards": [*told[:_MOST_CARDS], *more]}


def counted(report: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """The line of counts: of the findings that are drawn, so that a reader who counts them comes to the same."""
    drawn = [finding["severity"] for finding, _ in told_once(report["findings"])]
    return words["counts_log" if "verdict" in report else "counts"].format(
        errors=drawn.count("error"), warnings=drawn.count("warning"), infos=drawn.count("info"),
        checks=report["summary"]["checks_run"], seconds=report["summary"]["seconds"],
    )  # fmt: skip


def areas_of(report: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """What was checked, area by area; empty where nothing was counted."""
    told = [
        words["area_blind" if each["not_judged"] else "area"].format(
            area=NAMES.get(area, area), checked=each["checked"], all=each["checked"] + each["not_judged"]
        )
        for area, each in report["summary"].get("areas", {}).items()
    ]
    return words["areas"].format(areas=" · ".join(told)) if told else ""


#: how an area is written
NAMES: Mapping[str, str] = {
    "python": "Python", "cuda": "CUDA", "gpu": "GPU", "nccl": "NCCL", "trl": "TRL", "vllm": "vLLM",
    "deepspeed": "DeepSpeed", "accelerate": "Accelerate", "transformers": "Transformers", "peft": "PEFT",
    "fsdp": "FSDP", "flash_attn": "FlashAttention", "verl": "veRL", "trinity": "Trinity-RFT", "ray": "Ray",
    "openrlhf": "OpenRLHF", "torch": "PyTorch", "bitsandbytes": "bitsandbytes", "rl": "RL",
}  # fmt: skip


def echoes_of(names: list[str], words: Mapping[str, str]) -> str:
    """The names in a clause, empty without any."""
    return words["echoes"].format(ids=", ".join(names)) if names else ""


def place_in(finding: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Place of a finding; of one that several nodes have their names, or their number where the names are many."""
    nodes = finding.get("nodes")
    if not nodes or nodes["count"] < 2:
        return place_of(finding["where"])
    told = nodes["names"] if len(nodes["names"]) <= _NODES_COLUMNS else words["nodes"].format(**nodes)
    place = place_of({key: value for key, value in finding["where"].items() if key not in {"host", "gpu"}})
    return f"{place}, {told}" if place else str(told)


def notes_of(finding: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """How sure a finding is, and who else found it than the command that reports it."""
    found_by = tuple(finding.get("detectors", ()))
    notes = [words["likely"]] if finding["confidence"] == "likely" else []
    if "check" in found_by:
        notes.append(words["by_both" if len(found_by) > 1 else "by_check"])
    return notes


def without_command(skipped: list[dict[str, object]]) -> int:
    """How many checks wait for a launch command: an offer, not a blind spot."""
    return sum(each["reason"] in _WAITS for each in skipped)


def folded_reasons(skipped: list[dict[str, object]]) -> list[tuple[str, int]]:
    """Reasons of blind spots, with how many checks each, the most frequent first."""
    counts: dict[str, int] = {}
    for each in skipped:
        if not each.get("ignored") and each["reason"] not in _WAITS:
            counts[str(each["reason"])] = counts.get(str(each["reason"]), 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def blind_of(report: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """The line of what could not be judged: how much, and the most frequent reasons by their first words."""
    reasons = folded_reasons(report["skipped"])
    if not reasons:
        return ""
    heads: dict[str, int] = {}
    for reason, count in reasons:
        head = re.split(r": | \(|:", reason, maxsplit=1)[0]
        heads[head] = heads.get(head, 0) + count
    told = sorted(heads.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{head} ({count})" for head, count in told[:_REASONS_SHOWN]]
    if others := sum(count for _, count in told[_REASONS_SHOWN:]):
        shown.append(words["skipped_others"].format(count=others))
    total = sum(heads.values())
    line = words["skipped"].format(
        count=total, all=report["summary"]["checks_run"] + total, reasons=", ".join(shown)
    )  # fmt: skip
    return f"{line} · {words['skipped_hint']}"


def judged_of(report: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """What a verdict without a cause does not cover: what the metrics cannot tell of, and those that no rule judges."""
    judged = report.get("judged")
    if not judged or any(each["severity"] != "info" for each in report["findings"]):
        return []
    between = ", " if words is WORDS["en"] else "、"
    told = [words[f"not_seen_{each}"] for each in judged["not_seen"]]
    lines = [words["not_seen"].format(what=between.join(told))] if told else []
    return [*lines, words["unjudged"].format(names=between.join(judged["unjudged"]))] if judged["unjudged"] else lines


#: what keeps a run without findings from being called healthy -> the words that say so
_UNTOLD = {
    "metrics": "verdict_untold", "course": "verdict_few", "unmoved": "verdict_unmoved", "unrisen": "verdict_unrisen",
    "unimproved": "verdict_unimproved", "unshown": "verdict_unshown", "unmet": "verdict_unmet",
}  # fmt: skip
#: those of them that were seen, and were not as they should be
_NO_BETTER = frozenset({"unrisen", "unimproved", "unmet"})


#: a log that stops without a word: nothing began in it
_BREAKS_OFF = "UNK003"


def verdict_of(report: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """The one line that a post-mortem begins with; empty for other reports."""
    verdict = report.get("verdict")
    if verdict is None:
        return ""
    findings = report["findings"][: report["run"]["causes"] if "run" in report else None]
    if verdict == "unknown" and all(each["severity"] == "info" for each in findings):
        missing = report.get("judged", {}).get("not_seen", ())
        return words[next((word for key, word in _UNTOLD.items() if key in missing), "verdict_open")]
    if verdict == "unknown" and report["findings"][0]["id"] == _BREAKS_OFF:
        return words["verdict_no_end"]
    if verdict == "healthy" and any(each["severity"] != "info" for each in report["findings"]):
        return words["verdict_used"]
    if verdict != "known":
        return words[f"verdict_{verdict}"]
    first = report["findings"][0]
    rank = first["where"].get("rank")
    if rank is None:
        return words["verdict_known"].format(id=first["id"], name=first["name"])
    return words["verdict_known_at"].format(id=first["id"], name=first["name"], place=f"rank {rank}")


def level_of(report: Mapping[str, Any]) -> str:
    """``error``, ``warning`` or ``good``: the colour of a report's first line agrees with the worst of its findings.

    A cause that is only a warning is no error, a run that ended well and has warnings is not good, and neither is one
    of which the cause is unknown. A run that the guard stopped is an error. One without findings whose end was seen is
    good, even if its metrics show too little to call it healthy; not where they show that nothing became better.
    """
    severities = {each["severity"] for each in report["findings"]}
    if "error" in severities or report.get("run", {}).get("state") == "stopped":
        return "error"
    missing = _UNTOLD.keys() & {*report.get("judged", {}).get("not_seen", ())}
    well = report.get("verdict", "healthy") == "healthy" or (missing and not missing & _NO_BETTER)
    return "good" if well and "warning" not in severities else "warning"


_CHAIN_SHOWN = 12


def chain_of(report: Mapping[str, Any], words: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """(time, who, what, place) of each step of a post-mortem's chain; what several ranks did alike is one step."""
    groups: list[list[Mapping[str, Any]]] = []
    for link in report.get("chain", ()):
        last = groups[-1] if groups else None
        if last and _alike(last[0], link):
            last.append(link)
        else:
            groups.append([link])
    steps = [_step(group, words) for group in groups[:_CHAIN_SHOWN]]
    if len(groups) > _CHAIN_SHOWN:
        steps.append(("", "", words["chain_more"].format(count=len(groups) - _CHAIN_SHOWN), ""))
    return steps


def _alike(first: Mapping[str, Any], link: Mapping[str, Any]) -> bool:
    """Whether a process did what the one before it did, each rank in a file of its own or all in one."""
    same_file = first["file"] == link["file"] or (first["rank"] is not None and link["rank"] is not None)
    return same_file and (first["what"], first["detail"]) == (link["what"], link["detail"])


def _step(group: list[Mapping[str, Any]], words: Mapping[str, str]) -> tuple[str, str, str, str]:
    import time

    first = group[0]
    ranks = sorted({each["rank"] for each in group if each["rank"] is not None})
    names = list(dict.fromkeys(each["process"] for each in group if each["process"] and each["rank"] is None))
    who = ", ".join([*([f"rank {ranks_text(ranks)}"] if ranks else []), *names[:4]])
    if more := len(names[4:]) + sum(each.get("alike", 0) for each in group):
        who += words["chain_alike"].format(count=more)
    clock = time.strftime("%H:%M:%S", time.gmtime(first["time_ns"] // 10**9)) if first["time_ns"] is not None else ""
    what = words[f"chain_{first['what']}"].format(detail=first["detail"])
    return clock, who or words["chain_somebody"], what, f"{first['file']}:{first['line']}"


#: command -> how it says that nothing was found
_QUIET = {"report": "healthy_figures", "rehearse": "healthy_rehearsal"}


def quiet_of(report: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """What to say when nothing was found: never that all is well where something could not be seen."""
    if folded_reasons(report["skipped"]):
        return words["blind"]
    return words[_QUIET.get(report["command"], "healthy")]
