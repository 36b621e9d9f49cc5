"""conda refuses to make or to change an environment.

## What it means
The environment file names builds that exist on another platform only, or packages that no channel has; the terms of a
channel are not accepted; the shell was not prepared for `conda activate`; or the environment does not exist.
## What it does to a run
There is no environment, and what comes next uses another one.
## What to do
What the finding says for the message.
## How it is found
In a log: by conda's own words.
## References
https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
https://www.anaconda.com/docs/getting-started/tos-plugin
https://github.com/NVIDIA/cudf-spark/pull/13114
https://github.com/edward1997104/Neural-Template/issues/9
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="PYT039", name="conda-refused", severity=ERROR, since="0.1")

CASES = (
    (
        r"ResolvePackageNotFound:",
        Message(
            en=Words(
                "conda does not find packages of the environment file on its channels for this platform",
                "Where the lines end in a second `=` (`xz==5.2.5=h7f8727e_1`) they name one build: the file was "
                "exported (`conda env export`) on another operating system, or the build has been withdrawn.",
                "Remove the build string behind the second `=` from every line, and the lines of packages that only "
                "that system has (`libgcc-ng`, `ld_impl_linux-64` on Linux; `vc`, `vs2015_runtime` on Windows). The "
                "author exports for all platforms with `conda env export --no-builds` or `--from-history`. Or make "
                "the environment by hand: `conda create -n NAME python=3.10`, then pip.",
            ),
            zh=Words(
                "conda 的频道在此平台上没有环境文件中的某些包",
                "若行中有第二个 `=`(`xz==5.2.5=h7f8727e_1`),它指定了某个构建(build):该文件在另一操作系统上导出"
                "(`conda env export`),或该构建已撤回。",
                "删除每行第二个 `=` 之后的构建串,以及仅该系统才有的包(Linux 的 `libgcc-ng`、"
                "`ld_impl_linux-64`;Windows 的 `vc`、`vs2015_runtime`)。作者可用 `conda env export --no-builds` 或 "
                "`--from-history` 导出。或手动建环境:`conda create -n NAME python=3.10`,再用 pip。",
            ),
        ),
    ),
    (
        r"PackagesNotFoundError: The following packages are (?:not available from current|missing from the target)",
        Message(
            en=Words(
                "conda finds no such package on the channels in use",
                "The name is misspelt, the package lies on another channel (conda-forge, nvidia, pytorch), exists for "
                "another platform or Python only, or on the Python Package Index only.",
                "Search it: `conda search -c conda-forge NAME`; add the channel (`-c conda-forge`), or install it with "
                "`pip install NAME` inside of the environment. A YAML file goes to `conda env create -f FILE`, not to "
                "`conda install`. torch has no conda channel of its own any more since 2.6: `pip install torch`.",
            ),
            zh=Words(
                "conda 在当前频道上找不到该包",
                "名称有误、包在其他频道(conda-forge、nvidia、pytorch)、只有其他平台或 Python 的版本,或只在 PyPI 上。",
                "搜索:`conda search -c conda-forge NAME`;加上频道(`-c conda-forge`),或在环境内用 `pip install "
                "NAME`。YAML 文件应交给 `conda env create -f FILE`,而非 `conda install`。torch 自 2.6 起不再有自己的"
                " conda 频道:`pip install torch`。",
            ),
        ),
    ),
    (
        r"CondaToSNonInteractiveError: Terms of Service have not been accepted",
        Message(
            en=Words(
                "conda's default channels want their terms of service accepted, and nobody answered",
                "Since 2025 conda asks once for every channel of repo.anaconda.com; in a container or a job it ends "
                "instead.",
                "Accept them in the image (`conda tos accept --override-channels --channel "
                "https://repo.anaconda.com/pkgs/main`, the same for `pkgs/r`; or "
                "`CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes`), or use conda-forge only: `conda create --override-channels "
                "-c conda-forge ...` (Miniforge).",
            ),
            zh=Words(
                "conda 的默认频道要求接受服务条款(terms of service),而此处无人能应答",
                "自 2025 年起 conda 对 repo.anaconda.com 的每个频道询问一次;在容器或作业中则直接退出。",
                "在镜像中接受(`conda tos accept --override-channels --channel "
                "https://repo.anaconda.com/pkgs/main`,`pkgs/r` 同样;或 `CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes`),或只用 "
                "conda-forge:`conda create --override-channels -c conda-forge ...`(Miniforge)。",
            ),
        ),
    ),
    (
        (
            r"(?:CondaError: Run 'conda init' before 'conda activate'|CommandNotFoundError: Your shell has not been "
            r"properly configured to use 'conda activate')"
        ),
        Message(
            en=Words(
                "`conda activate` does not work in this shell: it was not prepared for it",
                "A script, a job and a Dockerfile do not read the lines that `conda init` wrote into ~/.bashrc; "
                "what comes next runs in another Python.",
                'In the script: `source "$(conda info --base)/etc/profile.d/conda.sh"` (or `eval "$(conda '
                'shell.bash hook)"`) before `conda activate NAME`; or do without: `conda run -n NAME python ...`, '
                "or the full path of the environment's python.",
            ),
            zh=Words(
                "此 shell 中无法使用 `conda activate`:未做准备",
                "脚本、作业和 Dockerfile 不读取 `conda init` 写进 ~/.bashrc 的内容;后续命令会在另一个 Python 中运行。",
                '在脚本中 `conda activate NAME` 之前:`source "$(conda info --base)/etc/profile.d/conda.sh"`(或 '
                '`eval "$(conda shell.bash hook)"`);或不激活:`conda run -n NAME python ...`,或使用该环境 python 的完'
                "整路径。",
            ),
        ),
    ),
    (
        r"EnvironmentNameNotFound: Could not find conda environment: (?P<name>[^\s]{1,80})",
        Message(
            en=Words(
                "there is no conda environment `{name}`",
                "It was not made, its making failed, or it belongs to another user or another conda.",
                "`conda env list` shows what there is; make it (`conda create -n {name} python=3.10`), or activate "
                "it by its path (`conda activate /path/to/envs/{name}`).",
            ),
            zh=Words(
                "没有名为 `{name}` 的 conda 环境",
                "它没有建立、建立失败,或属于其他用户或另一个 conda。",
                "`conda env list` 列出已有环境;新建(`conda create -n {name} python=3.10`),或按路径激活"
                "(`conda activate /path/to/envs/{name}`)。",
            ),
        ),
    ),
    (
        r"(?:CondaHTTPError: HTTP (?P<code>\d{3})|CondaSSLError: )[^\n]{0,200}",
        Message(
            en=Words(
                "conda could not reach its channel",
                "The network, a proxy, the mirror in ~/.condarc or the certificate stands between; `HTTP 000` means "
                "that no answer came at all, 404 that the mirror has no such channel any more.",
                "`conda config --show channels default_channels proxy_servers ssl_verify`; remove a dead mirror "
                "(`conda config --remove-key channels`), set HTTPS_PROXY where one is needed, then `conda clean -i` "
                "and again.",
            ),
            zh=Words(
                "conda 无法访问其频道",
                "网络、代理、~/.condarc 中的镜像或证书有问题;`HTTP 000` 表示完全没有应答,404 表示镜像已无该频道。",
                "`conda config --show channels default_channels proxy_servers ssl_verify`;删除失效镜像(`conda config "
                "--remove-key channels`),需要时设置 HTTPS_PROXY,然后 `conda clean -i` 再试。",
            ),
        ),
    ),
    (
        r"UnavailableInvalidChannel: ",
        Message(
            en=Words(
                "a channel that conda was told to use does not exist on that server",
                "`.condarc` sends every channel name to a mirror (`channel_alias`, `custom_channels`), and mirrors "
                "carry a few channels only; or the name is misspelt, the channel was closed, or wants a login (401, "
                "403).",
                "The lines below name channel and address. Ask the channel's own server: `conda install -c "
                "https://conda.anaconda.org/CHANNEL ...` (the full address also in the YAML file); see who set the "
                "mirror with `conda config --show-sources`, and take it away with `conda config --remove-key "
                "channel_alias`. torch and the nvidia packages come by pip as well.",
            ),
            zh=Words(
                "conda 要用的某个频道在该服务器上不存在",
                "`.condarc` 把所有频道名指向镜像(`channel_alias`、`custom_channels`),而镜像只有少数频道;或名称有误、频"
                "道已关闭、需要登录(401、403)。",
                "其下几行给出频道与地址。直接访问频道自己的服务器:`conda install -c https://conda.anaconda.org/CHANNEL "
                "...`(YAML 文件中也可写完整地址);用 `conda config --show-sources` 查看镜像由谁设置,用 `conda config "
                "--remove-key channel_alias` 去掉。torch 与 nvidia 的包也可用 pip 安装。",
            ),
        ),
    ),
    (
        r"(?:NoWritableEnvsDirError|NoWritablePkgsDirError|EnvironmentNotWritableError): ",
        Message(
            en=Words(
                "conda may not write where it wants to make or change the environment",
                "The installation belongs to another user (root, the administrator of the cluster) or lies on a "
                "read-only file system.",
                "Make the environment in a folder of your own: `conda create -p $HOME/envs/NAME ...`, with "
                "`CONDA_PKGS_DIRS=$HOME/.conda/pkgs`, or install Miniforge into the home folder.",
            ),
            zh=Words(
                "conda 没有权限在目标位置建立或修改环境",
                "该安装属于其他用户(root、集群管理员),或位于只读文件系统。",
                "在自己的目录中建环境:`conda create -p $HOME/envs/NAME ...`,并设 "
                "`CONDA_PKGS_DIRS=$HOME/.conda/pkgs`;或在 home 目录安装 Miniforge。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
