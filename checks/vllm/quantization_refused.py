"""The engine does not know or not take the quantization of the checkpoint.

## What it means
`quantization_config` of the checkpoint names a method, and the engine must know it, in this release, for this
data type, and as the only one.
## What it does to a run
The engine ends while it reads the configuration.
## What to do
An engine release that knows the method, another data type, or another checkpoint.
## How it is found
Before launch, `--quantization` by the list in the sources of the installed vLLM. In a log, by the message that the
program prints.
## References
https://docs.vllm.ai/en/latest/features/quantization/
https://github.com/unslothai/unsloth/issues/482
https://github.com/sgl-project/sglang/issues/14285
"""

from __future__ import annotations

from difflib import get_close_matches

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.choices import Choices
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL061", name="quantization-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Unknown quantization (?:method|type)(?:, got|:) (?P<method>[\w\-]{1,40})",
    ),
    Signature(
        r"Invalid quantization method: (?P<method>[\w\-]{1,40})",
    ),
    Signature(
        r"Quantization method specified in the model config \((?P<method>[\w\-]{1,40})\) does not"
        r" match the quantization method specified in the `quantization` argument"
        r" \((?P<given>[\w\-]{1,40})\)",
    ),
    Signature(
        r"(?P<dtype>torch\.\w{1,20}) is not supported for quantization method"
        r" (?P<method>[\w\-]{1,40})\. Supported dtypes: (?P<dtypes>\[[^\]\n]{1,120}\])",
    ),
    Signature(r"ValueError: ModelOpt(?:Fp8Config)? only supports static (?P<static>FP8) quantization in SGLang"),
    Signature(
        r"(?:ValueError: |Value error, )Cannot find the config file for (?P<fileless>[\w\-]{1,40})(?: \[type=|$)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed engine does not know the quantization method `{method}`",
        "The checkpoint is quantized (`quantization_config` in its config.json), or the argument asks "
        "for it, by a method that this release of the engine or of transformers does not implement: the "
        "release is older than the method, or the method belongs to another library (bitsandbytes 4-bit "
        "checkpoints of Unsloth, FP8 of DeepSeek).",
        "Upgrade the engine (`pip install -U vllm`, or transformers where it raises) to a release that "
        "supports `{method}`. Or use another checkpoint: the unquantized 16-bit weights, a merged 16-bit "
        'export (`save_pretrained_merged(..., save_method="merged_16bit")` in Unsloth), FP8 converted to '
        "bf16, or AWQ/GPTQ.",
    ),
    zh=Words(
        "所装引擎不认识量化方法 `{method}`",
        "检查点经过量化(config.json 中的 `quantization_config`),或参数要求量化,而该版本的引擎或 "
        "transformers 没有实现该方法:版本比该方法旧,或该方法属于其他库(Unsloth 的 bitsandbytes 4-bit 检查"
        "点、DeepSeek 的 FP8)。",
        "把引擎(`pip install -U vllm`;若由 transformers 报出则升级 transformers)升级到支持 `{method}` 的"
        "版本。或换检查点:未量化的 16 位权重,合并后的 16 位导出(Unsloth 中 `save_pretrained_merged(..., "
        'save_method="merged_16bit")`),把 FP8 转换为 bf16,或 AWQ/GPTQ。',
    ),
)

LOG_MESSAGE_MATCH = Message(
    en=Words(
        "the checkpoint is quantized as `{method}`, and `{given}` was asked for",
        "A checkpoint that is quantized already can only be loaded by its own method; the argument contradicts it.",
        "Leave `--quantization` out (the engine reads it from config.json), or take the unquantized "
        "checkpoint to quantize it as `{given}` while loading.",
    ),
    zh=Words(
        "检查点的量化方法是 `{method}`,而参数要求 `{given}`",
        "已量化的检查点只能按其自身方法加载,参数与之矛盾。",
        "去掉 `--quantization`(引擎会从 config.json 读取),或换用未量化的检查点,在加载时按 `{given}` 量化。",
    ),
)

LOG_MESSAGE_DTYPE = Message(
    en=Words(
        "the kernels of `{method}` do not take `{dtype}`",
        "This quantization computes in another data type, and `dtype` of the checkpoint or the argument "
        "asks for `{dtype}`.",
        'Start with `--dtype half` (`dtype="float16"`), or take `awq_marlin` or `gptq_marlin` '
        "(`--quantization awq_marlin`), which compute in bfloat16 as well, or another checkpoint.",
    ),
    zh=Words(
        "`{method}` 的内核不支持 `{dtype}`",
        "该量化方法以其他数据类型计算,而检查点的 `dtype` 或参数要求 `{dtype}`。",
        '用 `--dtype half`(`dtype="float16"`)启动,或使用同样支持 bfloat16 的 `awq_marlin`、'
        "`gptq_marlin`(`--quantization awq_marlin`),或换检查点。",
    ),
)

LOG_MESSAGE_MODELOPT = Message(
    en=Words(
        "SGLang reads the ModelOpt checkpoint as FP8, and it is not",
        "NVIDIA's ModelOpt writes FP8, FP4 (NVFP4) and mixtures, and `quant_algo` in `hf_quant_config.json` or "
        "config.json says which. `--quantization modelopt`, or the detection of this release, took the reader for FP8.",
        "Look: `grep quant_algo FOLDER/*.json`. For NVFP4 start with `--quantization modelopt_fp4` (Blackwell GPUs; "
        "mixture of experts also `--moe-runner-backend flashinfer_cutlass`); for a mixture upgrade SGLang "
        "(`modelopt_mixed`), or take the FP8 or 16-bit checkpoint.",
    ),
    zh=Words(
        "SGLang 把该 ModelOpt 检查点当作 FP8 读取,而它并不是",
        "NVIDIA ModelOpt 可写出 FP8、FP4(NVFP4)及混合格式,由 `hf_quant_config.json` 或 config.json 中的 `quant_algo` "
        "指明。`--quantization modelopt` 或该版本的自动识别选用了 FP8 的读取方式。",
        "查看:`grep quant_algo FOLDER/*.json`。NVFP4 用 `--quantization modelopt_fp4` 启动(Blackwell GPU;MoE 模型再加 "
        "`--moe-runner-backend flashinfer_cutlass`);混合格式请升级 SGLang(`modelopt_mixed`),或换用 FP8 或 16 位检查"
        "点。",
    ),
)

LOG_MESSAGE_FILE = Message(
    en=Words(
        "`{fileless}` was asked for, and the checkpoint has no quantization configuration",
        "The engine found no `quantization_config` in config.json and no file of the method (`quantize_config.json`, "
        "`quant_config.json`) beside it. Mostly the weights are not quantized at all, and `--quantization "
        "{fileless}` does not quantize them while loading; else the file was not copied with the checkpoint.",
        "Leave `--quantization` (`quantization=`) out for weights in 16 bit, or name a checkpoint that was quantized "
        "so. Where the weights are quantized, copy the missing file from the place that they come from. To quantize "
        "while loading, vLLM takes `--quantization fp8` or `bitsandbytes`.",
    ),
    zh=Words(
        "要求以 `{fileless}` 加载,而检查点没有量化配置",
        "config.json 中没有 `quantization_config`,旁边也没有该方法的文件(`quantize_config.json`、"
        "`quant_config.json`)。多数情况下权重根本没有量化,而 `--quantization {fileless}` 不会在加载时量化它们;否则就是"
        "该文件没有随检查点一起复制。",
        "权重为 16 位时去掉 `--quantization`(`quantization=`),或换用以该方法量化的检查点。权重确已量化时,从其来源复制"
        "缺失的文件。要在加载时量化,vLLM 可用 `--quantization fp8` 或 `bitsandbytes`。",
    ),
)

ARGUMENT = Message(
    en=Words(
        "`--quantization {value}` is no method that vLLM {version} lists",
        "The engine ends while it reads the configuration. The list is read from the installed vLLM; only a plugin "
        "could add to it.",
        "Leave the option out for a checkpoint that is quantized already (vLLM reads the method from its config.json), "
        "or write one of the list: {known}.",
    ),
    zh=Words(
        "`--quantization {value}` 不在 vLLM {version} 的量化方法之列",
        "引擎在读取配置时就会退出。列表读自已安装的 vLLM;只有插件才能增加。",
        "检查点本身已量化时去掉该选项(vLLM 会从 config.json 读取方法),或写成列表中的一个:{known}。",
    ),
)


@check(PROBLEM)
def quantization_refused(serving: Serving, packages: Packages, choices: Choices | None) -> Judgement:
    """Judge an explicit method by the list of the installed release; a plugin may add methods."""
    setting = serving.arguments.get("quantization")
    if setting is None or not setting.known or setting.value in {None, "", "None"} or "$" in str(setting.value):
        return
    known = choices.of("vllm.QuantizationMethods", "vllm.QUANTIZATION_METHODS") if choices is not None else ()
    if not known or any(name.startswith("vllm-") for name in packages.distributions):
        yield Skip("the quantization methods that the installed vLLM takes are not known")
    elif str(setting.value).lower() not in known:
        near = get_close_matches(str(setting.value), known, 3, 0.4) or known[:8]
        yield found(
            PROBLEM, ARGUMENT, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
            value=setting.value, version=packages.version("vllm") or "", known=", ".join(f"`{each}`" for each in near),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Unknown, contradicted, of another data type, read as FP8, or without the method's file."""
    return found(
        PROBLEM,
        hits.choice(
            {
                "given": LOG_MESSAGE_MATCH,
                "dtype": LOG_MESSAGE_DTYPE,
                "fileless": LOG_MESSAGE_FILE,
                "static": LOG_MESSAGE_MODELOPT,
            },
            LOG_MESSAGE,
        ),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        method=hits.get("method"),
        given=hits.get("given"),
        dtype=hits.get("dtype"),
        fileless=hits.get("fileless"),
    )
