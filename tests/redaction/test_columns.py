"""Secrets whose name stands above them in a table, or in another line of a list."""

from __future__ import annotations

import json

import pytest

from doctor.base.redact import redact, redact_text

TABLES = {
    "user,password\nalice,§\nbob,§\n": ",",
    "host,login,passwd,port\r\ndb1,root,§,3306\r\n": ",",
    "user\tsecret\nbob\t§\n": "\t",
    '"name","api_key"\n"a, b","§"\n': '"',
    "id;client_secret;scope\n7;§;read\n": ";",
    "| user | password |\n|:---|---|\n| bob | § |\n": "|",
    "name|api_token\n----|-----\nci|§\n": "|",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_column_of_secrets_is_taken_out(table: str) -> None:
    text = table.replace("§", "Xq7" + "vLm2Rt8Wp4Zk9")
    shown = redact_text(text)
    assert shown == table.replace("§", "***")
    assert redact_text(shown) == shown
    assert "vLm2Rt8" not in json.dumps(redact({"lines": text.splitlines()}))


@pytest.mark.parametrize(
    "text",
    [
        "step,loss,reward\n1,0.5,0.1\n2,0.4,0.2\n",
        "token,logprob\nHello,-0.1\n world,-2.5\n",
        "user,password\nalice,***\n",
        "key,value\nlr,1e-5\nmodel,Qwen2.5-7B-Instruct\n",
        "| metric | tokens |\n|---|---|\n| prompt | 123456 |\n",
        "max_tokens,temperature\n1024,0.7\n",
        "the password, the user and the host are unknown\nretry 3, wait 5, give up\n",
        "password,\nnothing here\n",
        "user,password\n\n7,vLm2Rt8Wp4Zk9 is no row below a blank line,x\n",
    ],
)
def test_other_tables_stay(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "lines",
    [
        ["kind: Secret", "data:", "  db: §"],
        ["env:", "- value: §", "  name: HF_TOKEN"],
        ["api_key: >-", "  §"],
        ["trained", "user,password", "alice,§"],
    ],
)
def test_lines_of_a_list_belong_together(lines: list[str]) -> None:
    secret = "Xq7" + "vLm2Rt8Wp4Zk9aB3"
    shown = redact({"excerpt": [each.replace("§", secret) for each in lines]})
    assert shown == {"excerpt": [each.replace("§", "***") for each in lines]}


FORMS = (
    '"identitytoken": "§"',
    "credential.Credential('AKID" + "z8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE', '§')",
    "tosutil config -i=AKLT" + "YWJkNzk0NDhhM2Y0 -k=§",
    '"password\\u003d§"',
    "api_key: str = field(default='§')",
    'token: str | None = Field("§", description="of the hub")',
    "Password for 'https://me@github.com': §",
    "qshell account " + "ELUs327kxVPJrGCXqWae9yioc0xYZyrIpbM6Wh6x §",
    "https://sctapi.ftqq.com/SCT§.send",
)


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_around_it_tells(form: str) -> None:
    secret = "Xq7vLm2Rt8Wp4Zk9aB3cD5" + "eF6gH1jK0"
    shown = redact_text(form.replace("§", secret))
    assert "Rt8Wp4Zk9aB3" not in shown
    assert redact_text(shown) == shown


def test_zhipus_id_and_secret() -> None:
    key = "adf7fd582ca5b04c16bed33e" + "dedc7c11." + "HOCCsLcMd7ujIDvq"
    assert redact_text(f"invalid key {key}") == "invalid key ***"
    assert redact_text(f"saved key.txt {key[:32]}.safetensors") == f"saved key.txt {key[:32]}.safetensors"
