"""The line that vLLM 0.8.5's demo server lacks goes where it belongs, or nowhere."""

from __future__ import annotations

import pytest

from doctor.catalogue.plan import EditFile, Refused, digest
from doctor.fixes.vllm.serving.api_server_engine_client import missing_line

SERVER = '''\
app = FastAPI()
engine = None


async def init_app(args, llm_engine=None):
    """Make the application."""
    app = build_app(args)

    global engine

    engine_args = AsyncEngineArgs.from_cli_args(args)
    engine = (llm_engine if llm_engine is not None else AsyncLLMEngine.from_engine_args(engine_args))

    return app  # größe


async def run_server(args, llm_engine=None):
    app = await init_app(args, llm_engine)
    assert engine is not None
'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_goes_before_the_return(end: str) -> None:
    source = SERVER.replace("\n", end).encode()
    step = EditFile("api_server.py", digest(source), (missing_line(source, "api_server.py"),))
    mended = SERVER.replace("    return app", "    app.state.engine_client = engine\n    return app").replace("\n", end)
    assert step.content(source).decode() == mended


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("async def init_app", "def init_app"),
        ("    global engine\n", ""),
        ("    return app  # größe", "    return build(app)"),
        ("    return app  # größe", "    pass; return app"),
        ("init_app(args, llm_engine=None):", "make_app(args, llm_engine=None):"),
        ("    app = build_app(args)", "    server = build_app(args)"),
        ("engine = None", "engine = ("),
        ("    return app", "    app.state.engine_client = engine\n    return app"),
    ],
)
def test_any_other_file_is_refused(old: str, new: str) -> None:
    assert old in SERVER
    with pytest.raises(Refused):
        missing_line(SERVER.replace(old, new, 1).encode(), "api_server.py")
