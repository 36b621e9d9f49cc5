"""A data set has other splits or sizes than its card records.

## What it means
The README of a repository records the splits and their sizes. Files that were added or removed since, a partial
download, or a selection with `data_files` make them differ, and `datasets` checks.
## What it does to a run
`load_dataset` ends after the files were read.
## What to do
Skip the check, or correct the record or the files.
## How it is found
In a log: by the exceptions of datasets.
## References
https://huggingface.co/docs/datasets/package_reference/builder_classes#datasets.VerificationMode
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/utils/info_utils.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="DAT059", name="splits-not-as-recorded", severity=ERROR, since="0.1")

SPLITS = Message(
    en=Words(
        "the splits of the dataset are not those that its card records (`{kind}`)",
        "The `dataset_info` in the README (or an old cache) names other splits, row counts or files than there "
        "are: the data changed, the download is partial, or only some files were chosen with `data_files` or "
        "`split`.",
        '`load_dataset(..., verification_mode="no_checks")` where the files are right (older releases: '
        '`ignore_verifications=True`); where they may be broken `download_mode="force_redownload"`. In a '
        "repository of your own delete the `dataset_info` block of the README, or write it anew with "
        "`push_to_hub`.",
    ),
    zh=Words(
        "数据集的 split 与其说明卡记录的不同(`{kind}`)",
        "README 中的 `dataset_info`(或旧缓存)记录的 split、行数或文件与实际不同:数据有改动,下载不完整,或只用"
        " `data_files`、`split` 选择了部分文件。",
        '文件无误时用 `load_dataset(..., verification_mode="no_checks")`(旧版本为 '
        '`ignore_verifications=True`);文件可能损坏时用 `download_mode="force_redownload"`。自己的仓库可删'
        "除 README 的 `dataset_info` 段,或用 `push_to_hub` 重写。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"(?:datasets\.(?:exceptions|utils\.info_utils)\.)?(?P<kind>NonMatchingSplitsSizesError|ExpectedM"
            r"oreSplits(?:Error)?|UnexpectedSplits(?:Error)?|NonMatchingChecksumError|ExpectedMoreDownloadedF"
            r"ilesError|UnexpectedDownloadedFileError)(?::|$)"
        ),
        SPLITS,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
