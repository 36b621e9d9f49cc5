"""Secrets below a name, short names of passwords and pairs of a login; and what only looks like them."""

from __future__ import annotations

import json
import time

import pytest

from doctor.base.redact import redact, redact_argv, redact_text, secrets_in

ONE, TWO = "tR4vbn9Wq2", "Mz71-qLp0x"
#: every needle in it has to go
FORMS = {
    "pw of a device": f"ipmi pw: {ONE}",
    "pw in an export": f"export MINIO_PW={ONE}",
    "pw in JSON": f'{{"user": "eve", "pw": "{ONE}"}}',
    "pw in a dict": f"client = Redis(host='h1', redis_pw='{ONE}')",
    "pw in YAML": f"registry:\n  user: eve\n  pw: {ONE}",
    "pw in a sentence": f"the root pw was {ONE}, please rotate it",
    "pw as an option": f"mount.cifs //nas/data /mnt --pw {ONE}",
    "user and pw": f"user eve, pw: {ONE}",
    "user and pass": f"login: eve  pass: {ONE}",
    "user/pw": f"user/pw: eve/{ONE}",
    "login pair": f"login eve/{ONE}",
    "login pair with words": f"you can log in with eve / {ONE}",
    "login pair with a colon": f"Login: eve:{ONE}",
    "sign-in": f"sign in as eve@lab.org/{ONE}",
    "credentials in a sentence": f"credentials are shared; creds eve/{ONE}",
    "login in Chinese": f"登录 eve/{ONE}",
    "password in Chinese": f"账号 eve 密码 {ONE}",
    "keys of a service": f'{{"keys": {{"cohere": "{ONE}"}}}}',
    "keys of two services": f'"keys": {{"mistral": "{ONE}", "groq": "{TWO}"}}',
    "keys in YAML": f"keys:\n    wandb: {ONE}\n    modelscope: '{TWO}'\nsteps: 3",
    "keys in TOML": f'[keys]\nserper = "{ONE}"\n\n[run]\nsteps = 3',
    "keys by a call": f"keys = dict(tavily='{ONE}', exa=\"{TWO}\")",
    "list of keys": f"judge_api_keys: ['{ONE}', '{TWO}']",
    "list of keys in YAML": f"judge_api_keys:\n- {ONE}\n- {TWO}\nmodel: a",
    "secrets": f'"secrets": {{"db": {{"main": "{ONE}"}}, "queue": "{TWO}"}}',
    "secrets of a workload": f"secrets:\n  mount: {ONE}\n",
    "passwords": f"passwords = {{'eve': '{ONE}', 'bob': '{TWO}'}}",
    "credentials": f"credentials:\n  provider: s3\n  value: {ONE}",
    "tokens": '{"tokens": {"mirror": "tR4vbn9Wq2Mz71qLp0x"}}'.replace("tR4vbn9Wq2Mz71qLp0x", ONE + ONE),
    "German": f"Kennwort: {ONE}",
    "members of auth": f"auth:\n  bob: {ONE}\n",
    "members of auth in TOML": f'[auth]\nbob = "{ONE}"',
    "a pair of tuples": f"{{'auth': ('bob', '{ONE}')}}",
    "a user and pass below each other": f"user: eve\npass: {ONE}",
    "escaped JSON": json.dumps(json.dumps({"keys": {"openai": ONE}})),
}
#: as people type them: a word in small letters and a number
WORDS_AND_NUMBERS = (
    "login a/{}", "login: bob/{}", "login bob:{}", "creds: root:{}", "credentials root/{}", "pass: {}", "PASS={}",
    "db_pass = '{}'", "user=bob pass={}", '{{"pass": "{}"}}', "auth: {{bob: {}}}",
    "registry_auth: {{user: bob, pass: {}}}",
)  # fmt: skip
INNOCENT = (
    "PASS: test_reward_v2",
    "forward_pass: 12.3ms backward_pass: 25.1ms",
    "first_pass=step100 second_pass: epoch3 pass=FuseConv2d pass: conv_bn_fuse2 compile pass: AOTAutograd2",
    "bypass=layer12 compass: n45w pass_rate: 0.53 eval/pass@1 -> 0.412",
    "| pass@1 | 0.53 |",
    "| token | 151643 |",
    "│ max_new_tokens │ 4096 │",
    "task=gsm8k1 mask=causal2d disk: nvme0n1 sk: 12 ak=3 --sk 3 risk: low2high",
    "auth: {type: oauth2, url: https://h/auth}",
    "auth=oauth2 authors: [alice1, bob22]",
    "pwd: run_2024_v1",
    '{"pwd": "exp2024"}',
    "login hpc1/scratch7",
    "login alice/team42",
    "login login01:22",
    "logged in as alice/proj2",
    "docker run -u root:docker img; docker run --user app:group1 img",
    "cookies: {'theme': 'dark'}",
    "assert hparams['token'] == 'image_token_1'",
    "if secret != 'x': pass",
    "token = tokenizer.eos_token_id",
    'cache_key: model_layers_0_self_attn_v2 sort_key=reward1 key == "layers.0"',
    "https://discuss.pytorch.org/t/ddp-hangs-on-allreduce-2024/12345/7",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "password: ${DB_PASS1} password: %(db_Pass1)s password: @/run/secrets/Db1",
    "password authentication1 is off",
    "pw: 250W",
    "pw=12.5 kW",
    "gpu pw: 300",
    "h100 pw=700W, temp=65C",
    "dp/pw: 8x4",
    "pwr: 300W pwm: 40%",
    '{"tokens": {"prompt": 1234, "completion": 567}}',
    'tokens: {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}',
    "max_tokens: 1024",
    '{"max_new_tokens": 4096, "stop_tokens": ["</s>", "<|eot_id|>"]}',
    'tokens = ["Hello", "world", "token_12345678"]',
    "tokens: ['\u2581The', '\u0120answer', '1024']",
    "num_tokens: 4100000",
    "[tokens]\ntotal = 123456789\nper_second = 12345.6",
    "tokens per second: 1234.5 (prompt 1234567, generation 987654)",
    '"logits_to_keep": 512, "token_ids": [151643, 151645]',
    'special_tokens_map: {"bos_token": "<s>", "additional_special_tokens": ["<|reserved_0|>"]}',
    '{"tokens": {"path": "/data/Tokens2024/Shard00A1.bin"}}',
    "Loading tokens from /data/Tokens2024/Shard00A1.bin",
    '{"keys": {"prompt": "question", "answer": "solution_v2"}}',
    'data: {"keys": {"image": "images/000123.png"}}',
    'keys: ["loss", "reward", "rewards/accuracy_reward1/mean"]',
    "keys:\n  - actor/kl_loss\n  - critic/score/mean",
    "KeyError: 'keys'",
    "missing keys: ['model.layers.0.self_attn.q_proj.weight', 'lm_head.weight']",
    'Unexpected key(s) in state_dict: "base_model.model.layers.12.mlp.up_proj.lora_A.default.weight".',
    "keys = dict(loss=0.12, step=100)",
    "state_dict keys: {'model.embed_tokens.weight': torch.Size([151936, 896])}",
    "keys: {a: 1, b: 2}",
    "sort_keys=True, keys=('step', 'reward')",
    "keys: dict_keys(['input_ids', 'attention_mask2024'])",
    "for key, token in zip(keys, tokens): print(key, token)",
    "/mnt/keys/openai/README.md",
    "key: value",
    "login node01/gpu3 is down",
    "login: 3 attempts failed",
    "login node: hpc-login2.cluster:22",
    "Login to https://wandb.ai/authorize to get a key",
    "logged in as bob/team-42",
    "login node: /home/scratch2024/run1",
    "wandb: Currently logged in as: bob (team1). Use `wandb login --relogin`",
    "sign in: 401/403",
    "sign-in sheet v2/B17",
    "登录 节点 node-3/rack12",
    "密码学 是 一门 学科",
    "commit 3f2504e04f8911d39a0c0305e82cb30155aa77b1",
    "md5sum d41d8cd98f00b204e9800998ecf8427e  model.safetensors",
    "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "GPU-8f6a3b1c-0d2e-4f5a-9b8c-7d6e5f4a3b2c",
    "credentials: none",
    "credentials file ~/.aws/credentials not found",
    "secrets: []",
    "passwords: not checked",
    "auth: {type: none}",
    "credentials:\n  provider: aws\n  region: us-east-1",
    "credential helper 'store' v1.2",
    "passes: 3, pass: 1/3",
    "pass@1: 0.532",
    "user prompts pass 2 checks",
    "user pass rate 0.53",
    "user: 12 pass: 3",
    "username=bob pass=3",
    "pwd: /srv/work",
)


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_it_goes(text: str) -> None:
    for shown in (redact_text(text), redact_text(f"[rank3]: 12:00 INFO - {text}"), "\n".join(redact_argv([text]))):
        assert ONE not in shown
        assert TWO not in shown
        assert shown.count("\n") == text.count("\n")
    assert redact_text(redact_text(text)) == redact_text(text)
    assert secrets_in(text)


@pytest.mark.parametrize("form", WORDS_AND_NUMBERS)
@pytest.mark.parametrize("typed", ["hunter2", "dragon77", "sesame1!"])
def test_what_people_type_goes(form: str, typed: str) -> None:
    shown = redact_text(form.format(typed))
    assert typed not in shown
    assert redact_text(shown) == shown


@pytest.mark.parametrize("text", INNOCENT)
def test_it_stays(text: str) -> None:
    assert redact_text(text, homes=False) == text


@pytest.mark.parametrize(
    "value",
    [{"keys": {"openai": ONE}}, {"secrets": {"a": {"b": ONE}}}, {"api_keys": [ONE, TWO]}, {"pw": ONE},
     {"auth": {"bob": ONE}}, {"pass": ONE}, {"smtp_mailpass": ONE},
     {"credentials": {"provider": "s3", "value": ONE}}, {"passwords": [{"eve": ONE}]}],
)  # fmt: skip
def test_as_a_value(value: object) -> None:
    shown = json.dumps(redact(value))
    assert ONE not in shown
    assert TWO not in shown


@pytest.mark.parametrize(
    "value",
    [{"tokens": {"prompt": 12, "x": "12"}}, {"tokens": {"eos_token": "<s>"}}, {"keys": {"prompt": "problem_v2"}},
     {"keys": ["actor/kl1", "c"]}, {"credentials": {"provider": "aws", "region": "us-east-1"}}],
)  # fmt: skip
def test_as_a_value_it_stays(value: object) -> None:
    assert redact(value) == value


def test_a_long_line_takes_no_longer() -> None:
    started = time.process_time()
    for text in ("keys: {" * 20_000, "login a/" * 20_000, "keys:\n" + "  a: b1\n" * 20_000, "pw " * 40_000):
        redact_text(text)
    assert time.process_time() - started < 5
