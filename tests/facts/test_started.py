"""Commands that stand in a file: scripts, jobs, Makefiles, containers, notebooks; and the shell's own grammar."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.base.codec import dump, load
from doctor.base.fact import Context
from doctor.facts.launch import Launch
from doctor.readers.command import launch as launch_fact
from doctor.readers.script.notebook import NotebookError, cells
from doctor.readers.script.shell import commands
from doctor.readers.script.shell_words import ShellScope, unknown


def started(folder: Path, command: str, environ: dict[str, str] | None = None, **files: str) -> Launch:
    """The fact `launch` of a command in a folder with these files (`run_sh` is `run.sh`)."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return launch_fact.collect(Context(tuple(command.split()), folder, environ or {}))


def words(text: str, *arguments: str, environ: dict[str, str] | None = None) -> list[list[str]]:
    """Words of every command that a script would start."""
    scope = ShellScope(environ or {}, ["run.sh", *arguments], "/here")
    return [list(each.words) for each in commands(text, "run.sh", scope, lambda path: None)]


# --- the shell ---


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("A=1\nrun --n $A \"x $A\" '$A'", [["run", "--n", "1", "x 1", "$A"]]),
        ("run --n \\\n  1 \\\n  --m 2", [["run", "--n", "1", "--m", "2"]]),
        ('B="a b"; run $B "$B"', [["run", "a", "b", "a b"]]),
        ("run ${X:-7} ${X-8} ${HOME:+set}", [["run", "7", "8"]]),
        ('ARGS=(--a 1)\nARGS+=(--b "x y")\nrun "${ARGS[@]}" ${#ARGS[@]}', [["run", "--a", "1", "--b", "x y", "4"]]),
        ("N=4; run $((N*2))", [["run", "8"]]),
        ('if [ -z "$X" ]; then N=1; else N=2; fi; run $N', [["run", "1"]]),
        ('X=a; if [[ "$X" == a* && 3 -gt 2 ]]; then run yes; else run no; fi', [["run", "yes"]]),
        ("case $1 in big) run 8;; *) run 1;; esac", [["run", "8"]]),
        ("for s in 1 2; do run $s; done", [["run", "1"], ["run", "2"]]),
        ('f() { run "$1" $#; }\nf a b', [["run", "a", "2"]]),
        ("set -- x y\nshift\nrun $1", [["run", "y"]]),
        ("A=1 B=2 run x", [["A=1", "B=2", "run", "x"]]),
        ("run a 2>&1 | tee log", [["run", "a"], ["tee", "log"]]),
        ("cd sub && run .", [["run", "."]]),
        ("P=a/b.tar.gz; run ${P##*/} ${P%.gz} ${P%%.*}", [["run", "b.tar.gz", "a/b.tar", "a/b"]]),
        ("run {0..2} x{a,b}", [["run", "0", "1", "2", "xa", "xb"]]),
        ("exec run a", [["run", "a"]]),
        (
            "M=a\nC=r/$M/x_$M.yaml\nexport D=$M/y-$M.b\nrun --c r/$M/x_$M.yaml $C $D",
            [["run", "--c", "r/a/x_a.yaml", "r/a/x_a.yaml", "a/y-a.b"]],
        ),
        (
            'A=1; B=2; C="$A $B"; run "$C" "${A} ${B}" "$A\t  $B x" "$A $((A+B))"',
            [["run", "1 2", "1 2", "1\t  2 x", "1 3"]],
        ),
        (
            'export L="a \\\n  --b $X \\\n "\nC="\n t.py $X\n"\nX=5\nrun "$L $C" ${X} $L',
            [["run", "a   --b    \n t.py \n", "5", "a", "--b"]],
        ),
        ('if [[ "$*" == *"--help"* ]]; then exit 0; fi\nif [[ "$1" == b*g ]]; then run "$*"; fi', [["run", "big"]]),
        ('A=\'*\'; if [[ $A == "*" && abc != "a*" ]]; then run a; fi', [["run", "a"]]),
        (
            "while [[ $# -gt 0 ]]; do case $1 in big) S=8; shift;; *) exit 1;; esac; done\nrun $S $#",
            [["run", "8", "0"]],
        ),
        ("N=1\nwhile [ $N -lt 3 ]; do run $N; N=$((N+1)); done\nrun end", [["run", "1"], ["run", "2"], ["run", "end"]]),
        (
            'IP=$(hostname -i)\nL="run --ip $IP --id ${ID:-`date +%s` x}"\n$L a',
            [["run", "--ip", "$(hostname -i)", "--id", "`date +%s`", "x", "a"]],
        ),
        ('C="run --at $(date +%s)"\neval "$C" b', [["run", "--at", "$(date +%s)", "b"]]),
        ("exit 0\nrun a", []),
        ("run a &\nwait", [["run", "a"]]),
        ("false && run a\ntrue || run b\ntrue && run c", [["run", "c"]]),
        ("run --set '{\"a\": 1}'", [["run", "--set", '{"a": 1}']]),
        ("run $(seq 2)", [["run", "1", "2"]]),
        ('A=(\n  a=1\n  # b=2\n  c=3 # d\n)\nrun "${A[@]}"', [["run", "a=1", "c=3"]]),
        ('set -- a b c\nrun "${@:2}" ${@:1:1}', [["run", "b", "c", "a"]]),
        ("N=Qwen/Qwen3; run ${N//\\//-} ${N,,} ${N:0:4}", [["run", "Qwen-Qwen3", "qwen/qwen3", "Qwen"]]),
        ('L=(a b c); run "${L[@]:1}"', [["run", "b", "c"]]),
    ],
)
def test_words_as_bash_makes_them(script: str, expected: list[list[str]]) -> None:
    assert words(script, "big", environ={"HOME": "/root"} if "HOME" not in script else {}) == expected


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "script",
    [
        'A="1 2"; run $A "$A" ${A/1/9}x', "X=abc; run ${X#a} ${X%c} ${X:-d}", "run a\\ b 'c d' \"e f\"",
        "N=3; M=$((N-1)); run $M $((M*M))", 'L=(a b "c d"); run "${L[@]}" ${L[0]}',
        "for i in {1..3}; do run $i; done", "set -a; Q=1; run $Q", 'W=w; run "${W}"_x $W-y "$W$W"',
        "set -- a 'b c' d; run \"${@:2}\" \"${@:1:2}\"", "V=abcabc; run ${V/b/x} ${V//b/y} ${V^^} ${V:2:3} ${V:1}",
        'L=(a "b c" d # e\n f); run "${L[@]:1:2}" "${L[@]}"',
        'if [ "$Z" = "" ]; then run empty; fi', "g() { run g$1; }; g 1; g 2", 'run --a="x y" --b=$((1+1))',
    ],
)  # fmt: skip
def test_bash_itself_makes_the_same_words(script: str) -> None:
    """What is known is what bash would have passed on; a word that is not known is not compared."""
    told = "run() { for each in \"$@\"; do printf '%s\\0' \"$each\"; done; printf '\\1'; }\n"
    output = subprocess.run(
        ["bash", "-c", told + script], capture_output=True, text=True, check=False, timeout=20
    ).stdout
    real = [each.split("\0")[:-1] for each in output.split("\1")[:-1]]
    ours = [each[1:] for each in words(script)]
    assert len(ours) == len(real)
    for mine, theirs in zip(ours, real, strict=True):
        if not any(map(unknown, mine)):
            assert mine == theirs


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@given(
    st.lists(
        st.sampled_from([
            "A=1", "B='x y'", "C=$A$B", "unset A", 'export D="$B"', "run $A", 'run "$B" $C', "run ${D:-none}",
            'if [ -n "$A" ]; then run t; else run f; fi', "for i in 1 $A; do run $i; done", "E=(p $B)",
            'run "${E[@]}"', "run $((1+2))", "A+=z", "case $A in 1*) run one;; *) run other;; esac",
            "set -- $B q", 'run $# "$@"', "f() { run in $1; }", "true && A=9", "false || run or",
        ]),
        max_size=8,
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_script_of_these_lines_gives_what_bash_gives(lines: list[str]) -> None:
    script = "\n".join(lines)
    told = "run() { for each in \"$@\"; do printf '%s\\0' \"$each\"; done; printf '\\1'; }\n"
    done = subprocess.run(
        ["bash", "-c", told + script, "run.sh"], capture_output=True, text=True, check=False, timeout=20
    )
    real = [each.split("\0")[:-1] for each in done.stdout.split("\1")[:-1]]
    ours = [each[1:] for each in words(script)]
    if not any(unknown(word) for each in ours for word in each):
        assert ours == real


@given(st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_no_text_breaks_the_reader(text: str) -> None:
    for each in words(text):
        assert each


def test_what_only_running_tells_keeps_its_source() -> None:
    (found,) = words('run --out "o/$(date +%s)" --n $RANDOM --host ${HOSTNAME} --gpus `nvidia-smi -L | wc -l`')
    assert found[2] == "o/$(date +%s)"
    assert all(unknown(found[index]) for index in (2, 4, 6, 8))


def test_a_branch_that_may_not_be_taken_leaves_its_variables_unknown() -> None:
    (found,) = words("N=1\nif nvidia-smi; then N=8; fi\nrun $N")[-1:]
    assert unknown(found[1])


def test_exports_reach_the_command_and_plain_variables_do_not() -> None:
    scope = ShellScope({}, ["run.sh"], "/here")
    text = "A=1\nexport B=2\nset -a\nC=3\nset +a\nD=4\nexport E\nE=5\nunset B\nrun"
    (found,) = commands(text, "run.sh", scope, lambda path: None)
    assert dict(found.environment) == {"C": "3", "E": "5"}


# --- files ---


def test_a_script_is_read_to_its_launch_command(tmp_path: Path) -> None:
    script = '#!/bin/bash\nexport NCCL_DEBUG=INFO\nN=${GPUS:-4}\naccelerate launch --num_processes $N \\\n train.py --lr 1e-6 --output_dir "o/$(date)"\n'  # noqa: E501 - one script
    found = started(tmp_path, "bash run.sh", run_sh=script)
    assert (found.kind, found.options["num_processes"].value) == ("accelerate", 4)
    assert found.environment == {"NCCL_DEBUG": "INFO"}
    assert found.script == str(tmp_path / "train.py")
    assert found.arguments["lr"].value == 1e-6
    assert not found.arguments["output_dir"].known
    assert [(each.file, each.line) for each in found.read_from] == [(str(tmp_path / "run.sh"), 4)]
    assert "is not known before it runs" in found.unclear[0]


@pytest.mark.parametrize("command", ["bash run.sh", "./run.sh", "sh -e run.sh", "srun bash run.sh", "nohup ./run.sh"])
def test_ways_to_start_a_script(tmp_path: Path, command: str) -> None:
    found = started(tmp_path, command, run_sh="#!/bin/bash\ntorchrun --nproc_per_node 2 train.py\n")
    assert (found.kind, found.options["nproc_per_node"].value) == ("torchrun", "2")
    assert ("srun" in found.wrappers) == command.startswith("srun")


def test_scripts_that_start_scripts(tmp_path: Path) -> None:
    found = started(
        tmp_path, "bash a.sh 8", a_sh="source env.sh\nbash b.sh $1\n", b_sh="cd sub\ntorchrun --nproc_per_node $1 t.py\n",  # noqa: E501 - one script
        env_sh="export A=1\n",
    )  # fmt: skip
    assert found.options["nproc_per_node"].value == "8"
    assert found.script == str(tmp_path / "sub" / "t.py")
    assert found.environment["A"] == "1"
    assert [Path(each.file).name for each in found.read_from] == ["a.sh", "b.sh"]


def test_a_script_that_starts_itself_ends(tmp_path: Path) -> None:
    assert started(tmp_path, "bash a.sh", a_sh="bash a.sh\n").kind == "unknown"


def test_training_comes_before_the_server_beside_it(tmp_path: Path) -> None:
    found = started(tmp_path, "bash a.sh", a_sh="vllm serve m &\ntrl grpo --config c.yaml\n")
    assert found.kind == "trl"
    assert any("vllm serve" in each for each in found.unclear)


def test_training_comes_before_what_prepares_its_rows(tmp_path: Path) -> None:
    """Whatever stands first: `python prepare.py` trains only if its text does."""
    prepares, trains = "import json\nrows = json.load(open('a'))\n", "trainer = Trainer(model)\ntrainer.train()\n"
    for command in (
        "swift rlhf --model m",
        "llamafactory-cli train a.yaml",
        "python train.py",
        "accelerate launch x.py",
    ):
        script = f"python prepare.py --out rows\n{command}\npython merge.py\n"
        found = started(tmp_path, "bash run.sh", run_sh=script, prepare_py=prepares, merge_py=prepares, train_py=trains)
        assert found.argv[: len(command.split())] == tuple(command.split())
    assert started(tmp_path, "bash run.sh", run_sh="python train.py\npython prepare.py\n").argv == (
        "python",
        "train.py",
    )


def test_what_stands_beside_is_kept(tmp_path: Path) -> None:
    script = "CUDA_VISIBLE_DEVICES=0 trl vllm-serve --model m --max_model_len 2k &\nif [ $(hostname) = a ]; then ray start --head; fi\nexport A=1\ntorchrun --nproc_per_node 3 t.py\n"  # noqa: E501 - one script
    found = started(tmp_path, "bash run.sh", run_sh=script)
    assert (found.kind, [each.kind for each in found.beside]) == ("torchrun", ["trl-vllm-serve", "ray"])
    beside = found.beside[0]
    assert [each.certain for each in found.beside] == [True, False]
    assert (beside.environment, beside.arguments["max_model_len"].text) == ({"CUDA_VISIBLE_DEVICES": "0"}, "2k")
    assert beside.place is not None
    assert beside.place.line == 1
    assert load(Launch, json.loads(json.dumps(dump(found)))) == found


def test_verl_script_of_overrides(tmp_path: Path) -> None:
    script = "set -x\npython3 -m verl.trainer.main_ppo \\\n  algorithm.adv_estimator=grpo \\\n  trainer.n_gpus_per_node=8 $@\n"  # noqa: E501 - one script
    found = started(tmp_path, "bash run.sh trainer.nnodes=2", run_sh=script)
    assert found.kind == "verl"
    assert {name: each.value for name, each in found.overrides.items()} == {
        "algorithm.adv_estimator": "grpo", "trainer.n_gpus_per_node": 8, "trainer.nnodes": 2,
    }  # fmt: skip


def test_slurm_job(tmp_path: Path) -> None:
    job = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:a100:4\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 t.py\n"  # noqa: E501 - one script
    found = started(tmp_path, "sbatch --nodes=4 -p big job.slurm", job_slurm=job)
    assert found.wrapper_options["sbatch.nodes"].value == 4
    assert found.wrapper_options["sbatch.gres"].text == "gpu:a100:4"
    assert found.wrappers == ("sbatch", "srun")
    assert found.options["nnodes"].value == "4"  # the command line's, not the script's


def test_what_slurm_tells_a_job(tmp_path: Path) -> None:
    job = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 -c 6 --gres=gpu:a100:4 -J big\nsrun torchrun --nnodes $SLURM_JOB_NUM_NODES --nproc_per_node $SLURM_GPUS_ON_NODE t.py --n $SLURM_NTASKS --c $SLURM_CPUS_PER_TASK --name $SLURM_JOB_NAME --id $SLURM_JOB_ID --gpus $SLURM_GPUS\n"  # noqa: E501 - one script
    found = started(tmp_path, "sbatch job.slurm", job_slurm=job)
    assert {name: each.text for name, each in found.options.items()} == {"nnodes": "2", "nproc_per_node": "4"}
    told = {"n": "8", "c": "6", "name": "big", "id": "${SLURM_JOB_ID}", "gpus": "${SLURM_GPUS}"}
    assert {name: each.text for name, each in found.arguments.items()} == told


def test_a_span_of_nodes_is_not_known(tmp_path: Path) -> None:
    job = "#!/bin/bash\n#SBATCH --nodes=2-4\nsrun torchrun --nnodes $SLURM_NNODES t.py\n"
    assert started(tmp_path, "sbatch job.slurm", job_slurm=job).options["nnodes"].known is False


def test_makefile(tmp_path: Path) -> None:
    make = "N ?= 2\nRUN := torchrun\n.PHONY: train\ntrain: data\n\t@$(RUN) --nproc_per_node $(N) \\\n\t  t.py --home $$HOME\ndata:\n\techo\n"  # noqa: E501 - one script
    found = started(tmp_path, "make train N=4", {"HOME": "/h"}, Makefile=make)
    assert (found.options["nproc_per_node"].value, found.arguments["home"].value) == ("4", "/h")
    assert "no target" in (started(tmp_path, "make nothing").not_understood or "")


def test_container(tmp_path: Path) -> None:
    command = (
        f"docker run --rm --gpus all -e A=1 --shm-size=8g -v {tmp_path}:/w -w /w img:1 torchrun --nproc_per_node 2 t.py"
    )
    found = started(tmp_path, command)
    assert (found.image, found.kind, found.script) == ("img:1", "torchrun", str(tmp_path / "t.py"))
    assert found.environment == {"A": "1"}
    assert found.wrapper_options["docker.shm_size"].text == "8g"
    inside = started(tmp_path, "docker run img python /opt/t.py")
    assert (inside.script, inside.not_understood) == (None, "`/opt/t.py` is in the image and was not read")


def test_notebook(tmp_path: Path) -> None:
    book = {"cells": [{"cell_type": "code", "source": ["!pip install trl\n", "x = 1\n", "%time y = 2"]},
                      {"cell_type": "markdown", "source": "# no code"},
                      {"cell_type": "code", "source": "%%bash\necho hi"}, {"cell_type": "code", "source": "z = !ls"}]}  # fmt: skip  # noqa: E501 - one script
    found = cells(json.dumps(book))
    compile(found.source, "notebook", "exec")
    assert "x = 1" in found.source
    assert found.shell[0] == (1, "pip install trl")
    (tmp_path / "n.ipynb").write_text(json.dumps(book))
    launched = started(tmp_path, "jupyter nbconvert --execute n.ipynb")
    assert (launched.kind, launched.script) == ("python", str(tmp_path / "n.ipynb"))
    book["cells"].append({"cell_type": "code", "source": "!accelerate launch --num_processes 2 train.py"})
    assert started(tmp_path, "papermill n.ipynb out.ipynb", n_ipynb=json.dumps(book)).kind == "accelerate"


def test_a_notebook_that_trains_is_judged_before_what_it_starts_afterwards(tmp_path: Path) -> None:
    sources = ["trainer.train()", "%%file export.py\nimport not python", "!python export.py"]
    book = json.dumps({"cells": [{"cell_type": "code", "source": each} for each in sources]})
    launched = started(tmp_path, "jupyter nbconvert --execute n.ipynb", n_ipynb=book)
    assert (launched.kind, launched.script, launched.missing) == ("python", str(tmp_path / "n.ipynb"), None)
    compile(cells(book).source, "notebook", "exec")


def test_lines_that_a_magic_goes_on_in() -> None:
    """As in Unsloth's notebooks: `!uv pip install \\` in a branch, with its packages on the lines below."""
    code = """if colab:
    !uv pip install -qqq \\
        "torch>=2.8.0" {_numpy} \\
        "unsloth @ git+https://github.com/unslothai/unsloth"
elif more:
    %pip install \\
        trl
    out = !ls \\
        -l
text = 1 + \\
    2
!curl -d '{ \\
    "model": "m" \\
    }'
"""
    found = cells(json.dumps({"cells": [{"cell_type": "code", "source": code}]}))
    compile(found.source, "notebook", "exec")
    assert "text = 1 + \\\n    2" in found.source
    assert len(found.source.splitlines()) == len(code.splitlines()) + 1
    assert found.shell[0] == (2, code.split("!")[1].split("\nelif", maxsplit=1)[0])


@pytest.mark.parametrize("content", ["", "[]", "{}", "no json", '{"cells": 1}', "[" * 100_000])
def test_no_notebook(content: str) -> None:
    with pytest.raises(NotebookError):
        cells(content)


# --- words that are not there ---


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("acelerate launch t.py", "accelerate"), ("accelerate lanch t.py", "launch"), ("accelerate luanch t.py", "launch"),  # noqa: E501 - one script
        ("trl gpro --model x", "grpo"), ("torchrum t.py", "torchrun"), ("depspeed t.py", "deepspeed"),
        ("vlm serve m", "vllm"), ("vllm server m", "serve"), ("trl vlm-serve --model m", "vllm-serve"),
        ("swift rlfh --x 1", "rlhf"), ("ray strat", "start"), ("pyhton t.py", "python"), ("trinity rum --config c", "run"),  # noqa: E501 - one script
    ],
)  # fmt: skip
def test_slips_of_the_fingers(tmp_path: Path, command: str, meant: str) -> None:
    found = started(tmp_path, command)
    assert (found.kind, found.meant) == ("unknown", meant)


@pytest.mark.parametrize(
    "command", ["accelerate config", "vllm bench", "vllm chat", "trl env", "ray status", "ls", "git pull", "make", "cat x",  # noqa: E501 - one script
                "nvidia-smi", "my-launcher t.py", "swift infer", "swift export", "run t.py", "ray job list"],
)  # fmt: skip
def test_other_programs_are_no_slips(tmp_path: Path, command: str) -> None:
    assert started(tmp_path, command).meant is None


@pytest.mark.parametrize("command", ["bash no.sh", "./no.sh", "sbatch no.slurm", "sh -x sub/no.sh", "make -f no.mk"])
def test_a_file_that_does_not_exist_is_named(tmp_path: Path, command: str) -> None:
    assert (started(tmp_path, command).missing or "").rpartition("/")[2].startswith("no.")


@pytest.mark.process
def test_the_grammar_is_loaded_for_scripts_alone(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from doctor.base.fact import Context; from doctor.readers.command import launch;"
        "launch.collect(Context(('accelerate', 'launch', 't.py'))); print('tree_sitter' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout.strip() == "False"


def test_a_doctor_without_the_grammar_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.readers.script import shell

    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_bash", None)
    monkeypatch.setattr(shell, "_parser", shell._parser.__wrapped__)
    found = started(tmp_path, "bash run.sh", run_sh="torchrun t.py\n")
    assert "not installed" in (found.not_understood or "")


def test_secrets_of_a_script_are_not_kept(tmp_path: Path) -> None:
    script = (
        "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\nPW=hunter2secretpw\n"
        "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 torchrun train.py --hub_token hf_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
        ' --wandb_password $PW --out "$(cat hf_abcdefghijklmnopqrstuvwxyz012345)"\n'
    )
    shown = repr(started(tmp_path, "bash run.sh", run_sh=script))
    assert not any(each in shown for each in ("0123456789abcdef0123", "hunter2", "hf_abc", "hf_ABC"))


@pytest.mark.parametrize("line", ["conda activate train", "source activate train", "mamba activate train"])
def test_an_environment_that_a_script_activates_is_the_commands(tmp_path: Path, line: str) -> None:
    found = started(tmp_path, "bash run.sh", run_sh=f"{line}\npython train.py\n")
    assert found.argv[1:] == ("run", "-n", "train", "python", "train.py")
    assert found.script == str(tmp_path / "train.py")
    assert "VIRTUAL_ENV" not in found.environment
    over = started(tmp_path, "bash run.sh", run_sh=f"{line}\nconda deactivate\npython train.py\n")
    assert over.argv == ("python", "train.py")


def test_a_venv_that_a_script_activates_is_the_commands(tmp_path: Path) -> None:
    found = started(tmp_path, "bash run.sh", run_sh="source .venv/bin/activate\npython train.py\n")
    assert found.environment["VIRTUAL_ENV"] == str(tmp_path / ".venv")
    assert found.environment["PATH"].startswith(f"{tmp_path}/.venv/bin:")


_SIZED = "N=${N:-8}\npython -m verl.trainer.main_ppo trainer.n_gpus_per_node=$N\n"


@pytest.mark.parametrize(
    ("command", "outer", "shown", "size"),
    [
        ("env CUDA_VISIBLE_DEVICES=0,1 bash run.sh", "", {"CUDA_VISIBLE_DEVICES": "0,1"}, 8),
        ("bash outer.sh", "export CUDA_VISIBLE_DEVICES=0,1\nN=2 bash run.sh\n",
         {"CUDA_VISIBLE_DEVICES": "0,1", "N": "2"}, 2),
        ("srun -n1 env CUDA_VISIBLE_DEVICES=0 bash outer.sh", "N=1 bash run.sh\n",
         {"CUDA_VISIBLE_DEVICES": "0", "N": "1"}, 1),
        ("env N=4 CUDA_VISIBLE_DEVICES=0 bash outer.sh", "unset CUDA_VISIBLE_DEVICES\nbash run.sh\n", {"N": "4"}, 4),
        ("env N=4 bash outer.sh", "N=2\nbash run.sh\n", {"N": "2"}, 2),
    ],
)  # fmt: skip
def test_a_script_has_what_the_command_before_it_set(
    tmp_path: Path, command: str, outer: str, shown: dict[str, str], size: int
) -> None:
    found = started(tmp_path, command, run_sh=_SIZED, outer_sh=outer)
    assert found.environment == shown
    assert found.argv[-1] == f"trainer.n_gpus_per_node={size}"


def test_a_script_in_a_volume_of_the_container_is_read_where_it_lies(tmp_path: Path) -> None:
    docker = f"docker run --rm -v {tmp_path}:/w -w /w img:1"
    found = started(tmp_path, f"{docker} bash run.sh", run_sh=_SIZED)
    assert (found.missing, found.not_understood) == (None, None)
    assert found.argv[-1] == "trainer.n_gpus_per_node=8"
    assert found.folder == str(tmp_path)
    assert found.read_from[0].file == str(tmp_path / "run.sh")
    assert found.image == "img:1"


def test_a_script_in_the_image_is_not_missing(tmp_path: Path) -> None:
    found = started(tmp_path, "docker run --rm img:1 bash /opt/run.sh")
    assert found.missing is None
    assert found.not_understood == "`/opt/run.sh` is in the image and was not read"
    without = started(tmp_path, f"docker run -v {tmp_path}:/w -w /w img:1 bash absent.sh")
    assert without.missing == "absent.sh"
