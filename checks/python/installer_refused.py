"""pip or uv refuses an installation, for a reason of its own and not of the package.

## What it means
The folder holds no project, the wheel is for another Python, the system protects its own Python, a file or a package
may not be changed, a name is misspelt, git is missing or is refused by its server, or the network failed.
## What it does to a run
Nothing was installed; what comes next uses the old environment.
## What to do
What the finding says for the message.
## How it is found
In a log: by the installer's own words.
## References
https://pip.pypa.io/en/stable/news/
https://github.com/NVIDIA/GenerativeAIExamples/issues/101
https://packaging.python.org/en/latest/specifications/externally-managed-environments/
https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
https://github.com/pypa/pip/blob/25.3/src/pip/_internal/exceptions.py
https://github.com/zyxElsa/InST/issues/1
"""

from __future__ import annotations

from typing import Any

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT040", name="installer-refused", severity=ERROR, since="0.1")

CASES = (
    (
        (
            r"(?:Directory cannot be installed in editable mode: (?P<folder>[^\s]{1,300})|does not appear to be a "
            r"Python project: neither|is not installable\. Neither 'setup\.py' nor 'pyproject\.toml' found)"
        ),
        Message(
            en=Words(
                "the folder to install holds no Python project (no setup.py or pyproject.toml)",
                "`pip install -e .` (also as `-e .` in a requirements or environment file) takes the folder it is "
                "started in, and that is not the root of the repository, or the clone is not complete.",
                "Change into the folder with setup.py or pyproject.toml (`cd REPOSITORY`) and run the same command "
                "there. Where an old pip finds a pyproject.toml and still refuses `-e`: `python -m pip install -U "
                "pip setuptools`.",
            ),
            zh=Words(
                "要安装的目录不是 Python 项目(没有 setup.py 或 pyproject.toml)",
                "`pip install -e .`(requirements 或环境文件中的 `-e .` 亦同)使用启动时所在的目录,而那不是仓库根目录"
                "(root folder),或克隆不完整。",
                "进入含 setup.py 或 pyproject.toml 的目录(`cd REPOSITORY`)再执行同一命令。若旧 pip 已有 "
                "pyproject.toml 仍拒绝 `-e`:`python -m pip install -U pip setuptools`。",
            ),
        ),
    ),
    (
        r"error: externally-managed-environment|The interpreter at [^\n]{1,200} is externally managed",
        Message(
            en=Words(
                "this Python belongs to the operating system, which forbids pip to install into it",
                "Distributions mark their Python as externally managed (PEP 668), so that pip does not break the "
                "system.",
                "Make an environment: `python3 -m venv ~/venv && source ~/venv/bin/activate` (or conda, `uv venv`), "
                "and install there. In a throw-away container `--break-system-packages` is acceptable.",
            ),
            zh=Words(
                "此 Python 属于操作系统,禁止 pip 向其中安装",
                "发行版把自带的 Python 标记为 externally managed(PEP 668),以免 pip 破坏系统。",
                "新建虚拟环境:`python3 -m venv ~/venv && source ~/venv/bin/activate`(或 conda、`uv venv`),在其中安装"
                "。一次性容器中可用 `--break-system-packages`。",
            ),
        ),
    ),
    (
        (
            r"(?:(?P<wheel>[^\s]{1,200}\.whl) is not a supported wheel on this platform"
            r"|(?P<wheel2>[^\s`]{1,200}\.whl)`? is not compatible with the current)"
        ),
        Message(
            en=Words(
                "the wheel `{wheel}` is not made for this Python or platform",
                "Its name tells for which: `cp310` is Python 3.10, then come the system and the processor; "
                "`cu12torch2.5` and `cxx11abi` of flash-attn the CUDA, torch and C++ ABI. pip refuses where Python, "
                "system or C library differ.",
                "Take the file whose tags fit: `python -V`, `python -m pip debug --verbose` lists the accepted "
                "tags. Or make an environment with the Python of the wheel (`conda create -n NAME python=3.10`); "
                "upgrade an old pip (`python -m pip install -U pip`). Do not rename the file.",
            ),
            zh=Words(
                "wheel `{wheel}` 不适用于此 Python 或平台",
                "文件名说明其适用对象:`cp310` 即 Python 3.10,其后是系统和处理器;flash-attn 的 `cu12torch2.5` 与 "
                "`cxx11abi` 是 CUDA、torch 和 C++ ABI。Python、系统或 C 库不符时 pip 会拒绝。",
                "选用标签相符的文件:`python -V`,`python -m pip debug --verbose` 列出可接受的标签。或用该 wheel 对应"
                "的 Python 新建环境(`conda create -n NAME python=3.10`);旧 pip 请升级(`python -m pip install -U "
                "pip`)。不要改文件名。",
            ),
        ),
    ),
    (
        (
            r"(?:Cannot uninstall '?(?P<package>[\w.\-]{1,80})[^\n]{0,40}(?:distutils installed project|no RECORD file)"
            r"|error: uninstall-(?:no-record-file|distutils-installed-package))"
        ),
        Message(
            en=Words(
                "pip may not replace a package that the operating system or conda installed",
                "There is no list of its files (RECORD), so pip does not know what to remove.",
                "Use an environment of your own (`python3 -m venv ~/venv`). Else leave the old one in place: `pip "
                "install --ignore-installed PACKAGE`, or remove it with what installed it (`apt-get remove "
                "python3-...`, `conda remove`).",
            ),
            zh=Words(
                "pip 无法替换由操作系统或 conda 安装的包",
                "没有其文件清单(RECORD),pip 不知道要删除什么。",
                "使用自己的虚拟环境(`python3 -m venv ~/venv`)。否则保留旧包:`pip install --ignore-installed "
                "PACKAGE`,或用安装它的工具删除(`apt-get remove python3-...`、`conda remove`)。",
            ),
        ),
    ),
    (
        r"(?:THESE PACKAGES DO NOT MATCH THE HASHES|Hash mismatch for `)",
        Message(
            en=Words(
                "a downloaded file is not the one whose checksum (hash) was expected",
                "The download was cut off or comes from a broken cache or mirror; or the index has replaced the "
                "file since the hash was written.",
                "`pip cache purge` (uv: `uv cache clean`) and again with `--no-cache-dir`, over a better connection "
                "or from the official index (`-i https://pypi.org/simple`). If it stays, the lock file is stale: "
                "make it anew.",
            ),
            zh=Words(
                "下载的文件与预期校验和(hash)不符",
                "下载被截断、缓存或镜像损坏,或索引在记录 hash 之后更换了文件。",
                "`pip cache purge`(uv:`uv cache clean`),加 `--no-cache-dir` 重试,换更好的网络或官方索引"
                "(`-i https://pypi.org/simple`)。若仍如此,说明锁文件过期,请重新生成。",
            ),
        ),
    ),
    (
        (
            r"(?:pip\._vendor\.urllib3\.exceptions\.(?P<kind>\w{1,40})|Could not install packages due to an "
            r"OSError: HTTPS?ConnectionPool"
            r"|error: Request failed after \d{1,2} retries)"
        ),
        Message(
            en=Words(
                "the package index was not reached, or the download broke off",
                "The network is slow or closed (compute nodes often have no internet), or a proxy or mirror stands "
                "between.",
                "Try again with patience: `pip install --default-timeout 1000 --retries 10 ...` (uv: "
                "`UV_HTTP_TIMEOUT=1000`), or from a mirror that is near (`-i "
                "https://pypi.tuna.tsinghua.edu.cn/simple`); set HTTPS_PROXY where one is needed, unset a dead one. "
                "Without network: `pip download` on a machine that has one, `pip install --no-index --find-links "
                "FOLDER` here.",
            ),
            zh=Words(
                "无法访问包索引,或下载中断",
                "网络缓慢或不通(计算节点常无外网),或中间有代理或镜像。",
                "耐心重试:`pip install --default-timeout 1000 --retries 10 ...`(uv:`UV_HTTP_TIMEOUT=1000`),或使用就"
                "近镜像(`-i https://pypi.tuna.tsinghua.edu.cn/simple`);需要代理则设置 HTTPS_PROXY,失效的请 unset。无"
                "网络时在有网机器上 `pip download`,此处 `pip install --no-index --find-links FOLDER`。",
            ),
        ),
    ),
    (
        (
            r"(?:Cannot find command 'git'|No such file or directory: 'git'|git: (?:command )?not found|Git executable "
            r"not found)"
        ),
        Message(
            en=Words(
                "a program calls `git`, and git is not installed",
                "pip and uv clone requirements of git repositories with it; training scripts and trackers ask it for "
                "the commit. Slim images do not have it.",
                "Install it first: `apt-get update && apt-get install -y git` (`conda install git`). Where a script of "
                "your own calls it, let it go on without.",
            ),
            zh=Words(
                "某个程序调用 `git`,而 git 没有安装",
                "pip 和 uv 用它克隆来自 git 仓库的依赖;训练脚本和实验跟踪工具用它查询提交号。精简镜像中没有它。",
                "先安装:`apt-get update && apt-get install -y git`(`conda install git`)。若是自己的脚本调用它,让脚本在"
                "没有 git 时也能继续。",
            ),
        ),
    ),
    (
        (
            r"(?:fatal: unable to access '(?P<url>https?://[^'\n]{1,200})'(?!: The requested URL returned error: "
            r"4)|error: RPC failed; (?:curl|HTTP)|× git clone "
            r"[^\n]{1,200} did not run successfully|fatal: (?:early EOF|fetch-pack: invalid index-pack output))"
        ),
        Message(
            en=Words(
                "a git repository could not be cloned: the connection failed or broke off",
                "The network, a proxy or a firewall stands between this machine and the git server, or the "
                "repository is large and the connection slow.",
                "Test it: `git ls-remote URL`. Set `git config --global http.proxy ...` where a proxy is needed (or "
                "unset a dead one); clone shallow (`git clone --depth 1`), over ssh, or from a mirror, then `pip "
                "install ./FOLDER`; `git config --global http.version HTTP/1.1` helps against `RPC failed`.",
            ),
            zh=Words(
                "无法克隆 git 仓库:连接失败或中断",
                "本机与 git 服务器之间有网络、代理或防火墙问题,或仓库很大而连接缓慢。",
                "测试:`git ls-remote URL`。需要代理则 `git config --global http.proxy ...`(失效的请取消);浅克隆"
                "(`git clone --depth 1`)、走 ssh 或镜像,然后 `pip install ./FOLDER`;`git config --global "
                "http.version HTTP/1.1` 可缓解 `RPC failed`。",
            ),
        ),
    ),
    (
        r"Can not perform a '--user' install",
        Message(
            en=Words(
                "`pip install --user` in a virtual environment, which does not see the user's packages",
                "The environment is cut off from ~/.local on purpose; what is installed there would not be found.",
                "Leave `--user` out. Where a program or a setting adds it: `pip config unset global.user`, "
                "`PIP_USER=0`.",
            ),
            zh=Words(
                "在虚拟环境中执行了 `pip install --user`,而该环境看不到用户目录中的包",
                "虚拟环境特意与 ~/.local 隔离;装在那里的包不会被找到。",
                "去掉 `--user`。若由程序或设置加入:`pip config unset global.user`、`PIP_USER=0`。",
            ),
        ),
    ),
    (
        r"^\s{0,12}error: <urlopen error (?P<why>[^>\n]{1,120})>",
        Message(
            en=Words(
                "a package's setup.py could not download its ready-made wheel",
                "flash-attn, mamba-ssm, causal-conv1d and others first try to fetch a wheel for this torch from "
                "GitHub; the connection failed or was reset.",
                "Download the file that the log names (`Guessing wheel URL`) by hand or through a proxy or mirror "
                "and install it: `pip install ./FILE.whl`; check that it exists on the release page for this torch "
                "and CUDA. Or build: `FLASH_ATTENTION_FORCE_BUILD=TRUE`, `MAMBA_FORCE_BUILD=TRUE`, "
                "`CAUSAL_CONV1D_FORCE_BUILD=TRUE` with `--no-build-isolation` and a CUDA toolkit. Or try again.",
            ),
            zh=Words(
                "某个包的 setup.py 无法下载其现成 wheel",
                "flash-attn、mamba-ssm、causal-conv1d 等会先从 GitHub 获取适合当前 torch 的 wheel;连接失败或被重置。",
                "手动或经代理、镜像下载日志中给出的文件(`Guessing wheel URL`)并安装:`pip install ./FILE.whl`;确认发"
                "布页上有适合此 torch 和 CUDA 的文件。或自行构建:`FLASH_ATTENTION_FORCE_BUILD=TRUE`、"
                "`MAMBA_FORCE_BUILD=TRUE`、`CAUSAL_CONV1D_FORCE_BUILD=TRUE`,加 `--no-build-isolation` 和 CUDA 工具包"
                "。或重试。",
            ),
        ),
    ),
    (
        r"Extra build requirement `(?P<package>[^`\n]{1,80})` was declared with `match-runtime",
        Message(
            en=Words(
                "uv cannot build a package with the torch of the project (`match-runtime`)",
                "The project tells uv to build it with the same {package} that runs; packages like flash-attn, "
                "whose setup.py decides while it builds, have no static metadata, and this uv refuses them (0.11.0 "
                "refused what releases before and after accept).",
                "Use another uv: `uv self update`, or `pip install 'uv<0.11'`; or declare the metadata in "
                "pyproject.toml (`[[tool.uv.dependency-metadata]]`), or take a ready-made wheel of the package.",
            ),
            zh=Words(
                "uv 无法用项目中的 torch 构建某个包(`match-runtime`)",
                "项目要求 uv 用运行时的同一 {package} 构建;此 uv 找不到该包的静态元数据而拒绝(0.11.0 拒绝了前后版本"
                "都接受的情形)。",
                "换用其他版本的 uv:`uv self update`,或 `pip install 'uv<0.11'`;或在 pyproject.toml 中声明元数据"
                "(`[[tool.uv.dependency-metadata]]`),或使用该包现成的 wheel。",
            ),
        ),
    ),
    (
        r"Invalid requirement: (?P<wrong>'[^'\n]{1,36}'?)",
        Message(
            en=Words(
                "pip cannot read the requirement {wrong}",
                "One `=` is conda's spelling, pip wants two; or a line of the file is no requirement (a conda list, "
                "a comment without `#`, a path).",
                "Write `name==1.2.3`. A list made by `conda list --export` is installed by conda; for pip make it "
                "with `pip freeze`.",
            ),
            zh=Words(
                "pip 无法解析依赖 {wrong}",
                "单个 `=` 是 conda 的写法,pip 需要两个;或文件中某行不是依赖(conda 列表、缺少 `#` 的注释、路径)。",
                "写成 `name==1.2.3`。`conda list --export` 生成的列表由 conda 安装;给 pip 用请以 `pip freeze` 生成。",
            ),
        ),
    ),
    (
        (
            r"Could not open requirements file: [^\n]{0,40}No such file or directory: "
            r"'(?P<file_named>[^'\n]{1,200})'"
        ),
        Message(
            en=Words(
                "there is no requirements file `{file_named}` in the folder where pip was started",
                "The path is relative to the current folder, or the repository has another name for it now "
                "(pyproject.toml, requirements/).",
                "`ls`, then `cd` into the repository, or install the project itself: `pip install -e .`.",
            ),
            zh=Words(
                "启动 pip 的目录中没有依赖文件 `{file_named}`",
                "路径相对于当前目录,或仓库已改用其他名称(pyproject.toml、requirements/)。",
                "先 `ls`,再 `cd` 进入仓库;或安装项目本身:`pip install -e .`。",
            ),
        ),
    ),
    (
        r"Could not install packages due to an (?:OSError|EnvironmentError): \[(?:WinError 5|Errno 13)\]",
        Message(
            en=Words(
                "pip may not write into this Python's folder (permission denied)",
                "It belongs to another user or to the system; on Windows a running program holds the file open.",
                "Use an environment of your own (`python3 -m venv ~/venv && source ~/venv/bin/activate`) or `pip "
                "install --user`; on Windows end the Python that runs. Not `sudo pip`.",
            ),
            zh=Words(
                "pip 没有权限写入此 Python 的目录(permission denied)",
                "该目录属于其他用户或系统;Windows 上则是某个运行中的程序占用了文件。",
                "使用自己的虚拟环境(`python3 -m venv ~/venv && source ~/venv/bin/activate`)或 `pip install "
                "--user`;Windows 上先结束正在运行的 Python。不要 `sudo pip`。",
            ),
        ),
    ),
    (
        (
            r"(?:Package '(?P<package>[^'\n]{1,80})' requires a different Python: (?P<python>[\d.]{1,12}) not in "
            r"'(?P<needs>[^'\n]{1,60})'|(?P<package2>[\w.\-]{1,80}) requires Python "
            r"'(?P<needs2>[^'\n]{1,60})' but the running Python is (?P<python2>[\d.]{1,12})|the current Python "
            r"version \((?P<python3>[\d.]{1,12})\) does not satisfy Python(?P<needs3>[^\s]{1,40}))"
        ),
        Message(
            en=Words(
                "{package} does not support Python {python} (it needs {needs})",
                "The installer refuses, and nothing was installed.",
                "Make an environment with a Python that it supports: `conda create -n NAME python=3.11` or `uv venv "
                "--python 3.11`; or install a release of the package that still supports (or already supports) this "
                "Python.",
            ),
            zh=Words(
                "{package} 不支持 Python {python}(需要 {needs})",
                "安装程序拒绝,没有安装任何东西。",
                "用受支持的 Python 新建环境:`conda create -n NAME python=3.11` 或 `uv venv --python 3.11`;或安装仍支"
                "持(或已支持)此 Python 的版本。",
            ),
        ),
    ),
    (
        (
            r"fatal: (?:unable to access '(?P<url>https?://[^'\n]{1,200})': The requested URL returned error: 4\d\d"
            r"|Authentication failed for '(?P<url2>https?://[^'\n]{1,200})'"
            r"|could not read (?:Username|Password) for '(?P<url3>https?://[^'\n]{1,200})')"
        ),
        Message(
            en=Words(
                "the git server refuses `{url}`: it is private, or no such repository exists",
                "GitHub and others answer a private repository and a misspelt one alike, and ask for a login. "
                "Passwords do not count there any more, only tokens and keys; a proxy may answer 403 as well.",
                "Open the address in a browser that is logged in, and correct it. For a private one clone over ssh "
                "(`git@github.com:OWNER/NAME.git`), or log in first: `gh auth login`, `git config --global "
                "credential.helper cache`. Do not write the token into a requirements file.",
            ),
            zh=Words(
                "git 服务器拒绝 `{url}`:仓库是私有的,或不存在",
                "对私有仓库和拼错的仓库,GitHub 等给出相同的回答,并要求登录。那里已不接受密码,只接受 token 与密钥;代理也"
                "可能返回 403。",
                "在已登录的浏览器中打开该地址并改正。私有仓库请用 ssh 克隆(`git@github.com:OWNER/NAME.git`),或先登录:"
                "`gh auth login`、`git config --global credential.helper cache`。不要把 token 写进 requirements 文件。",
            ),
        ),
    ),
    (
        r"fatal: Could not read from remote repository",
        Message(
            en=Words(
                "git could not read a repository over ssh: no key that counts, or no way to port 22",
                "The line above tells which: `Permission denied (publickey)` is a key that the server does not know "
                "(jobs "
                "and containers have none), a time-out or an unknown host is a network that does not let ssh out.",
                "`ssh -T git@github.com` shows the same by hand. Clone a public repository over https "
                "(`https://github.com/OWNER/NAME.git`; in requirements `git+https://`). For a private one give the "
                "machine a key, or a token with `gh auth login`. GitHub takes ssh on port 443 of ssh.github.com, too.",
            ),
            zh=Words(
                "git 无法通过 ssh 读取仓库:没有有效的密钥,或无法到达 22 端口",
                "上一行说明了是哪一种:`Permission denied (publickey)` 表示服务器不认识该密钥(作业和容器中没有密钥);超时"
                "或主机未知表示网络不允许 ssh 外出。",
                "`ssh -T git@github.com` 可手动重现。公开仓库改用 https 克隆"
                "(`https://github.com/OWNER/NAME.git`,requirements 中用 `git+https://`)。私有仓库请为该机器配置密钥,或"
                "用 `gh auth login` 配置 token。GitHub 也可通过 ssh.github.com 的 443 端口使用 ssh。",
            ),
        ),
    ),
    (
        (
            r"(?:error in (?P<package>[\w.\-]{1,60}) setup command: use_2to3 is invalid|module 'pkgutil' has no "
            r"attribute '(?P<gone>ImpImporter)'|error: Multiple top-level packages discovered in a flat-layout)"
        ),
        Message(
            en=Words(
                "a package's setup.py is too old for this Python or setuptools",
                "It was written for a setuptools or Python that still had what newer ones removed (`use_2to3`, "
                "`pkgutil.ImpImporter` of Python before 3.12, folders found by themselves).",
                "Install a newer release of that package, one with a wheel for this Python. Else use the tools of "
                "its time: Python 3.10 or 3.11, `pip install 'setuptools<58'` (for use_2to3) and "
                "`--no-build-isolation`; for `ImpImporter`: `python -m pip install -U pip setuptools`, and a numpy "
                "of 1.26 or newer.",
            ),
            zh=Words(
                "某个包的 setup.py 对此 Python 或 setuptools 来说太旧",
                "它依赖新版已移除的功能(`use_2to3`、Python 3.12 之前的 `pkgutil.ImpImporter`、自动发现目录)。",
                "安装该包的新版本(对此 Python 有 wheel 的)。否则使用同期工具:Python 3.10 或 3.11,`pip install "
                "'setuptools<58'`(针对 use_2to3)加 `--no-build-isolation`;`ImpImporter` 则 `python -m pip install "
                "-U pip setuptools`,并用 numpy 1.26 及以上。",
            ),
        ),
    ),
    (
        (
            r"^no such option: (?P<new>--(?:config-settings?|break-system-packages|root-user-action|dry-run|report"
            r"|group|no-build-isolation))\b"
        ),
        Message(
            en=Words(
                "this pip is too old for the option `{new}`",
                "The command was written for a newer pip: `--config-settings` came with 22.1 (several at once with "
                "23.1), `--break-system-packages` with 23.0.1, `--group` with 25.1.",
                "`python -m pip install -U pip setuptools wheel` in this environment, then the same command with "
                "`python -m pip install ...`, so that it is this pip that runs.",
            ),
            zh=Words(
                "该 pip 太旧,不认识选项 `{new}`",
                "命令是为较新的 pip 写的:`--config-settings` 自 22.1(可多次使用自 23.1)、`--break-system-packages` 自 "
                "23.0.1、`--group` 自 25.1。",
                "在该环境中 `python -m pip install -U pip setuptools wheel`,再用 `python -m pip install ...` "
                "执行同一命令,以确保运行的是这个 pip。",
            ),
        ),
    ),
    (
        r"^no such option: (?P<old>--(?:install|global|build)-option)\b",
        Message(
            en=Words(
                "this pip no longer knows `{old}`, which the command passes to setup.py",
                "The options of setup.py were taken out of pip: `--install-option` in 23.1, the others later. Old "
                "instructions for apex, DeepSpeed or pytorch3d still name them.",
                "Write them for the build back end: `pip install -v --no-build-isolation --config-settings "
                '"--build-option=--cpp_ext" --config-settings "--build-option=--cuda_ext" ./` (apex), or follow the '
                "newest instructions of the project. Else take an older pip for this one installation: `python -m pip "
                'install "pip<23.1"`.',
            ),
            zh=Words(
                "该 pip 已不认识命令中传给 setup.py 的 `{old}`",
                "传给 setup.py 的选项已从 pip 中移除:`--install-option` 在 23.1,其余更晚。apex、DeepSpeed、pytorch3d "
                "的旧安装说明中仍有它们。",
                "改写为构建后端的选项:`pip install -v --no-build-isolation --config-settings "
                '"--build-option=--cpp_ext" --config-settings "--build-option=--cuda_ext" ./`(apex),或按项目最新的说明'
                '安装。也可仅为这次安装使用旧 pip:`python -m pip install "pip<23.1"`。',
            ),
        ),
    ),
)

SIGNATURES = tuple(
    Signature(pattern, symptom_of=("CKP", "LCH", "HUB", "HST") if "ConnectionPool" in pattern else ())
    for pattern, _ in CASES
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; groups that a pattern has twice count under the first's name."""
    first = hits.first
    groups: dict[str, Any] = dict(first.groups)
    for name in ("wheel", "package", "python", "needs", "url"):
        groups[name] = next((groups[each] for each in (name, f"{name}2", f"{name}3") if groups.get(each)), "")
    groups["package"] = f"`{groups['package']}`" if groups["package"] else "a package"
    message = CASES[first.signature][1]
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), **groups)
