"""llama.cpp, or a loader of its GGUF files, cannot read the model or does not take the command.

## What it means
A GGUF file names the architecture and the tensors of its model, and each build of llama.cpp (llama-server, Ollama,
llama-cpp-python, LM Studio) knows those that existed when it was made. Options of its programs change as often.
## What it does to a run
The server ends before it listens, and a program that waits for it times out.
## What to do
Update the program that holds llama.cpp, or take a file or option that fits it.
## How it is found
In a log, by llama.cpp's own words.
## References
https://github.com/abetlen/llama-cpp-python/issues/1994
https://github.com/oobabooga/textgen/issues/7237
https://github.com/ollama/ollama/issues/4002
https://github.com/mozilla-ai/llamafile/issues/730
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="VLL103", name="llama-cpp-refuses", severity=ERROR, since="0.1")

_UPDATE = (
    "Update the program: `pip install -U llama-cpp-python` (its wheels lag; a source build: "
    '`CMAKE_ARGS="-DGGML_CUDA=on" pip install --force-reinstall --no-cache-dir llama-cpp-python`), a newer release of '
    "llama.cpp, Ollama or LM Studio. Otherwise "
)
_UPDATE_ZH = (
    "更新该程序:`pip install -U llama-cpp-python`(其 wheel 较滞后;从源码编译:"
    '`CMAKE_ARGS="-DGGML_CUDA=on" pip install --force-reinstall --no-cache-dir llama-cpp-python`),或更新版本的 '
    "llama.cpp、Ollama、LM Studio。否则"
)

#: (pattern, what is said of it)
CASES = (
    (
        r"unknown model architecture: '(?P<name>[\w.\-]{1,60})'",
        Message(
            en=Words(
                "this build of llama.cpp does not know the model architecture `{name}`",
                "The GGUF file names its architecture, and the build is older than the support for it: bundled copies "
                "(llama-cpp-python, Ollama, llamafile, forks) lag behind llama.cpp.",
                _UPDATE + "use a GGUF of a model that it knows, or serve the original weights with vLLM or SGLang.",
            ),
            zh=Words(
                "此 llama.cpp 构建不认识模型架构 `{name}`",
                "GGUF 文件写明了架构,而该构建早于对它的支持:内置的副本(llama-cpp-python、Ollama、llamafile、各分支"
                ")落后于 llama.cpp。",
                _UPDATE_ZH + "使用它支持的模型的 GGUF,或用 vLLM、SGLang 提供原始权重。",
            ),
        ),
    ),
    (
        r"unknown pre-tokenizer type: '(?P<name>[\w.\-]{1,60})'",
        Message(
            en=Words(
                "this build of llama.cpp does not know the tokenizer `{name}` of the file",
                "The GGUF file was made by a newer converter than the program that reads it.",
                _UPDATE + "convert the model again with the converter of the same release.",
            ),
            zh=Words(
                "此 llama.cpp 构建不认识文件的分词器 `{name}`",
                "GGUF 文件由比读取程序更新的转换器生成。",
                _UPDATE_ZH + "用同一版本的转换器重新转换模型。",
            ),
        ),
    ),
    (
        (
            r"(?:(?:llama|error loading model)[^\n]{0,160}: missing tensor '(?P<name>[\w.\-]{1,80})'|wrong number of "
            r"tensors; expected \d{1,6}, got \d{1,6}"
            r"|has invalid ggml type \d{1,4})"
        ),
        Message(
            en=Words(
                "the tensors of the GGUF file are not those that this llama.cpp expects",
                "The file was converted or quantized by another release (a newer quantization type, other tensors), is "
                "only a part of a split model, or was cut off.",
                _UPDATE + "compare size and checksum with the source, download it again, give the first part of a "
                "split file (`-00001-of-`), or convert anew.",
            ),
            zh=Words(
                "GGUF 文件中的张量与此 llama.cpp 所期望的不符",
                "该文件由其他版本转换或量化(更新的量化类型、不同的张量),只是拆分模型的一部分,或被截断。",
                _UPDATE_ZH + "核对大小与校验和,重新下载;拆分文件请给出第一部分(`-00001-of-`);或重新转换。",
            ),
        ),
    ),
    (
        r"(?:gguf|ggml|llama)[^\n]{0,160}: invalid magic (?:characters|number)",
        Message(
            en=Words(
                "the file that was given to llama.cpp is no GGUF file",
                "Its first bytes are others: an old GGML file, a Git LFS pointer or a web page that was saved in its "
                "place, safetensors, or a download that was cut off.",
                "Look at it: `head -c 4 FILE` must print GGUF. Download the file itself (`hf download REPO FILE.gguf`, "
                "`git lfs pull`), or convert the model with `convert_hf_to_gguf.py`.",
            ),
            zh=Words(
                "交给 llama.cpp 的不是 GGUF 文件",
                "文件开头不对:旧的 GGML 文件、Git LFS 指针、被保存下来的网页、safetensors,或下载被截断。",
                "检查:`head -c 4 FILE` 应输出 GGUF。下载真正的文件(`hf download REPO FILE.gguf`、`git lfs pull`),或用 "
                "`convert_hf_to_gguf.py` 转换模型。",
            ),
        ),
    ),
    (
        (
            r"(?:GGUF model with architecture (?P<name>[\w.\-]{1,60}) is not supported yet"
            r"|Unknown gguf model_type: (?P<type>[\w.\-]{1,60}))"
        ),
        Message(
            en=Words(
                "the GGUF reader of this library does not know the model's architecture",
                "Transformers and vLLM map the tensor names of GGUF files for a list of architectures only; the "
                "model is not on it in this release.",
                "Serve the original safetensors weights (or AWQ, GPTQ, FP8) instead, run the GGUF with llama.cpp "
                "(`llama-server`), or upgrade: `pip install -U transformers gguf vllm`.",
            ),
            zh=Words(
                "此库的 GGUF 读取器不认识该模型的架构",
                "Transformers 与 vLLM 只为部分架构映射 GGUF 的张量名,该版本不含此模型。",
                "改用原始的 safetensors 权重(或 AWQ、GPTQ、FP8),用 llama.cpp(`llama-server`)运行 GGUF,或升级:`pip "
                "install -U transformers gguf vllm`。",
            ),
        ),
    ),
    (
        r"error while handling argument \"(?P<option>-[\w-]{1,40})\": ",
        Message(
            en=Words(
                "llama.cpp does not accept what follows its option `{option}`",
                "The option expects a value that is missing or of another form, and took the next word for it: options "
                "change between releases (`--flash-attn` needs `on`, `off` or `auto` since August 2025). Often another "
                "program wrote the command for an older or newer llama.cpp.",
                "Give the value (`{option} VALUE`; `llama-server -h` lists them), or leave the option out. Where a "
                "program starts llama-server, update that program, or use the llama.cpp release that it was "
                "written for.",
            ),
            zh=Words(
                "llama.cpp 不接受选项 `{option}` 之后的内容",
                "该选项需要一个值,而值缺失或形式不对,于是把下一个词当作了它:选项随版本变化(2025 年 8 月起 "
                "`--flash-attn` 需要 `on`、`off` 或 `auto`)。往往是其他程序为更旧或更新的 llama.cpp 编写了命令。",
                "给出该值(`{option} VALUE`;`llama-server -h` 会列出),或去掉该选项。若由其他程序启动 llama-server,请"
                "更新该程序,或使用它所针对的 llama.cpp 版本。",
            ),
        ),
    ),
    (
        r"^error: invalid argument: (?P<option>-[\w-]{1,40})$",
        Message(
            en=Words(
                "llama.cpp does not know the option `{option}`",
                "It was removed, renamed or came later than this build, or belongs to another of its programs.",
                "Look it up with `llama-server -h` of this build, take it out or write the present name, or update "
                "llama.cpp or the program that starts it.",
            ),
            zh=Words(
                "llama.cpp 不认识选项 `{option}`",
                "该选项已移除、改名,晚于此构建,或属于它的另一个程序。",
                "用此构建的 `llama-server -h` 查询,去掉它或改用现在的名称,或更新 llama.cpp 或启动它的程序。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; the words of an unknown option are those of other programs, too."""
    sure = LIKELY if hits.first.signature == len(CASES) - 1 else CONFIRMED
    return finding_of_case(PROBLEM, CASES, hits, sure)
