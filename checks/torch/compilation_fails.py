"""torch.compile could not compile a graph.

## What it means
Dynamo or its backend (Inductor, AOTAutograd, DDP's graph splitter) raised while it traced or compiled. The
model itself runs without being compiled.
## What it does to a run
The first forward pass raises; inside vLLM the engine does not start.
## What to do
Run without compilation, or change the version of torch.
## How it is found
In a log: by the exception of `torch._dynamo`, where no problem of compiler, Triton or driver accounts for it.
## References
https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
https://docs.vllm.ai/en/latest/usage/troubleshooting/
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR032", name="torch-compile-fails", severity=ERROR, since="0.1")

#: compiling fails on these, it does not cause them
_CAUSES = (
    "TOR002",
    "TOR003",
    "TOR016",
    "TOR017",
    "TOR018",
    "TOR019",
    "TOR020",
    "TOR021",
    "TOR022",
    "TOR023",
    "TOR024",
    "TOR047",
    "TOR048",
    "TOR049",
    "TOR050",
    "TOR053",
    "TOR054",
    "VLL",
    "FLA",
    "CUD",
    "MEM",
    "GPU",
)

SIGNATURES = (
    Signature(
        r"torch\._dynamo\.exc\.(?P<kind>BackendCompilerFailed|InternalTorchDynamoError|"
        r"Unsupported|TorchRuntimeError|UserError|UncapturedHigherOrderOpError|"
        r"FailOnRecompileLimitHit)\b",
        symptom_of=_CAUSES,
    ),
    Signature(r"symbolic_shapes\.(?P<kind>GuardOnDataDependentSymNode|ConstraintViolationError)\b", symptom_of=_CAUSES),
    Signature(
        r"torch\._inductor\.exc\.(?P<kind>LoweringException|InductorError|CppCompileError|"
        r"TritonMissing|GPUTooOldForTriton)\b",
        symptom_of=_CAUSES,
    ),
    Signature(
        r"^(?P<kind>Unsupported|InternalTorchDynamoError|BackendCompilerFailed|TorchRuntimeError): \S",
        frame=r"torch[\\/]_dynamo[\\/]",
        symptom_of=_CAUSES,
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "torch.compile failed with `{kind}`",
        "Dynamo or its backend could not trace or compile a graph of the model; without "
        "compilation the model would run.",
        "Run once more without it: `TORCHDYNAMO_DISABLE=1` (or `torch_compile=False`), for vLLM "
        "`--enforce-eager`. To keep it, upgrade torch (with the Triton that belongs to it), "
        "clear the caches (`rm -rf ~/.triton/cache /tmp/torchinductor_$USER`), and see with "
        "`TORCH_LOGS=+dynamo` where it fails.",
    ),
    zh=Words(
        "torch.compile 失败:`{kind}`",
        "Dynamo 或其后端无法追踪或编译模型的某个图;不编译时模型可以运行。",
        "不编译再运行一次:`TORCHDYNAMO_DISABLE=1`(或 `torch_compile=False`),vLLM 用 "
        "`--enforce-eager`。若要保留编译,升级 torch(及其对应的 Triton),清除缓存(`rm -rf ~/"
        ".triton/cache /tmp/torchinductor_$USER`),并用 `TORCH_LOGS=+dynamo` 查看失败位置。",
    ),
)
