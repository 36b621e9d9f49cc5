"""vLLM's demo API server dies at start-up because `engine_client` is never set.

## What it means
`vllm.entrypoints.api_server` of vLLM 0.8.5 and 0.8.5.post1 hands its application to a launcher whose new watchdog
reads `app.state.engine_client`, and the demo server never sets it.
## What it does to a run
The server ends during start-up with `'State' object has no attribute 'engine_client'`, after the model was loaded:
minutes of loading are lost and the trainer waits for a server that never answers.
## What to do
Start it with `doctor serve`, which sets what is missing at run time; or start the OpenAI-compatible server (`vllm serve
MODEL`), or move to vLLM 0.9.0 or newer, or let `doctor fix VLL001` add the missing line to the installed file.
## How it is found
The launch command runs the module `vllm.entrypoints.api_server`, the installed vLLM is in the broken range and nobody
has mended its file; in a log, by the exception in a traceback through vLLM's launcher.
## References
https://github.com/vllm-project/vllm/issues/17395
https://github.com/vllm-project/vllm/pull/17434
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="VLL001", name="api-server-engine-client", severity=ERROR, since="0.1", affects={"vllm": ">=0.8.5,<0.9"}
)

MESSAGE = Message(
    en=Words(
        "`vllm.entrypoints.api_server` of vLLM {version} never sets `engine_client`",
        "The server loads the model and then dies with `'State' object has no attribute 'engine_client'`. "
        "This is a bug of vLLM {version}, not of your configuration.",
        "Start the OpenAI-compatible server instead, or install vLLM 0.9.0 or newer.",
    ),
    zh=Words(
        "vLLM {version} 的 `vllm.entrypoints.api_server` 从未设置 `engine_client`",
        "服务器加载完模型后会因 `'State' object has no attribute 'engine_client'` 退出。"
        "这是 vLLM {version} 的缺陷,与你的配置无关。",
        "改用 OpenAI 兼容服务器,或安装 vLLM 0.9.0 及以上版本。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`vllm.entrypoints.api_server` of vLLM {version} never sets `engine_client`",
        "The demo API server hands its application to a launcher whose watchdog reads `app.state.engine_client`, which "
        "that server never sets: it dies after loading the model. This is a bug of vLLM 0.8.5 and 0.8.5.post1, not of "
        "your configuration.",
        "Start the OpenAI-compatible server instead, or install vLLM 0.9.0 or newer; `doctor fix VLL001` adds the "
        "missing line.",
    ),
    zh=Words(
        "vLLM {version} 的 `vllm.entrypoints.api_server` 从未设置 `engine_client`",
        "演示用 API 服务器把应用交给启动器,后者的看门狗会读取 `app.state.engine_client`,而该服务器从未设置它,于是在加载"
        "完模型后退出。这是 vLLM 0.8.5 与 0.8.5.post1 的缺陷,与你的配置无关。",
        "改用 OpenAI 兼容服务器,或安装 vLLM 0.9.0 及以上版本;`doctor fix VLL001` 会补上缺少的一行。",
    ),
)
LOG_COMMANDS = ("vllm serve MODEL",)

SIGNATURES = (
    Signature(
        r"^AttributeError: 'State' object has no attribute 'engine_client'",
        frame=r"vllm/entrypoints/(?:launcher|api_server)\.py:",
    ),
)


@check(PROBLEM)
def api_server_engine_client(launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "vllm-api-server" or "vllm/entrypoints/api_server.py" in packages.repaired:
        return
    model = launch.arguments.get("model")
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        commands=(f"vllm serve {model.value if model else 'MODEL'}",),
        evidence=(Evidence("launch command", " ".join(launch.argv)),),
    )
