#!/usr/bin/env python3
"""Writes tests/golden/chat/expected.json: what transformers makes of chats with the templates in that folder, which give the texts of
well-known models' templates in words of our own, and of short templates that use one thing of Jinja each.

    python tools/make_chat_golden.py

Needs transformers 5 and jinja2. A template's clock stands at 26 July 2024, noon, as Headlight's does.
"""

import datetime
import json
import pathlib

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/chat"
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


class Noon(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26, 12, 0, 0)


chat_template_utils.datetime = Noon

CHATS = {
    "one question": [("user", "What is attention?")],
    "a system prompt": [("system", "Be brief."), ("user", "What is attention?")],
    "a long chat": [("system", "Be brief. /no_think"), ("user", "Hello"), ("assistant", "Hi, how can I help?"), ("user", "Name two colours:\n- one warm\n\n- one cold")],
    "without a system prompt": [("user", "Hello"), ("assistant", "<think>\nA greeting.\n</think>\n\nHi"), ("user", "Größe 漢字 <|im_start|> 👍🏽?")],
    "an open answer": [("user", "Count to three"), ("assistant", "One, two,")],
    "two questions": [("user", "Hello"), ("user", "Hello?")],
    "a tool": [("user", "What is 2+3?"), ("assistant", "I'll add."), ("tool", "5"), ("assistant", "It is 5")],
}

SNIPPETS = r'''
a{% if true %}b{% endif %}c
  {% if true %}
  x
  {% endif %}
y
  {%+ if true %}z{% endif +%}
w
{% for i in [1,2,3] -%}
  {{ i }}
{%- endfor %} end
{{ 1 }}
{# c #}
x
  {# c #}
 y
a {#- c -#} b
{{- "a" -}}   {{ "b" }}
{{ "a" }}

{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}
{% for m in messages %}{% if loop.previtem %}{{ loop.previtem.role }}{% endif %}-{{ loop.nextitem.role if loop.nextitem is defined }} {% endfor %}
{% for m in messages if m.role == "user" %}{{ loop.index }}{{ m.content }}{% else %}none{% endfor %}
{% for m in [] %}{{ m }}{% else %}none{% endfor %}
{% for m in missing %}{{ m }}{% else %}none{% endfor %}
{% for k, v in {"a": 1, "b": [2]}.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in {"a": 1, "b": 2} %}{{ k }}{% endfor %}{% for c in "aé漢" %}<{{ c }}>{% endfor %}
{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(2, 8, 3) %}{{ i }} {% endfor %}{{ range(3) | list }}{{ range(5, 0, -2) | list }}
{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}
{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}
{% set ns = namespace(x=1) %}{% for i in [1, 2] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}
{% set a, b = 1, "z" %}{{ a }}{{ b }}{% set t %}<{{ a }}>{% endset %}{{ t }}{{ t | length }}
{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=4, a=0) }}{{ m() }}
{% set c = "g" %}{% macro m(a) %}{% if a > 0 %}{{ a }}{{ m(a - 1) }}{% endif %}{{ c }}{% endmacro %}{{ m(3) }}
{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 / 2 }} {{ 7 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2.5 * 2 }} {{ 1.0 }} {{ -3 }} {{ +4 }}
{{ "a" ~ 1 ~ none ~ true }} {{ "ab" * 2 }} {{ "a" + "b" }} {{ [1] + ["b"] }} {{ 1 == 1.0 }} {{ "a" < "b" }} {{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }}
{{ not true or true }} {{ not (true or true) }} {{ true and "x" }} {{ "" or "y" }} {{ none or 0 }} {{ 1 and 0 or 2 }}
{{ "a" in "cat" }} {{ "z" not in "cat" }} {{ 1 in [1, 2] }} {{ "k" in {"k": 1} }} {{ not "a" in ["a"] }} {{ "x" in missing }}
{{ "yes" if 1 else "no" }} {{ "yes" if 0 else "no" }} {{ "yes" if 0 }}| {{ 1 if false else 2 if false else 3 }}
{{ messages[0].role }} {{ messages[-1]["role"] }} {{ messages[9] }} {{ messages[0].nothing }} {{ messages[0]["nothing"] is defined }}
{{ "hello"[1] }} {{ "hello"[-1] }} {{ "hello"[1:3] }} {{ "hello"[:-1] }} {{ "hello"[::-1] }} {{ "héllo"[1:2] }} {{ [1,2,3,4][1::2] }} {{ [1,2,3][5:] }} {{ [1,2,3][-2:] }}
{{ [1,2,3,4,5][4:1:-2] }} {{ "abc"[-5:2] }} {{ "abc"[2:0:-1] }} {{ [1,2,3][:10] }} {{ [][:1] }} {{ messages[1:] | length }}
{{ none }} {{ true }} {{ [1, "a", none, 'b"c', "it's"] }} {{ {"a": 1, "b": [true]} }} {{ "tab\tx\\n" }} {{ ["a\nb"] }} {{ {} }} {{ [] }} {{ (1, ) | list }}
{{ "  x ".strip() }}|{{ "xxaxx".strip("x") }}|{{ "  x ".lstrip() }}|{{ "  x ".rstrip() }}|{{ "abcab".rstrip("ba") }}|{{ " x" | trim }}|{{ "xyx" | trim("x") }}
{{ "a,b,,c".split(",") }} {{ "  a  b c ".split() }} {{ "a,b,c".split(",", 1) }} {{ "a b c".split(none, 1) }} {{ "a,b,c".rsplit(",", 1) }} {{ "".split() }} {{ "".split(",") }} {{ "a\nb\n".splitlines() }}
{{ "Hello".startswith("He") }} {{ "Hello".endswith(("x", "lo")) }} {{ "aXbX".replace("X", "yy") }} {{ "aXbX".replace("X", "", 1) }} {{ "abc".replace("", "-") }} {{ "aXbX" | replace("X", "z") }}
{{ "hELLO wORLD".upper() }} {{ "ÄB".lower() }} {{ "hello world".title() }} {{ "hELLO".capitalize() }} {{ "x y" | title }} {{ "aB" | upper }} {{ "aB" | lower }} {{ "émile" | capitalize }}
{{ "hello".find("l") }} {{ "hello".rfind("l") }} {{ "hello".find("z") }} {{ "hello".count("l") }} {{ ", ".join(["a", "b"]) }} {{ "pre-x".removeprefix("pre-") }} {{ "x.y".removesuffix(".y") }} {{ "héllo".find("l") }}
{{ {"a": 1}.get("a") }} {{ {"a": 1}.get("b") }} {{ {"a": 1}.get("b", 2) }} {{ {"a": 1, "b": 2}.keys() | list }} {{ {"a": 1, "b": 2}.values() | list }} {{ {"a": 1}["a"] }} {{ {"a": 1}.a }}
{{ [1, 2] | length }} {{ "añb" | length }} {{ {"a": 1} | count }} {{ [1, 2] | join("-") }} {{ ["a", "b"] | join }} {{ messages | join(",", attribute="role") }}
{{ missing | default("d") }} {{ "" | default("d") }} {{ "" | default("d", true) }} {{ none | d("e") }} {{ missing | d }}| {{ "" | default("x", boolean=true) }}
{{ messages | selectattr("role", "equalto", "user") | map(attribute="content") | list }} {{ messages | rejectattr("role", "eq", "user") | list | length }}
{{ messages | selectattr("tool") | list }} {{ messages | selectattr("role", "defined") | list | length }} {{ [1, 0, 2] | select | list }} {{ [1, 2, 3] | select("odd") | list }} {{ [1, none] | reject("none") | list }}
{{ ["a", "b"] | map("upper") | join }} {{ [" a", "b "] | map("trim") | list }} {{ messages | map(attribute="role") | unique | list }} {{ [3, 1] | first }} {{ [3, 1] | last }} {{ [1, 2] | reverse | list }} {{ "abc" | reverse }}
{{ {"a": [1, {"b": "c"}], "d": none, "e": "é\n\"", "f": 1.5, "g": true} | tojson }}
{{ {"a": [1, {"b": "c"}], "d": [], "e": {}} | tojson(indent=2) }}
{{ "<a>&'" | tojson }} {{ [] | tojson }} {{ "x" | string }} {{ 3 | string | length }} {{ "42" | int + 1 }} {{ "x" | int }} {{ 3.9 | int }} {{ "x" | safe }}
{{ x is defined }} {{ x is not defined }} {{ none is none }} {{ 1 is none }} {{ "a" is string }} {{ 1 is string }} {{ {} is mapping }} {{ [] is mapping }} {{ [] is iterable }} {{ "a" is iterable }} {{ 1 is iterable }}
{{ 1 is number }} {{ 1.5 is number }} {{ true is number }} {{ "1" is number }} {{ 1 is integer }} {{ 1.5 is float }} {{ true is boolean }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ [] is sequence }} {{ "a" is sequence }} {{ {} is sequence }}
{{ 2 is even }} {{ 3 is odd }} {{ 3 is equalto 3 }} {{ 3 is eq(4) }} {{ 3 is ne 4 }} {{ 1 is in [1, 2] }} {{ 3 is not in [1, 2] }} {{ "a" is not string }} {{ x is undefined and y is undefined }}
{{ x is defined and x }} {{ tools is defined }} {{ tools is none }} {{ tools is not none }} {{ not tools }} {{ add_generation_prompt }} {{ bos_token + eos_token }} {{ unk_token }}{{ pad_token is defined }}
{{ "a" "b" }} {{ 'it''s' }} {{ "\u00e9\x41" }} {{ 1_000 }} {{ {"a": {"b": {"c": 1}}}.a.b.c }} {{ {'a': 1}['a'] }} {{ {"x": 1, } }} {{ [1, ] }}
{{ strftime_now("%d %b %Y, %H:%M") }} {{ strftime_now("%A, %B %d, %Y") }} {{ strftime_now("%Y-%m-%d") }}
{% generation %}g{% endgeneration %}{{ "%" }}{{ "{{" }}{{ "}}" }}{{ "#}" }} { {{ "x" }} } %} }} #}
{{ messages | length - 1 }} {{ (messages | length) - 1 }} {{ -1 | string }} {{ messages[messages | length - 1].role }} {{ 2 * 3 ~ "x" }} {{ 1 + 2 ~ 3 }}
{{ dict(a=1, b="x") }} {{ dict(a=1).a }} {{ namespace(a=1).a }} {{ {"a": 1} | items | list | length }} {{ "a" == 'a' }} {{ [1] == [1] }} {{ {"a": 1} == {"a": 1} }} {{ none == false }}
{% if messages[0].role == "user" %}u{% elif messages[0].role == "system" %}s{% else %}?{% endif %}{% if not messages %}e{% endif %}{% if messages %}m{% endif %}
{{ missing.x }}
{{ none.x.y }}
{{ 1 + "a" }}
{{ 1 / 0 }}
{{ raise_exception("no such chat") }}
{{ missing + "a" }}
{{ unknown_function() }}
{{ "a".no_method() }}
{{ 1 | no_filter }}
{{ 1 is no_test }}
{{ }}
{% if %}x{% endif %}
{% if true %}x
{% endif %}
{% for x in [1] %}
{{ "abc }}
{{ (1 }}
{% set x.y = 1 %}
{% break %}
{% nonsense %}
{% for a, b in [[1]] %}{{ a }}{% endfor %}
{{ [1, 2] < 1 }}
'''


def parts_of(text):
    """Snippets are lines, but some have several: an indented line or one after an open block belongs to the one before."""
    blocks = {
        "  {% if true %}": 4, "  {%+ if true %}z{% endif +%}": 2, "{% for i in [1,2,3] -%}": 3, "{{ 1 }}": 3, "  {# c #}": 2, '{{ "a" }}': 2,
    }
    lines = text.split("\n")[1:-1]
    at = 0
    while at < len(lines):
        count = blocks.get(lines[at], 1)
        yield "\n".join(lines[at:at + count])
        at += count


def main():
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>")), **SPECIAL)
    chats = []
    for file in sorted(ROOT.glob("*.jinja")):
        source = file.read_text()
        for name, turns in CHATS.items():
            messages = [{"role": role, "content": content} for role, content in turns]
            is_open = turns[-1][0] == "assistant"
            for thinks in ([True, False] if "enable_thinking" in source else [True]):
                entry = {"template": file.stem, "chat": name, "typed": "\n".join(f"{role}: {content}" for role, content in turns), "thinks": thinks}
                try:
                    options = {"enable_thinking": thinks} if "enable_thinking" in source else {}
                    entry["text"] = tokenizer.apply_chat_template(messages, chat_template=source, tokenize=False, add_generation_prompt=not is_open,
                                                                  continue_final_message=is_open, **options)
                except Exception as error:
                    entry["error"] = str(error)
                chats.append(entry)
    snippets = []
    messages = [{"role": role, "content": content} for role, content in CHATS["a long chat"]]
    for source in parts_of(SNIPPETS):
        entry = {"source": source}
        try:
            entry["text"] = tokenizer.apply_chat_template(messages, chat_template=source, tokenize=False, add_generation_prompt=True)
        except Exception as error:
            entry["error"] = str(error)
        snippets.append(entry)
    (ROOT / "expected.json").write_text(json.dumps({
        "chats": chats, "snippets": snippets, "messages": "\n".join(f"{m['role']}: {m['content']}" for m in messages), "special": SPECIAL},
        ensure_ascii=False, indent=1) + "\n")
    refused = sum("error" in entry for entry in chats)
    print(f"{len(chats)} chats, {refused} of them refused; {len(snippets)} snippets, {sum('error' in entry for entry in snippets)} refused")


if __name__ == "__main__":
    main()
