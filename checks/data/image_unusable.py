"""An image of the dataset cannot be read or is of a size that the model's processor does not take.

## What it means
Processors want a picture that opens, of a shape that can be cut into patches: Qwen-VL needs sides of at least 28 pixels
and a ratio under 200.
## What it does to a run
The run ends at the first such row, which may come hours after the start.
## What to do
Find and drop or mend such rows before training.
## How it is found
In a log: by the messages of PIL and of the image processors.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/models/qwen2_vl/image_processing_qwen2_vl.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/image_utils.py
https://pillow.readthedocs.io/en/stable/reference/Image.html#PIL.Image.open
https://huggingface.co/docs/datasets/image_load
https://github.com/TIGER-AI-Lab/VLM2Vec/issues/108
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT045", name="image-unusable", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"UnidentifiedImageError: cannot identify image file (?P<file>[^\n]{1,200})",
        Message(
            en=Words(
                "PIL cannot tell what kind of image a file is",
                "It is empty or cut off, an error page or an LFS pointer in place of the picture, or of a format "
                "without a plugin (HEIC, AVIF, SVG).",
                "Look at it (`file PATH`, `ls -la PATH`), download it again (`git lfs pull`), or install the "
                "plugin (`pip install pillow-heif`). Drop rows that do not open before training: "
                '`dataset.filter(lambda row: opens(row["image"]), num_proc=8)` with a try around '
                "`PIL.Image.open(...).load()`.",
            ),
            zh=Words(
                "PIL 无法识别某个图像文件",
                "文件为空或被截断、内容是错误页面或 LFS 指针,或格式缺少插件(HEIC、AVIF、SVG)。",
                "检查文件(`file PATH`、`ls -la PATH`),重新下载(`git lfs pull`),或安装插件(`pip install "
                'pillow-heif`)。训练前丢弃打不开的行:`dataset.filter(lambda row: opens(row["image"]), '
                "num_proc=8)`,其中对 `PIL.Image.open(...).load()` 做 try。",
            ),
        ),
    ),
    (
        (
            r"OSError: (?:image file is truncated|broken data stream when reading image file|Truncated File "
            r"Read)"
        ),
        Message(
            en=Words(
                "an image file of the dataset is cut off",
                "Its header is whole and its pixels end early: an interrupted download or a full disk.",
                "Download it again; to train on what is there: `from PIL import ImageFile; "
                "ImageFile.LOAD_TRUNCATED_IMAGES = True` at the top of the script; or drop such rows with a try "
                "around `PIL.Image.open(...).load()`.",
            ),
            zh=Words(
                "数据集中的某个图像文件被截断",
                "文件头完整而像素提前结束:下载中断或磁盘已满。",
                "重新下载;若要用现有内容训练:在脚本开头写 `from PIL import ImageFile; "
                "ImageFile.LOAD_TRUNCATED_IMAGES = True`;或对 `PIL.Image.open(...).load()` 做 try 以丢弃这些行。",
            ),
        ),
    ),
    (
        (
            r"DecompressionBombError: Image size \((?P<pixels>\d{1,12}) pixels\) exceeds limit of "
            r"(?P<limit>\d{1,12}) pixels"
        ),
        Message(
            en=Words(
                "an image has {pixels} pixels, more than PIL opens ({limit})",
                "PIL takes it for an attempt to fill the memory.",
                "Shrink such images beforehand, or if they can be trusted raise the limit: "
                "`PIL.Image.MAX_IMAGE_PIXELS = None`; the processor's `max_pixels` still bounds what the model "
                "gets.",
            ),
            zh=Words(
                "某个图像有 {pixels} 像素,超过 PIL 的上限({limit})",
                "PIL 认为它是耗尽内存的攻击。",
                "预先缩小这类图像;若可信任,提高上限:`PIL.Image.MAX_IMAGE_PIXELS = None`;processor 的 "
                "`max_pixels` 仍会限制模型得到的大小。",
            ),
        ),
    ),
    (
        (
            r"ValueError: height:(?P<height>\d{1,7}) (?:and|or) width:(?P<width>\d{1,7}) must be larger than "
            r"factor:(?P<factor>\d{1,5})"
        ),
        Message(
            en=Words(
                "an image is {width}x{height}, and the model takes none below {factor} pixels a side",
                "Qwen-VL cuts images into patches of {factor} pixels.",
                "Drop such rows, or enlarge them when they are loaded: `image.resize((max(width, {factor}), "
                "max(height, {factor})))`. Look for broken crops in the data.",
            ),
            zh=Words(
                "某个图像为 {width}x{height},模型要求每边不小于 {factor} 像素",
                "Qwen-VL 把图像切成 {factor} 像素的块。",
                "丢弃这些行,或在加载时放大:`image.resize((max(width, {factor}), max(height, {factor})))`。检查数"
                "据中有问题的裁剪。",
            ),
        ),
    ),
    (
        (
            r"ValueError: absolute aspect ratio must be smaller than (?P<limit>\d{1,5}), got "
            r"(?P<ratio>[\d.]{1,12})"
        ),
        Message(
            en=Words(
                "an image is {ratio} times longer than wide; the model takes up to {limit}",
                "Qwen-VL refuses such strips, which mostly come from broken crops.",
                "Drop such rows, or pad them to a squarer shape when they are loaded.",
            ),
            zh=Words(
                "某个图像的长宽比为 {ratio},模型最多接受 {limit}",
                "Qwen-VL 拒绝这样的长条,它们多来自有问题的裁剪。",
                "丢弃这些行,或在加载时填充为更接近方形。",
            ),
        ),
    ),
    (
        (
            r"ValueError: Invalid image type\. (?:Expected either PIL\.Image\.Image|Must be of type "
            r"PIL\.Image\.Image)[^\n]{0,300}?(?:but got (?P<kind>[^\n]{1,60}?)\.?)?$"
        ),
        Message(
            en=Words(
                "the processor got something that is no image",
                "A path, a dictionary with bytes, or None stands where a picture should: the column was not "
                "decoded, or a row has no image.",
                'Decode the column: `dataset.cast_column("image", datasets.Image(decode=True))`, open paths by '
                '`PIL.Image.open(path).convert("RGB")`, and drop rows without an image.',
            ),
            zh=Words(
                "processor 得到的不是图像",
                "应为图像的位置是路径、含字节的字典或 None:该列没有解码,或某行没有图像。",
                '解码该列:`dataset.cast_column("image", datasets.Image(decode=True))`,路径用 '
                '`PIL.Image.open(path).convert("RGB")` 打开,并丢弃没有图像的行。',
            ),
        ),
    ),
    (
        (
            r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?:[^'\n]{0,280}[\\/])?"
            r"(?P<file>[^'\\/\n]{1,60}"
            r"\.(?:jpe?g|JPE?G|png|PNG|webp|bmp|gif|tiff?))'"
        ),
        Message(
            en=Words(
                "an image was not found at the path that was opened: `{file}`",
                "A path in the rows of a dataset counts from a folder that is joined in front of it, or from the "
                "folder of the "
                "start. That folder is another one here, an archive was not unpacked whole, or the file was never "
                "downloaded; on another node or in a container it may not be mounted.",
                "Look with the path of the exception: `ls -la PATH`, and `ls` of its folders from the left to see "
                "where it ends. Correct the folder (`--image_folder`, `image_folders`, `media_dir`, ROOT_IMAGE_DIR), "
                "unpack the archive again, and count before a long run: `sum(not os.path.exists(p) for p in paths)`.",
            ),
            zh=Words(
                "按所打开的路径找不到图像:`{file}`",
                "数据集各行中的路径相对于拼接在前面的目录,或相对于启动目录。此处该目录不同,压缩包没有完整解压,或文件从"
                "未下载;在"
                "其他节点或容器中也可能没有挂载。",
                "用异常中的路径检查:`ls -la PATH`,并从左到右逐级 `ls` 查看在何处中断。更正目录(`--image_folder`、"
                "`image_folders`、`media_dir`、ROOT_IMAGE_DIR),重新解压,长时间运行前先统计:`sum(not os.path.exists(p) "
                "for p in paths)`。",
            ),
        ),
    ),
)

#: an image that is read, not one that is written
_READS = r"PIL[\\/]Image\.py:open$|qwen_vl_utils|:(?:fetch_image|load_image|_load_image|regularize_images)$"

SIGNATURES = tuple(
    Signature(pattern, frame=_READS if pattern.startswith("FileNotFoundError") else "") for pattern, _ in CASES
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
