"""The documentation of the catalogue: one page a problem, an index, and the table of areas in the READMEs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from doctor.core.explain import HEADINGS, manual
from doctor.core.index import Entry, load
from doctor.core.problem import AREAS


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    entries = load()
    out = {"README.md": _index(entries)}
    for entry in entries:
        out[f"{entry.id}.md"] = page(entry)
    return out


def page(entry: Entry) -> str:
    """One problem's page."""
    text = manual(entry)
    affects = ", ".join(f"{name} `{spec}`" for name, spec in entry.affects.items())
    lines = [
        f"# {entry.id} {entry.name}",
        "",
        f"**{text.title}.**",
        "",
        f"Severity: {entry.severity.value}. Since {entry.since}.{'' if entry.ends_run else ' No run ends of it.'}",
    ]
    lines += [f"Affects: {affects}."] if affects else []
    for heading in HEADINGS:
        section = text.sections.get(heading, "")
        if heading == "References":
            section = "\n".join(f"- <{line}>" if line.startswith("http") else line for line in section.splitlines())
        lines += ["", f"## {heading}", "", section]
    return "\n".join(lines).rstrip() + "\n"


def _index(entries: tuple[Entry, ...]) -> str:
    lines = [
        "# Problems",
        "",
        f"The {len(entries)} problems that the doctor knows. `doctor explain ID` prints the same pages.",
        "",
    ]
    for area in AREAS:
        of_area = [entry for entry in entries if entry.area == area]
        if not of_area:
            continue
        lines += [f"## {area}", "", "| id | severity | problem |", "|---|---|---|"]
        lines += [f"| [{each.id}]({each.id}.md) | {each.severity.value} | {each.title} |" for each in of_area]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


#: what each area is about, for the READMEs
AREA_WORDS: Mapping[str, tuple[str, str]] = {
    "python": ("interpreter, installation, requirements, shadowed packages", "解释器、安装、依赖要求、被遮蔽的包"),
    "cuda": ("toolkits, drivers, libraries that come first", "工具包、驱动、优先加载的库"),
    "gpu": ("health, memory held, links, MIG, precision", "健康状况、显存占用、链路、MIG、精度"),
    "nccl": ("interfaces, variables, known bugs", "网卡、环境变量、已知缺陷"),
    "host": ("shared memory, limits, disks, proxies, containers", "共享内存、限制、磁盘、代理、容器"),
    "trl": (
        "arguments by version, batch rules, vLLM modes, silent bugs",
        "各版本参数、批大小规则、vLLM 模式、静默缺陷",
    ),
    "vllm": ("servers, engine arguments, parallelism, memory, versions", "服务器、引擎参数、并行、显存、版本"),
    "deepspeed": ("configuration, toolkit, loss scale", "配置、工具包、损失缩放"),
    "accelerate": ("its YAML and its launcher", "YAML 配置与启动器"),
    "transformers": ("training arguments by version", "各版本训练参数"),
    "peft": ("LoRA arguments and targets", "LoRA 参数与目标模块"),
    "fsdp": ("settings that do not go together", "互相冲突的设置"),
    "flash_attn": ("presence, ABI, cards", "是否安装、ABI、显卡"),
    "verl": ("Hydra overrides, batch sizes, GPUs", "Hydra 覆盖项、批大小、GPU"),
    "trinity": ("YAML keys, batch sizes, GPUs", "YAML 键、批大小、GPU"),
    "ray": ("cluster, versions, resources", "集群、版本、资源"),
    "openrlhf": ("OpenRLHF", "OpenRLHF"),
    "torch": ("builds, architectures, driver", "构建、架构、驱动"),
    "bitsandbytes": ("presence and CUDA", "是否安装、CUDA"),
    "tracking": ("wandb, tensorboard, mlflow and others", "wandb、tensorboard、mlflow 等"),
    "hub": ("tokens, offline caches, mirrors", "令牌、离线缓存、镜像"),
    "data": ("datasets, tokenizers, reward functions", "数据集、分词器、奖励函数"),
    "checkpoint": ("disk space, folders, resuming", "磁盘空间、目录、恢复训练"),
    "numerics": ("fp16, bf16, NaN", "fp16、bf16、NaN"),
    "rl": ("learning rates, KL, entropy, reward", "学习率、KL、熵、奖励"),
    "perf": ("speed left lying", "被浪费的速度"),
    "memory": ("weights, states and caches against the cards", "权重、状态与缓存能否放下"),
    "launch": ("processes, ports, addresses, files of the command", "启动命令的进程、端口、地址与文件"),
    "unknown": ("failures that nothing else recognises", "其他规则都无法识别的失败"),
}

_MARKS = ("<!-- areas -->", "<!-- /areas -->")


def area_table(language: str) -> str:
    """Table of the areas that hold problems, for a README in `language`."""
    entries = load()
    head = {"en": "| area | what it is about | problems |", "zh": "| 领域 | 内容 | 问题数 |"}[language]
    lines = [head, "|---|---|---|"]
    for area, words in AREA_WORDS.items():
        count = sum(entry.area == area for entry in entries)
        if count:
            link = f"[{count}](docs/problems/README.md#{area})"
            lines.append(f"| `{area}` | {words[language == 'zh']} | {link} |")
    return "\n".join(lines)


def with_area_table(text: str, language: str) -> str:
    """A README's text with its table of areas made anew between the marks."""
    before, _, rest = text.partition(_MARKS[0])
    _, _, after = rest.partition(_MARKS[1])
    return f"{before}{_MARKS[0]}\n{area_table(language)}\n{_MARKS[1]}{after}"


def stale(folder: Path, wanted: Mapping[str, str]) -> list[Path]:
    """Pages in `folder` that are missing, changed or left over."""
    there = {path.name for path in folder.glob("*.md")}
    old = [folder / name for name in sorted(there - wanted.keys())]
    return old + [
        folder / name
        for name, text in wanted.items()
        if name not in there or (folder / name).read_text(encoding="utf-8") != text
    ]


def write(folder: Path, wanted: Mapping[str, str]) -> None:
    """Write the pages and remove those of problems that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale(folder, wanted):
        path.unlink(missing_ok=True)
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
