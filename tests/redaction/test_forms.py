"""Secrets go and nothing else does, whatever stands around them."""

from __future__ import annotations

import json
import time

import pytest

from doctor.base.redact import redact_text, secrets_in
from tests.each import for_each
from tests.redaction.planted import Planted, all_planted, one_line

PLANTED = all_planted()
SURROUNDINGS = {
    "alone": "{}",
    "in a sentence": "ERROR 401 for {} on node-3",
    "behind a prefix": "[rank3]: 2026-01-01 00:00:00,123 - trainer - INFO - got {}",
    "in a list": "['a', {!r}, 'b']",
    "behind colours": "\x1b[31m{}\x1b[0m",
}


def test_there_are_more_than_eighty() -> None:
    assert len(PLANTED) >= 130
    assert len({each.name for each in PLANTED}) == len(PLANTED)
    assert all(each.leaks(each.text) == list(each.needles) for each in PLANTED)


@for_each(
    "planted, around",
    [(f"{around}: {each.name}", (each, around)) for around in SURROUNDINGS for each in one_line()],
    group=lambda case: case.partition(":")[0],
)
def test_one_line(planted: Planted, around: str) -> None:
    shape = SURROUNDINGS[around]
    if around == "in a list" and ("'" in planted.text or "\\" in planted.text):
        return
    if planted.name == ".pgpass" and around != "alone":
        return  # only a whole line is one
    shown = redact_text(shape.format(planted.text))
    assert planted.leaks(shown) == []
    assert redact_text(shown) == shown


@pytest.mark.parametrize("planted", [each for each in PLANTED if "\n" in each.text], ids=lambda each: each.name)
def test_many_lines(planted: Planted) -> None:
    text = f"a line before\n{planted.text}\nepoch 1: loss 0.5\nthe last line"
    shown = redact_text(text)
    assert planted.leaks(shown) == []
    assert shown.count("\n") == text.count("\n")
    assert shown.startswith("a line before\n")
    assert shown.endswith("\nepoch 1: loss 0.5\nthe last line")


@for_each("planted", [(each.name, each) for each in PLANTED], group=lambda _: "all")
def test_as_a_value_of_json(planted: Planted) -> None:
    assert planted.leaks(redact_text(json.dumps({"text": planted.text}, ensure_ascii=False))) == []
    assert secrets_in(planted.text)


HARMLESS = """\
num_tokens=123456789 max_tokens: 4096 max_new_tokens=1024 eos_token='</s>' pad_token_id=151643 pad_token: <|endoftext|>
tokenizer=Qwen/Qwen2.5-0.5B-Instruct tokenizer_class: Qwen2TokenizerFast tiktoken: 0.9.0 tokenizers==0.21.1
num_key_value_heads: 8 key_value_heads=4 query_key_norm=True past_key_values=None layer_key: model.layers.0.self_attn
--master_port 29500 --rdzv_id 0123456789abcdef --nnodes 2 --node_rank 0 --token_level_loss true
commit 0123456789abcdef0123456789abcdef01234567 (HEAD -> main)
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 /data/model-00001-of-00004.safetensors
md5 d41d8cd98f00b204e9800998ecf8427e  train.parquet
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d8b8c1e-1f2a-4b3c-8d9e-0a1b2c3d4e5f)
wandb: Syncing run grpo-7b-x1y2z3a4 https://wandb.ai/team/project/runs/x1y2z3a4
wandb: run id: 3kf9x2ab  run name: eager-sunset-412
torch==2.6.0+cu124 vllm-0.8.5.post1 transformers 4.51.3 flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE
--world_info=eyJsb2NhbGhvc3QiOiBbMCwgMSwgMiwgM119 --enable_each_rank_log=None
KeyError: 'model.embed_tokens.weight' Unexpected key(s) in state_dict: "lm_head.weight"
RuntimeError: Unexpected token: '<|im_start|>' at position 12; invalid token id: 151936
special_tokens_map: {'additional_special_tokens': ['<|im_start|>'], 'bos_token': None}
loss_agg_mode=token-mean use_dynamic_bsz=True ppo_max_token_len_per_gpu=16384 actor_rollout_ref.rollout.n=8
File "/home/alice/trl/trainer/grpo_trainer.py", line 1576, in _get_per_token_logps
PWD=/data/alice/run OLDPWD=/data/alice SSH_AUTH_SOCK=/tmp/ssh-x/agent.1
tcp://10.0.0.1:29500 http://127.0.0.1:8000/health hdfs://namenode:8020/x s3://bucket/prefix/key.txt
git+https://github.com/huggingface/trl.git@0123456789abcdef0123456789abcdef01234567
api_key=os.environ["OPENAI_API_KEY"] token=args.hub_token password=get_password() secret = ${oc.env:HF_TOKEN}
hf_transfer hf_quantizer=None hf_checkpoint hf_overrides hf_transformers disk-based-checkpointing-of-models
rank0 [2026-01-01 00:00:00] step 12/100 loss=1.25e-05 grad_norm=nan reward/format_reward_func/mean: 0.25
ncclUniqueId 0x9f86d081884c7d659a2feaa0c55ad015 devId 0 commId 0xa3bf4f1b2b0b822c busId 1b000
/data/AbCdEfGh1/IjKlMnOp2/QrStUvWx3/yz012345/AbCdEfGh1/IjKlMnOp2/QrStUvWx3
basic settings: bearer of bad news; cookie-cutter; author: alice; authorization failed; key: value; secret sauce
"tokens_per_second": 1234.5, "token_type_ids": [0, 0], "token_throughput": 15.25, "key_padding_mask": null
docker pull nginx:1.25-alpine@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
node:8080@gpu.example mailto:alice.l@example.org
def step(self): @torch.compile(mode="x") git@github.com:org/repo.git ray::Worker.run@10.0.0.1
the password is wrong; password is required, password was rejected; the token is expired; api key is missing
mkdir -p Foo2/Bar; cp -p file1 file2; ssh -p 2222 host; gcc -pthread -p; tool -p Llama3Instruct -p Qwen2.5-7B-Instruct
echo 3 | sudo tee /proc/sys/vm/drop_caches; echo y | pip uninstall torch; cat key.pub | ssh h; wc -l <<< text
password=getpass.getpass() token=str(token_id) keys=['a', 'b'] pad_token: &pad token_ids=[1, 2, 3] PWD=/data;PWD=/x/y
max_token 4096 eos_token 151643 tokenizer_key abc special_token added: token ids: 1234 5678 tokens per second: 1834.22
login("alice") net use x: /persistent:yes; openssl enc -aes-256-cbc -kfile x; the token is <|im_end|> at step 20000000
${HF_TOKEN:-} ${WANDB_API_KEY:?must be set} ${HF_HOME:-/root/.cache/huggingface} ${oc.env:HF_TOKEN,null}
cache_key = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
triton key: 5f4dcc3b5aa765d61d8327deb882cf99 dataset_key: 9f86d081884c7d659a2feaa0c55ad015 tokens: [1]
add_argument("--pad_token", default="<|endoftext|>") add_argument('--api_key_env', default='OPENAI_API_KEY')
kind: ConfigMap data: {conn: Qwen25Instruct2026aB7xyz} hmac.compare_digest(a, b) jwt.decode(token, key)
os.environ.get("WANDB_PROJECT") or "grpo-baseline-v2"; variable "region" { default = "eu-central-1" }
- value: "1" - name: NCCL_DEBUG; hub_token=None, Qwen25Instruct2026aB7xyz, model-00001-of-00004
INFO Received request cmpl-0123456789abcdef0123456789abcdef: prompt, chatcmpl-0123456789abcdef0123456789abcdef-0
ray.ObjectRef(00ffffffffffffffffffffffffffffffffffffff0100000001000000) ActorID(0123456789abcdef0123456789ab01000000)
UUID('0123456789abcdef0123456789abcdef') 0123456789abcdef0123456789abcdef.safetensors TRUE / FALSE
max_steps\n  Input should be a valid integer [type=int_type, input_value='many', input_type=str]
error: argument --max_steps: invalid int value: 'Many2026' argument --num-token: invalid int value: 'x1'
learning_rate: {"desc": null, "value": 1e-06} model: {value: Qwen25Instruct2026aB7xyz} oy2 cio fc-layers BSA
key_0123456789abcdef secret_name_of.value app-grpo-trainer-v2 pat_embed Value 'auto' of type 'str' full_key: trainer.lr
HF_TOKEN is not set; wandb: ERROR api_key not configured (no-tty). call wandb login [your_api_key]
""".splitlines()


@pytest.mark.parametrize("line", HARMLESS)
def test_what_the_diagnosis_needs_stays(line: str) -> None:
    assert redact_text(line, homes=False) == line


UNITS = (
    "A", "a-", "api_key", "://", "?sig=", "-----BEGIN PRIVATE KEY-----", "user:", "token=", "\\n", "\\",
    "key: ", "hf_", "eyJ", "ey.", ".ey", "-----END PRIVATE KEY-----\n", "password ", "--token ", "'token', ",
    "name: x value", "<password>", "mysql -", "curl -", "sk-a", "M.", "1:A", "0", "aA0", "Cookie: a=",
    "authorization: ", "密码:", "machine a login b ", "x:5432:", "&quot;", "\x1b[", " ", "\t\n", "-us1", "SG.",
    "-p ", "-pA1", "login('", "<<< ", "echo a|", "password is ", "token是", "token a: ", "_key a", ";pwd=",
    "user='a', ", "&a ", "http -a b:", "@", "a:b@", "a:bcd", "pass:", "hooks.slack.com/services/", "wandb login ",
    "pass: a1", "|", "a|1", "x -> ", "login a/b1", "auth: {", "a: b = ", "a == '", "%3D", "token A1a", "-u a:",
    "/hook/", "vault write a b=c ", "mc alias set ", "пароль ", "contraseña ",
    "_key ....", "${a:-", "${oc.env:a,", "'a' default", "'a') or ", "value: a1 ", "value: a1 name: ", "api_key: a1,",
    "api_key='a' + '", "\\'",
    "auth=[('a', '", "echo a1 | ", "::add-mask::", "credential create -value", "curl -u a1:",
    "kind: Secret data:\n", "data:\n ", "stringData: {", "pat=", "echo aA1", "hmac.new('a",
    "jwt.encode(a,", 'Cookie: a="', "assword send ", "AKIAQRSTUVWXYZ234567 ", "tokens: ", "\n    ", "api_key:\n",
    "curl -b a=", "/t/", 'name="x" ',
    "tk_a1", "K10", "syt_a_", "x-a-key: ", "x-a-", "TRUE\t/", "TRUE / FALSE 1 a ", "identified by ",
    "mc admin user add a b ", "OpenAI('", "pymysql.connect('a', ", "[type=a, input_value=", "a\n", "argument -a, ",
    "argument --a: invalid int value: ",
    "a: {desc: null, value: ", "a:\n  value: ", "0123456789abcdef", "unseal key 1: ", "token-abcde:",
    "key_0", "pat_a1A", "app-a1A", "secret_a_0", "Value 'a' ", "full_key: ", "--token\0",
    "key ", "=", "''", '"\\',
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        redact_text(unit * (count // len(unit)))
        return time.process_time() - started

    small, large = max(seconds(20_000), 2e-3), seconds(160_000)
    assert large / small < 40, "eight times the text may not take forty times as long"
    assert large < 5


@pytest.mark.parametrize("beginning", ["fo1_", "fm1a_", "fm1r_", "fm2_"])
def test_a_form_with_several_beginnings_takes_out_what_follows_each(beginning: str) -> None:
    assert "A1b2" not in redact_text(f"token {beginning}{'A1b2' * 12} read")
    assert redact_text(f"a file {beginning}x") == f"a file {beginning}x"
