"""A LoRA adapter is served as if it were a model.

## What it means
The folder holds `adapter_config.json` and no `config.json`: it is what PEFT saves beside a base model. vLLM
serves the base model and takes the adapter by an option.
## What it does to a run
The engine finds no configuration in the folder and ends at start-up.
## What to do
Serve the base model with `--enable-lora --lora-modules`, or merge the adapter into the base model first.
## How it is found
The files of the served folder.
## References
https://docs.vllm.ai/en/latest/features/lora.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.model import Model
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL029", name="adapter-served-as-model", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{model}` is a LoRA adapter, not a model that vLLM could serve",
        "The folder has `adapter_config.json` and no `config.json`, so the engine finds no model in it and "
        "ends at start-up.",
        "Serve the base model with the adapter as a LoRA module, or merge the two first.",
    ),
    zh=Words(
        "`{model}` 是 LoRA 适配器,不是 vLLM 可以直接提供服务的模型",
        "该目录只有 `adapter_config.json` 而没有 `config.json`,引擎找不到模型,启动时会退出。",
        "以基础模型提供服务,并把适配器作为 LoRA 模块加载;或先将两者合并。",
    ),
)


@check(PROBLEM)
def adapter_served_as_model(serving: Serving, model: Model) -> Judgement:
    """A folder that holds a merged model beside the adapter is a model."""
    if not model.is_adapter or model.model_type is not None or model.architectures or model.broken is not None:
        return
    if serving.model != model.name:
        return
    base = model.base_model or "BASE_MODEL"
    yield found(
        PROBLEM,
        MESSAGE,
        model=model.name,
        where=place_of(serving.arguments.get("model")),
        commands=(f"vllm serve {base} --enable-lora --lora-modules adapter={model.name}",),
        evidence=(Evidence(f"{model.folder}/adapter_config.json", f"base_model_name_or_path: {model.base_model}"),),
    )
