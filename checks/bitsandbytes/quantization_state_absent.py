"""A 4-bit layer of bitsandbytes runs without the state of its quantization.

## What it means
A weight is quantized when it is moved to the GPU, and the scales stay beside it as `quant_state`. A layer that was
replaced after that, made on the CPU, or rebuilt by FSDP or by loading code lacks it.
## What it does to a run
AssertionError or AttributeError in the first forward pass.
## What to do
Load by the library's own way and onto the GPU; keep Transformers, Accelerate, PEFT and bitsandbytes of one time.
## How it is found
In a log: by the assertions of bitsandbytes about `quant_state`.
## References
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.45.5/bitsandbytes/autograd/_functions.py
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.45.5/bitsandbytes/nn/modules.py
https://github.com/huggingface/transformers/issues/29267
https://github.com/bitsandbytes-foundation/bitsandbytes/issues/825
https://github.com/huggingface/transformers/issues/24961
https://github.com/huggingface/transformers/pull/24906
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="BNB007", name="quantization-state-absent", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"^(?:AssertionError:?|AssertionError: assert (?:quant_state is not "
            r"None|module\.weight\.shape\[1\] == 1))$"
        ),
        Message(
            en=Words(
                "a 4-bit layer of bitsandbytes has no quantization state",
                "Its weight was never quantized on the GPU, or lost its state: the model (or a part of it, such "
                "as a router or head) was loaded to the CPU, offloaded, replaced after loading, or the loading "
                "code of this Transformers does not fit this bitsandbytes.",
                "`pip install -U transformers accelerate peft bitsandbytes` together. Load with "
                "`from_pretrained(..., quantization_config=BitsAndBytesConfig(load_in_4bit=True), "
                'device_map={{"": LOCAL_RANK}})`, without `.cpu()`, `.to()` or `load_state_dict` afterwards, and '
                'leave parts that are read by hand out of it: `llm_int8_skip_modules=["lm_head", "gate"]`.',
            ),
            zh=Words(
                "bitsandbytes 的 4 位层没有量化状态",
                "其权重从未在 GPU 上量化,或丢失了状态:模型(或其一部分,如路由器或输出头)被加载到 CPU、被卸载、加载"
                "后被替换,或该 Transformers 的加载代码与该 bitsandbytes 不匹配。",
                "一起升级 `pip install -U transformers accelerate peft bitsandbytes`。用 `from_pretrained(..., "
                'quantization_config=BitsAndBytesConfig(load_in_4bit=True), device_map={{"": LOCAL_RANK}})` 加载,'
                "之后不要 `.cpu()`、`.to()` 或 `load_state_dict`,并排除需要手动读取的部分"
                ':`llm_int8_skip_modules=["lm_head", "gate"]`。',
            ),
        ),
    ),
    (
        (
            r"AttributeError: '(?P<kind>Parameter|Tensor|DTensor|FlatParameter)' object has no attribute "
            r"'quant_state'"
        ),
        Message(
            en=Words(
                "a 4-bit layer holds a plain {kind} where bitsandbytes' own weight was",
                "Something put a new tensor in the place of `Params4bit`: FSDP or DeepSpeed that partitioned it, "
                "a merge, an embedding that was resized, or code that assigned `weight`.",
                "Do not resize or assign weights of a quantized model; for QLoRA with FSDP set "
                "`bnb_4bit_quant_storage` to the dtype of the model (`torch.bfloat16`), with DeepSpeed use "
                "ZeRO-2 or a Transformers, PEFT and bitsandbytes (0.43 or newer) that support it under ZeRO-3: "
                "`pip install -U transformers peft accelerate bitsandbytes`.",
            ),
            zh=Words(
                "4 位层中原为 bitsandbytes 权重的位置是普通的 {kind}",
                "有东西用新张量取代了 `Params4bit`:对其分片的 FSDP 或 DeepSpeed、合并、调整大小的嵌入,或直接给 "
                "`weight` 赋值的代码。",
                "不要对量化模型调整嵌入大小或给权重赋值;FSDP 上的 QLoRA 请把 `bnb_4bit_quant_storage` 设为模型的 "
                "dtype(`torch.bfloat16`);DeepSpeed 请用 ZeRO-2,或使用支持 ZeRO-3 的 Transformers、PEFT 与 "
                "bitsandbytes(0.43 或更新):`pip install -U transformers peft accelerate bitsandbytes`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: All input tensors need to be on the same GPU, but found some tensors to not be on "
            r"a GPU"
        ),
        Message(
            en=Words(
                "bitsandbytes was given tensors that are not all on one GPU",
                "A quantized layer and what comes into it lie on different devices: the batch or the model is "
                "still on the CPU, or `device_map` spread the layers and the inputs did not follow.",
                'Put the whole model on one GPU a process: `device_map={{"": LOCAL_RANK}}`, and move batches '
                "there (`inputs.to(model.device)`); with DataParallel use `CUDA_VISIBLE_DEVICES=0` or a launcher.",
            ),
            zh=Words(
                "传给 bitsandbytes 的张量不在同一个 GPU 上",
                "量化层与其输入位于不同设备:批次或模型仍在 CPU 上,或 `device_map` 分散了各层而输入没有跟随。",
                '每个进程把整个模型放在一个 GPU 上:`device_map={{"": LOCAL_RANK}}`,并移动批次'
                "(`inputs.to(model.device)`);若使用 DataParallel,请设 `CUDA_VISIBLE_DEVICES=0` 或使用启动器。",
            ),
        ),
    ),
    (
        r"RuntimeError: mat1 and mat2 shapes cannot be multiplied \(\d{1,9}x\d{1,9} and 1x(?P<numbers>\d{6,12})\)",
        Message(
            en=Words(
                "a packed 4-bit weight ({numbers} bytes in one row) was multiplied as if it were a plain one",
                "The layer is a plain `nn.Linear` (or code of a model that reads `weight` itself) that holds what "
                "bitsandbytes packed: loaded from a 4-bit checkpoint without its quantization configuration, a layer "
                "whose class a patch replaced, a merge into quantized weights, or PEFT older than 0.4, whose LoRA "
                "layers know no 4-bit weights.",
                "Keep that layer out of the quantization (`llm_int8_skip_modules=[...]`), or load the checkpoint so "
                "that its `quantization_config` is used (no own `config`, no `load_state_dict` over it); use a plain "
                "bf16 checkpoint where own or remote code reads weights. Upgrade together: `pip install -U "
                "transformers peft bitsandbytes`.",
            ),
            zh=Words(
                "打包的 4 位权重(一行 {numbers} 字节)被当作普通权重相乘",
                "该层是普通的 `nn.Linear`(或模型代码自行读取 `weight`),却持有 bitsandbytes 打包的内容:加载 4 位检查点时"
                "没有其量化配置、补丁替换了该层的类、合并进了量化权重,或 PEFT 早于 0.4,其 LoRA 层不认识 4 位权重。",
                "把该层排除在量化之外(`llm_int8_skip_modules=[...]`),或以使用其 `quantization_config` 的方式加载"
                "(不传自己的 `config`,不再 `load_state_dict`);若自己的或远程代码直接读取权重,使用普通 bf16 检查点;"
                "一起升级:`pip install -U transformers peft bitsandbytes`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: mat1 and mat2 shapes cannot be multiplied \(\d{1,9}x(?P<wide>\d{3,5}) and "
            r"1x(?P<part>\d{2,5})\)"
        ),
        Message(
            en=Words(
                "a quantized weight was cut into slices of {part} by `pretraining_tp` above 1",
                "With `pretraining_tp` above 1 in `config.json` (Llama-2 13B and 70B had 2 and 8) the attention of "
                "Llama slices its weights as plain matrices, which bitsandbytes' packed 4-bit and 8-bit weights are "
                "not.",
                'Set it to 1: `"pretraining_tp": 1` in the model\'s `config.json`, or `model.config.pretraining_tp = '
                "1` "
                "before training; or download the model's present configuration, and upgrade Transformers, which "
                "dropped "
                "the slices.",
            ),
            zh=Words(
                "量化权重因 `pretraining_tp` 大于 1 而被切成 {part} 宽的片段",
                "`config.json` 中 `pretraining_tp` 大于 1(Llama-2 13B 和 70B 曾为 2 和 8)时,Llama 的注意力把权重当作普"
                "通矩阵切片,而 bitsandbytes 打包的 4 位和 8 位权重不是。",
                '设为 1:在模型的 `config.json` 中写 `"pretraining_tp": 1`,或训练前 `model.config.pretraining_tp = 1`;'
                "或重新下载模型现在的配置,并升级已去掉切片的 Transformers。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(
        CASES[0][0],
        frame=r"bitsandbytes[\\/](?:autograd[\\/]_functions\.py:matmul_4bit|nn[\\/]modules\.py:(?:fix_4bit_weight_quant_state_from_module|forward))$",
    ),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
    Signature(CASES[4][0], frame=r"modeling_\w{1,40}\.py:(?:<listcomp>|forward)$"),
)


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for; slices are those of an attention that was cut evenly."""
    first = hits.first
    if first.signature == 4:
        even = int(first.groups["wide"]) in {int(first.groups["part"]) * number for number in (2, 4, 8)}
        if "pretraining_tp" not in first.code and not even:
            return None
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
