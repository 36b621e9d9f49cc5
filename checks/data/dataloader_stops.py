"""The processes or the thread that load the data ended without an exception.

## What it means
`DataLoader` workers are processes of their own. One that is killed, or crashes inside of a C library, leaves no
traceback; the trainer only notices that it is gone.
## What it does to a run
RuntimeError in the trainer while it waits for a batch.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
https://docs.pytorch.org/docs/stable/notes/multiprocessing.html
https://github.com/pytorch/pytorch/blob/v2.7.1/torch/utils/data/dataloader.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT047", name="dataloader-stops", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"RuntimeError: DataLoader worker \(pid\(s\) (?P<pids>[\d, ]{1,80})\) exited unexpectedly",
        Message(
            en=Words(
                "worker processes of the data loader ended without a word (pid {pids})",
                "They were killed (host memory, a signal), crashed in a C library (image, video and tokenizer "
                "code, CUDA used in a forked worker), or the first process of a script without `if __name__ == "
                '"__main__":` started itself again. The reason stands above in the log, or in `dmesg -T | tail`.',
                "Run once with `dataloader_num_workers=0` to see the true error. If that runs: fewer workers, "
                "`dataloader_prefetch_factor=2`, more host memory and `/dev/shm` (`docker run --shm-size=16g`), "
                "no CUDA tensor in the dataset or collator.",
            ),
            zh=Words(
                "数据加载的工作进程无声退出(pid {pids})",
                "它们被杀死(主机内存、信号)、在 C 库中崩溃(图像、视频、分词器代码,或在 fork 的进程中使用 CUDA),或"
                '脚本没有 `if __name__ == "__main__":` 而再次启动了自己。原因在日志上方,或在 `dmesg -T | tail` 中'
                "。",
                "先用 `dataloader_num_workers=0` 运行一次以看到真正的错误。若能运行:减少 worker、"
                "`dataloader_prefetch_factor=2`、增大主机内存与 `/dev/shm`(`docker run --shm-size=16g`),数据集与 "
                "collator 中不要有 CUDA 张量。",
            ),
        ),
    ),
    (
        r"RuntimeError: Pin memory thread exited unexpectedly",
        Message(
            en=Words(
                "the thread that pins batches for the GPU ended",
                "It copies batches into page-locked memory and met an error of its own (CUDA already broken, no "
                "memory to lock, an object in the batch that it cannot pin). That error stands above in the log.",
                "Look for the first error above; try `dataloader_pin_memory=False`; with an own class in the "
                "batch give it `pin_memory()` or turn it into tensors.",
            ),
            zh=Words(
                "为 GPU 锁页的线程结束了",
                "它把批次复制到锁页内存时自己遇到了错误(CUDA 已出错、无法锁定内存、批次中有它无法处理的对象)。该"
                "错误在日志上方。",
                "查看上方第一个错误;尝试 `dataloader_pin_memory=False`;批次中若有自定义类,请实现 `pin_memory()` "
                "或转换为张量。",
            ),
        ),
    ),
    (
        r"RuntimeError: DataLoader timed out after (?P<seconds>[\d.]{1,9}) seconds",
        Message(
            en=Words(
                "no batch came from the data loader within {seconds} s",
                "The workers are stuck or too slow: a storage that hangs, images or videos fetched over the "
                "network, a lock held when they were forked (tokenizers, OpenCV, HTTP clients), or a limit below "
                "the time of the first batch.",
                "Raise `timeout` of the loader (0: none), put the data on a local disk, set "
                "`TOKENIZERS_PARALLELISM=false` and `cv2.setNumThreads(0)`, and see with `py-spy dump --pid "
                "WORKER` where a worker stands.",
            ),
            zh=Words(
                "{seconds} 秒内没有从数据加载器得到批次",
                "工作进程卡住或太慢:存储挂起、经网络读取图像或视频、fork 时被持有的锁(tokenizers、OpenCV、HTTP 客"
                "户端),或该限制小于第一个批次所需时间。",
                "增大加载器的 `timeout`(0 为不限),把数据放到本地磁盘,设置 `TOKENIZERS_PARALLELISM=false` 与 "
                "`cv2.setNumThreads(0)`,并用 `py-spy dump --pid WORKER` 查看其位置。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: unable to (?:open|resize) shared memory object </torch_\w{1,60}> in read-write mode:"
            r" (?P<why>No such file or directory|File exists)"
        ),
        Message(
            en=Words(
                "a tensor that a loader's worker put into shared memory could not be opened ({why})",
                "Workers hand tensors over by the name of a shared memory file where the sharing strategy is "
                "`file_system`; the file was removed before it was read (a worker ended, many workers with "
                "`persistent_workers`), or memory for it ran out.",
                "Take the default back: `torch.multiprocessing.set_sharing_strategy('file_descriptor')` with a "
                "higher limit (`ulimit -n 65535`). Else fewer workers (`dataloader_num_workers`), "
                "`persistent_workers=False`, `pin_memory=False`; look at `df -h /dev/shm` and `free -g` while it "
                "runs.",
            ),
            zh=Words(
                "无法打开加载器工作进程放入共享内存的张量({why})",
                "共享策略为 `file_system` 时,工作进程按共享内存文件名(shared memory)传递张量;文件在读取前已被删除(工"
                "作进程结束、大量 worker 且 `persistent_workers`),或内存不足。",
                "恢复默认:`torch.multiprocessing.set_sharing_strategy('file_descriptor')` 并提高上限(`ulimit -n "
                "65535`)。否则减少工作进程(`dataloader_num_workers`),`persistent_workers=False`、"
                "`pin_memory=False`;运行时查看 `df -h /dev/shm` 和 `free -g`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
