"""FlashInfer's attention kernel does not fit this GPU and the model's heads.

## What it means
The kernel keeps tiles of queries, keys and values in shared memory. Large heads (256, 512, MLA) need more of it than
Turing (64 KiB) or consumer cards (about 100 KiB) have; of some cards a release of FlashInfer knows nothing yet, or its
wheel holds no code for them; and its decode kernel without tensor cores exists for few groupings of heads only.
## What it does to a run
The engine ends while it captures graphs, or with the first request.
## What to do
Take another attention backend; leave the KV cache in 16 bit, since fp8 selects FlashInfer; upgrade FlashInfer within
what the engine allows.
## How it is found
In a log, by FlashInfer's own message.
## References
https://github.com/sgl-project/sglang/issues/4196
https://github.com/flashinfer-ai/flashinfer/issues/926
https://github.com/vllm-project/vllm/issues/50331
https://github.com/vllm-project/vllm/pull/55380
https://github.com/sgl-project/sglang/issues/748
https://github.com/vllm-project/vllm/issues/10154
https://github.com/sgl-project/sglang/issues/25563
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL097", name="flashinfer-kernel-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Error in function '(?P<function>(?:Batch|Single)(?:Prefill|Decode)\w{1,60})' at [^\n]{1,300}: "
        r"(?:Unsupported max_mma_kv|FlashInfer Internal Error: Invalid configuration)"
    ),
    Signature(
        r"(?P<function>(?:Batch|Single)(?:Prefill|Decode)With\w{1,60}) failed with error (?:code )?"
        r"(?:invalid argument|invalid resource handle|(?P<absent>no kernel image|invalid device function))"
    ),
    Signature(
        r"(?:TopK|TopP|MinP|Chain)\w{2,50} failed with error code (?P<absent>no kernel image|invalid device function)"
    ),
    Signature(
        r"Failed to allocate memory for (?P<buffer>\w{3,60}) with size (?P<size>\d{3,12}) and alignment \d{1,5} in "
        r"AlignedAllocator"
    ),
    Signature(
        r"The dtype of (?P<tensor>q|k|kv) torch\.(?P<dtype>\w{3,20}) does not match the \w{1,4}_data_type "
        r"torch\.(?P<planned>\w{3,20}) specified in plan"
    ),
    Signature(
        r"CUDA Error: (?P<absent>no kernel image is available for execution on the device|invalid device function) "
        r"\(\d{1,4}\) \S{0,200}flashinfer\S{0,200}: line \d{1,6} at function"
    ),
    Signature(r"Please set `use_tensor_cores=True` in (?P<decoder>\w{1,60}) for group size (?P<group>\d{1,4})"),
    Signature(
        r"RuntimeError: (?P<absent>No supported CUDA architectures found)(?: for major versions \[[\d, ]{1,60}\])?",
        frame=r"flashinfer",
    ),
    Signature(
        r"Error in function '\w{1,40}' at [^\n]{0,200}?(?P<gemm>trtllm_\w{1,60}_runner)\.cu:\d{1,5}: [^\n]{0,200}?"
        r"(?:running|launching) (?:GEMM|kernel)"
    ),
    Signature(r"(?:Unsupported group_size|failed to dispatch group_size):? (?P<group>\d{1,4})", frame=r"flashinfer"),
)

LOG_MESSAGE = Message(
    en=Words(
        "FlashInfer's kernel `{function}` cannot run on this GPU with this model",
        "Its tiles for heads of this size do not fit into the GPU's shared memory (64 KiB on Turing, about 100 KiB on "
        "consumer cards), or this release of FlashInfer has no way for the card. Weights and requests are "
        "not to blame.",
        "Take another attention backend: vLLM `--attention-backend TRITON_ATTN` or `FLASH_ATTN` (older vLLM: "
        "`VLLM_ATTENTION_BACKEND`), SGLang `--attention-backend triton`. Leave `--kv-cache-dtype` at auto, for fp8 "
        "selects FlashInfer. A newer `flashinfer-python` may know the card, within what the engine pins.",
    ),
    zh=Words(
        "FlashInfer 的内核 `{function}` 无法在此 GPU 上用于此模型",
        "它为这种大小的注意力头准备的分块放不进 GPU 的共享内存(Turing 为 64 KiB,消费级显卡约 100 KiB),或该版本的 "
        "FlashInfer 不支持这张卡。与权重和请求无关。",
        "换用其他注意力后端:vLLM 用 `--attention-backend TRITON_ATTN` 或 `FLASH_ATTN`(旧版 vLLM:"
        "`VLLM_ATTENTION_BACKEND`),SGLang 用 `--attention-backend triton`。`--kv-cache-dtype` 保持 auto,因为 fp8 "
        "会选用 FlashInfer。在引擎允许的范围内,更新的 `flashinfer-python` 可能支持该卡。",
    ),
)

WORKSPACE = Message(
    en=Words(
        "FlashInfer's workspace is too small: {size} bytes were wanted for one of its buffers",
        "The engine sets a fixed buffer aside for FlashInfer's partial results. Many requests, long prompts or "
        "many heads a GPU need more.",
        "Enlarge it: SGLang `export SGLANG_FLASHINFER_WORKSPACE_SIZE=$((1024*1024*1024))` (older releases: "
        "`flashinfer_workspace_size` in `sglang/global_config.py`), vLLM `export "
        "VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE=1073741824`. Or fewer requests at once and a smaller chunked "
        "prefill, or another backend (`--attention-backend triton`).",
    ),
    zh=Words(
        "FlashInfer 的工作区(workspace)过小:其中一个缓冲区需要 {size} 字节",
        "引擎为 FlashInfer 的中间结果预留固定大小的缓冲区。请求多、prompt 长或每 GPU 头数多时需要更多。",
        "增大它:SGLang `export SGLANG_FLASHINFER_WORKSPACE_SIZE=$((1024*1024*1024))`(旧版为 "
        "`sglang/global_config.py` 中的 `flashinfer_workspace_size`),vLLM `export "
        "VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE=1073741824`。或减少并发请求与 chunked prefill 大小,或换用其他后端"
        "(`--attention-backend triton`)。",
    ),
)

DTYPE = Message(
    en=Words(
        "the attention got {dtype} from the model, and FlashInfer was prepared for {planned}",
        "The engine plans its kernels with the type it takes for the model's; a layer computes in another one: a "
        "quantized checkpoint that was made in the other type, a `--dtype` that differs from config.json, or a KV "
        "cache type that this release mixes up.",
        "Set `--dtype` to one type for all (`--dtype bfloat16`, or `half` for AWQ and GPTQ of older releases) and "
        "leave `--kv-cache-dtype` at auto; upgrade the engine; or take another backend (`--attention-backend "
        "triton`).",
    ),
    zh=Words(
        "模型交给注意力的是 {dtype},而 FlashInfer 按 {planned} 准备",
        "引擎按它认为的模型类型规划内核;而某层以另一类型计算:以另一类型制作的量化检查点、与 config.json 不同的 "
        "`--dtype`,或该版本混淆的 KV 缓存类型。",
        "用 `--dtype` 统一类型(`--dtype bfloat16`,旧版的 AWQ、GPTQ 用 `half`),`--kv-cache-dtype` 保持 auto;升级引擎"
        ";或换用其他后端(`--attention-backend triton`)。",
    ),
)

ABSENT = Message(
    en=Words(
        "the installed FlashInfer has no kernels for this GPU",
        "Its binaries were compiled for other compute capabilities: the wheels of the 0.1 series start at 8.0, so that "
        "Turing (T4, RTX 20; 7.5) and Volta (V100; 7.0) are left out, and cards newer than the wheel are, too.",
        "Take another attention backend: SGLang `--attention-backend triton --sampling-backend pytorch` (before 0.4 "
        "`--disable-flashinfer --disable-flashinfer-sampling`), vLLM `--attention-backend TRITON_ATTN` (older: "
        "`VLLM_ATTENTION_BACKEND`, `VLLM_USE_FLASHINFER_SAMPLER=0`). Or install a newer FlashInfer, or build it for "
        "the card with `FLASHINFER_CUDA_ARCH_LIST` (older: `TORCH_CUDA_ARCH_LIST`).",
    ),
    zh=Words(
        "已安装的 FlashInfer 没有此 GPU 的内核",
        "其二进制是为其他计算能力编译的:0.1 系列的 wheel 从 8.0 起,不含 Turing(T4、RTX 20,7.5)与 Volta(V100,7.0),"
        "比该 wheel 更新的显卡也不在内。",
        "换用其他注意力后端:SGLang 用 `--attention-backend triton --sampling-backend pytorch`(0.4 之前为 "
        "`--disable-flashinfer --disable-flashinfer-sampling`),vLLM 用 `--attention-backend TRITON_ATTN`(旧版:"
        "`VLLM_ATTENTION_BACKEND`、`VLLM_USE_FLASHINFER_SAMPLER=0`)。或安装更新的 FlashInfer,或用 "
        "`FLASHINFER_CUDA_ARCH_LIST`(旧版 `TORCH_CUDA_ARCH_LIST`)为该卡编译。",
    ),
)

GROUP = Message(
    en=Words(
        "FlashInfer's decode kernel has no version for {group} query heads per key-value head",
        "Without tensor cores it exists for a few group sizes only, which differ between releases, and the engine "
        "did not ask for the kernel on tensor cores, which takes any. The model's `num_attention_heads / "
        "num_key_value_heads` is {group}.",
        "Upgrade the engine (newer vLLM and SGLang pass `use_tensor_cores=True` for such models), or take another "
        "attention backend: vLLM `--attention-backend FLASH_ATTN` (older: `VLLM_ATTENTION_BACKEND`, or unset it), "
        "SGLang `--attention-backend triton`. Code of your own: `use_tensor_cores=True` in the wrapper.",
    ),
    zh=Words(
        "FlashInfer 的解码内核没有每个键值头 {group} 个查询头的版本",
        "不用 tensor core 时它只有少数几种分组(随版本不同),而引擎没有选用可处理任意分组的 tensor core 内核。该模型的 "
        "`num_attention_heads / num_key_value_heads` 为 {group}。",
        "升级引擎(较新的 vLLM 与 SGLang 会对此类模型传入 `use_tensor_cores=True`),或换用其他注意力后端:vLLM "
        "`--attention-backend FLASH_ATTN`(旧版:`VLLM_ATTENTION_BACKEND`,或取消设置),SGLang `--attention-backend "
        "triton`。自己的代码:在 wrapper 中设 `use_tensor_cores=True`。",
    ),
)
GEMM = Message(
    en=Words(
        "a matrix kernel of TensorRT-LLM in FlashInfer failed to run (`{gemm}`)",
        "FlashInfer picks one of many compiled kernels by GPU, shape and type. The one it picked does not run here: a "
        "card that this release knows badly (B300, GB10 and RTX 50 are not B200), or a shape and batch that it should "
        "have left out. The list of remedies that SGLang prints below (less memory, smaller graphs) is a general one.",
        "Take another implementation: SGLang `--moe-runner-backend triton` (or `flashinfer_cutlass`, and another "
        "`--fp4-gemm-backend`), vLLM with `VLLM_USE_FLASHINFER_MOE_FP4=0` (`_FP8=0`, `_FP16=0`). Or take the release "
        "of engine and FlashInfer before or after this one.",
    ),
    zh=Words(
        "FlashInfer 中 TensorRT-LLM 的矩阵内核运行失败(`{gemm}`)",
        "FlashInfer 按 GPU、形状和类型从许多已编译的内核中选择一个,而所选的内核在此无法运行:该版本对这张卡支持不足"
        "(B300、GB10、RTX 50 不同于 B200),或本应排除该形状与批大小。SGLang 在下方打印的建议(减少显存、缩小 graph)只是"
        "通用建议。",
        "换用其他实现:SGLang 用 `--moe-runner-backend triton`(或 `flashinfer_cutlass`,以及其他 "
        "`--fp4-gemm-backend`),vLLM 设 `VLLM_USE_FLASHINFER_MOE_FP4=0`(`_FP8=0`、`_FP16=0`)。或换用引擎与 FlashInfer "
        "的前一个或后一个版本。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Tiles that do not fit, a card or grouping without kernels, too small a workspace, or another type."""
    return found(
        PROBLEM,
        hits.choice({"absent": ABSENT, "group": GROUP, "size": WORKSPACE, "tensor": DTYPE, "gemm": GEMM}, LOG_MESSAGE),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        function=hits.get("function") or "",
        group=hits.get("group") or "",
        size=hits.get("size") or "",
        dtype=hits.get("dtype") or "",
        planned=hits.get("planned") or "",
        gemm=hits.get("gemm") or "",
    )
