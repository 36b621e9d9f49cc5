"""An operation of PyTorch refuses the tensors that it was given: their shapes, their type, or their device.

## What it means
Two shapes do not multiply or add, an integer tensor goes into an operation for fractions, a tensor is asked for as
NumPy while it has a gradient, lives on a GPU or is bfloat16, which NumPy does not know.
## What it does to a run
RuntimeError or TypeError at that line, the first time that it is reached.
## What to do
Print shape, dtype and device of what enters that line, and change it as the finding says.
## How it is found
In a log: by PyTorch's own words; where a problem knows more of the same line, that one speaks.
## References
https://docs.pytorch.org/docs/stable/notes/broadcasting.html
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html
https://docs.pytorch.org/docs/stable/tensor_attributes.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR052", name="operation-refuses-tensors", severity=ERROR, since="0.1")

#: areas and problems that know more of the same line
_OTHERS = (
    "TRL", "TRF", "VLL", "DSP", "ACC", "FSD", "PFT", "BNB", "FLA", "CUD", "NCC", "MEM", "HUB", "CKP", "PYT", "RAY",
    "VRL", "TRI", "ORL", "DAT", "NUM", "RLX", "TOR044",
)  # fmt: skip

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"^RuntimeError: (?:mat1 and mat2 shapes cannot be multiplied|size mismatch, got input) \("
            r"(?P<one>\d{1,9}x\d{1,9}) and (?P<two>\d{1,9}x\d{1,9})\)"
        ),
        "",
        Message(
            en=Words(
                "two matrices do not fit: {one} times {two}",
                "The columns of the first have to be as many as the rows of the second: a layer gets features of "
                "another width (another model's hidden size, a wrong `view`, an adapter or head of another model).",
                "Print `x.shape` before that line and the layer (`print(layer)`): its `in_features` must be the "
                "last size of `x`. Heads and projections take `model.config.hidden_size`; a head or adapter that "
                "was loaded must belong to this model.",
            ),
            zh=Words(
                "两个矩阵形状不匹配:{one} 乘 {two}",
                "前者的列数必须等于后者的行数:某一层得到了另一种宽度的特征(另一个模型的隐藏维度、错误的 `view`、属于"
                "其他模型的适配器或输出头)。",
                "在该行之前打印 `x.shape` 和该层(`print(layer)`):其 `in_features` 必须等于 `x` 的最后一维。输出头与"
                "投影用 `model.config.hidden_size`;加载的头或适配器必须属于该模型。",
            ),
        ),
    ),
    (
        (
            r"^RuntimeError: The size of tensor a \((?P<one>\d{1,9})\) must match the size of tensor b"
            r" \((?P<two>\d{1,9})\) at non-singleton dimension (?P<dim>\d{1,2})"
        ),
        "",
        Message(
            en=Words(
                "two tensors have different sizes in dimension {dim}: {one} and {two}",
                "They are added, compared or masked element by element, which needs equal sizes (or 1): sequences "
                "of different lengths, a mask or labels that were cut or padded apart from the ids, a batch that "
                "lacks rows.",
                "Print the shapes of both before that line. Pad and cut ids, mask and labels together (one call of "
                "the tokenizer), slice log-probabilities and labels alike (`[:, :-1]` and `[:, 1:]`), and expand "
                "with `unsqueeze` where one value stands for a row.",
            ),
            zh=Words(
                "两个张量在第 {dim} 维大小不同:{one} 与 {two}",
                "它们要逐元素相加、比较或掩码,大小必须相等(或为 1):序列长度不同、掩码或标签与 id 分别截断或填充、批"
                "次缺行。",
                "在该行之前打印两者的形状。id、掩码与标签要一起填充和截断(一次分词),对数概率与标签以相同方式切片"
                "(`[:, :-1]` 与 `[:, 1:]`),一行只有一个值时用 `unsqueeze` 扩展。",
            ),
        ),
    ),
    (
        (
            r"^RuntimeError: (?:view size is not compatible with input tensor's size and stride|shape "
            r"'\[[\d, -]{1,80}\]' is invalid for input of size (?P<size>\d{1,15}))"
        ),
        "",
        Message(
            en=Words(
                "a tensor cannot be viewed in the shape that is asked for",
                "`view` needs as many elements as the tensor has, in memory order: after `transpose`, `permute` or "
                "a slice it is not contiguous, and a wrong batch or length leaves another number of elements.",
                "Use `x.reshape(...)` (or `x.contiguous().view(...)`), and print `x.shape` before it: the sizes "
                "must multiply to the same number; leave one of them to -1.",
            ),
            zh=Words(
                "张量无法以要求的形状查看(view)",
                "`view` 要求元素个数与张量相同且按内存顺序排列:经过 `transpose`、`permute` 或切片后不连续;批大小或长"
                "度错误则元素个数不同。",
                "使用 `x.reshape(...)`(或 `x.contiguous().view(...)`),并在之前打印 `x.shape`:各维之积必须相同;可把其"
                "中一维写成 -1。",
            ),
        ),
    ),
    (
        (
            r"^(?:RuntimeError: Can't call numpy\(\) on Tensor that requires grad|TypeError: (?:Got un"
            r"supported ScalarType BFloat16|can't convert (?P<device>\w{3,8}:\d{1,3}) device type tens"
            r"or to numpy))"
        ),
        "",
        Message(
            en=Words(
                "a tensor cannot become a NumPy array as it is",
                "NumPy knows no gradients, no GPU and no bfloat16.",
                "`x.detach().float().cpu().numpy()`; for one number `x.item()`, for a list `x.tolist()`.",
            ),
            zh=Words(
                "张量不能直接转换为 NumPy 数组",
                "NumPy 不支持梯度、GPU 和 bfloat16。",
                "`x.detach().float().cpu().numpy()`;单个数用 `x.item()`,列表用 `x.tolist()`。",
            ),
        ),
    ),
    (
        (
            r"^(?:NotImplementedError|RuntimeError): (?:\"(?P<kernel>[\w.]{1,80})\" not implemented fo"
            r"r '(?P<type>Long|Int|Bool|Byte|Char|Short)'|(?P<mean>mean)\(\): could not infer output d"
            r"type)"
        ),
        "",
        Message(
            en=Words(
                "an operation for fractions got a tensor of whole numbers",
                "Softmax, mean and most losses are defined for floating point only; ids, masks, counts and rewards "
                "out of Python lists of integers are whole numbers.",
                "Convert before that line: `x.float()`; make rewards with `torch.tensor(rewards, "
                "dtype=torch.float32)`; see that ids were not passed where logits belong.",
            ),
            zh=Words(
                "面向小数的运算得到了整数张量",
                "softmax、mean 和大多数损失只支持浮点数;id、掩码、计数以及由整数列表得到的奖励都是整数。",
                "在该行之前转换:`x.float()`;用 `torch.tensor(rewards, dtype=torch.float32)` 构造奖励;确认没有把 id "
                "传到应为 logits 的地方。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame, symptom_of=_OTHERS) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits, LIKELY)
