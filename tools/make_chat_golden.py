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

# Open answers that a template's marks contain too.
ANSWERS = ["end", "e", "of", "s", "id", "<|", "im", "t", "turn", "</s", "/", "INST", "|>", "assistant"]

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
{{ {"z": 1, "a": [1, 2]} | tojson(separators=(",", ":")) }} {{ {"z": 1, "a": 2} | tojson(sort_keys=true) }} {{ "ü<\x7f😀" | tojson(ensure_ascii=true) }} {{ "ü\x7f\x01" | tojson }}
{{ [1, [], {"a": {}}] | tojson(indent=0) }} {{ {"a": [1, 2]} | tojson(indent=3, separators=(";", "=")) }} {{ [1] | tojson(false, "--") }} {{ (1, "a") | tojson }} {{ {1: 2, none: 3, true: 4} | tojson }}
{{ [1e16, 1e-5, 1.5e300, 123456.0, 0.1, 1e22, -0.0] }} {{ [1e5, 1E3, 2e-3, 1.5e+2] | tojson }} {{ 5 / 2 }} {{ 10 // 3.0 }} {{ -7.5 % 2 }}
{{ 1 | tojson(nothing=2) }}
{{ 1 | tojson(none, none, none, none, 1) }}
{{ missing | tojson }}
{{ "they're here-now (so) x" | title }} {{ "they're here-now" .title() }} {{ "straße é" | upper }} {{ "ßa" | capitalize }} {{ "ßa ßb" | title }}
{{ "1f" | int(0, 16) }} {{ "0x1F" | int(base=16) }} {{ "0b11" | int(7, 0) }} {{ "zz" | int(5, 16) }} {{ "4_2" | int }} {{ " 42 " | int }} {{ "42.9" | int }} {{ "-3" | int }} {{ none | int(8) }} {{ "1e3" | int }} {{ true | int }} {{ "0x10" | int }}
{{ missing | int }}
{{ "1.5" | float }} {{ "x" | float }} {{ "x" | float(2.5) }} {{ 3 | float }} {{ "1e3" | float }} {{ " 2_0.5 " | float }} {{ "" | float(1) }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 42 | round }} {{ 42.55 | round(1, "floor") }} {{ 42.11 | round(1, method="ceil") }} {{ 7 | round(1) }}
{{ [3, 1, 2] | sort }} {{ ["b", "A", "c"] | sort }} {{ ["b", "A"] | sort(case_sensitive=true) }} {{ [3, 1, 2] | sort(reverse=true) }} {{ messages | sort(attribute="role") | map(attribute="role") | join(",") }}
{{ [3, 1, 2] | min }} {{ [3, 1, 2] | max }} {{ ["b", "A"] | min }} {{ ["b", "A"] | min(true) }} {{ [] | max }}| {{ messages | max(attribute="role") | length }}
{{ {"b": 1, "A": 3, "c": 2} | dictsort }} {{ {"b": 1, "A": 3} | dictsort(true) }} {{ {"b": 1, "a": 3} | dictsort(by="value") }} {{ {"b": 1, "a": 3} | dictsort(false, "key", true) }}
{% for k, v in {"b": 1, "a": {"c": 2}} | dictsort %}{{ k }}:{{ v }},{% endfor %}
{{ "a\nb\n\nc" | indent }}| {{ "a\nb\n\nc" | indent(2, true) }}| {{ "a\n\nb" | indent(2, blank=true) }}| {{ "a\nb" | indent("> ", true) }}
{{ "%s-%s" | format("a", 1) }} {{ "%(x)s %(y)d" | format(x=1, y=2) }} {{ "%d %5d|%-5d|%05d %+d %i" | format(1, 2, 3, 4, 5, 6.9) }} {{ "%.2f %8.3f|%e %g %x %%" | format(1.234, 2.5, 1500, 0.5, 255) }}
{{ "%s and %s" % ("a", [1]) }} {{ "%s" % "x" }} {{ "%d%%" % 5 }} {{ "%5s|%-5s|%.2s" % ("a", "b", "xyz") }} {{ "%(a)s" % {"a": none} }} {{ "%s" % 1.0 }} {{ "%s %s" % (true, none) }}
{{ "%s %s" % "a" }}
{{ "%s" % ("a", "b") }}
{% with a = 1, b = a %}{{ a }}{{ b is defined }}{% endwith %}{{ a is defined }}{% with %}{% set q = 2 %}{{ q }}{% endwith %}{{ q is defined }}
{% filter upper %}a{{ "b" }}{% endfilter %}{% filter replace("a", "b") | upper %}xax{% endfilter %}{% set t | upper %}abc{% endset %}{{ t }}{% set u | trim | length %} ab {% endset %}{{ u }}
{% raw %}{{ x }} {% if %} {# c #}{% endraw %}|{%- raw -%}  a {{ b }}  {%- endraw -%} c
{% macro m(a, b) %}{{ a }}-{{ b }}-{{ varargs }}-{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, c=4) }} {{ m(1) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro box(title) %}<{{ title }}:{{ caller() }}>{% endmacro %}{% set v = "in" %}{% call box("t") %}x{{ v }}{% endcall %}{% for i in [1, 2] %}{% call box(i) %}{{ i }}{{ loop.index }}{% endcall %}{% endfor %}
{% macro list(items) %}{% for i in items %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(a, b) list(["x", "y"]) %}{{ a }}{{ b }};{% endcall %}
{% for m in messages %}{{ loop.cycle("a", "b", "c") }}{{ loop.changed(m.role == "user") }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
{{ "ab" * 3 }} {{ 3 * "ab" }} {{ [1, 2] * 2 }} {{ (1,) * 2 }} {{ "a" * -1 }}| {{ "a" * true }} {{ (1, 2) + (3,) }} {{ (1, 2) == [1, 2] }} {{ (1, 2) == (1, 2) }} {{ (1, 2)[0] }} {{ (1, 2, 3)[1:] }}
{{ true == 1 }} {{ false == 0 }} {{ 1 == 1.0 }} {{ true + 1 }} {{ [true] == [1] }} {{ 1 in [true] }} {{ "1" == 1 }} {{ none == 0 }} {{ {"a": true} == {"a": 1} }} {{ true < 2 }} {{ {1: "a"}[true] }} {{ {1: "x"} }}
{{ {"b": 1}.items() | list }} {{ {"b": 1} | items | list }} {{ (1, "a") }} {{ () }} {{ (1,) }} {{ ("a", ("b", [1])) }} {% set p = 1, 2 %}{{ p }} {{ [(1, 2)] | tojson }}
{{ strftime_now("%j %I:%M %p %F %-m %% %T %D %y %-d %e %U %w %H") }} {{ strftime_now("%a %b %d %X %Y") }}
{{ raise_exception() }}
{{ 1 if missing else 2 }} {{ missing is defined and missing.x }} {{ (missing or {"x": 1}).x }}
{% if false %}{{ 1 | tojson(nothing=1) }}{{ nobody() }}{{ strftime_now("%q", 3) }}{% endif %}ok
{{ messages[0].items() | list | length }} {{ {"items": [1]}["items"] }} {{ {"a": 1}.items is defined }} {{ {"a": 1}.nothing is defined }} {{ "a".upper is defined }} {{ namespace().x is defined }}
{{ "a,b".split(",")[0] }}
{{ [1, 2].append(3) }}
{{ {"a": 1}.update({"b": 2}) }}
{{ 12 is divisibleby 3 }} {{ 3 is gt 2 }} {{ 3 is le(2) }} {{ 3 is lessthan 4 }} {{ "a" is ne "b" }} {{ 1 is sameas 1 }} {{ true is sameas 1 }}
{{ ["A", "a", "b"] | unique | list }} {{ ["A", "a"] | unique(true) | list }} {{ [1, 1.0, true] | unique | list }}
{{ messages | map("length") | list }} {{ messages | map(attribute="x", default="d") | join }} {{ [1, 2] | map("string") | join("+") }} {{ [[1, 2], [3]] | map("join", "-") | list }} {{ messages | map(attribute="content.x") | list | length }}
{{ [[{"x": 1}], [{"x": 2}, {"x": 3}]] | map("join", "-", attribute="x") | list }} {{ ["1", "z"] | map("int", default=7) | list }}
{{ [1, 2] | map("nothing") | list }}
{{ [1, 2] | map("upper", attribute="x") | list }}
{{ [1, 2] | select("nothing") | list }}
{{ [1, 2, 3] | select("gt", 1) | list }} {{ [1, 2, 3] | reject("in", [1]) | list }} {{ [{"a": {"b": 1}}, {"a": {"b": 2}}] | selectattr("a.b", "gt", 1) | list }}
{{ "abc" | first }} {{ "abc" | last }} {{ {"a": 1} | first }} {{ [] | first }}| {{ "a b  c" | replace(" ", "_", 2) }} {{ 5 | replace("5", "6") }} {{ 5 | upper }} {{ 5 | length }}
{{ 1 < "a" }}
{{ [1, "a"] | sort }}
{{ "a" < "B" }} {{ 1 < 2 < 3 < 4 }} {{ 1 < 3 < 2 }} {{ "b" not in "abc" }} {{ 1 not in [2] }} {{ 1 == 1 == true }}
{{ dict({"a": 1}, b=2) }} {{ dict() }} {% set n = namespace({"a": 1}, b=2) %}{{ n.a }}{{ n["b"] }} {{ range(3) | last }} {{ 3 in range(5) }}
{% set n = namespace(x=[]) %}{% for i in range(3) %}{% set n.x = n.x + [i] %}{% endfor %}{{ n.x }} {% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for i in [1, 2] if false %}{{ i }}{% else %}none{% endfor %} {% for a in 1, 2 %}{{ a }}{% endfor %} {{ 1, 2 }} {% block x %}b{% endblock %}{% block y %}c{% endblock y %}
{% for i in range(3) %}{% for j in range(2) %}{{ loop.index }}{% if j == 1 %}{% break %}{% endif %}{% endfor %}|{{ loop.index }}{% if i == 1 %}{% continue %}{% endif %};{% endfor %}
{{ "a\tb\x01'" | list }} {{ ["a\\b", "c\rd", "é漢😀"] }} {{ [missing] }} {{ {"a": missing} }} {{ "x" ~ missing ~ "y" }} {{ [1.0, 2] | join(",") }}
{{ "a b c".split(" ", 1) }} {{ "a b c".split(maxsplit=1) }} {{ "a b c".split(sep=" ") }} {{ "aab".replace("a", "b", 1) }} {{ "a\r\nb\x0bc".splitlines() }} {{ "x".join("abc") }} {{ "abc".startswith(("x", "a")) }}
{{ "abc".startswith() }}
{{ "abc"["upper"]() }} {{ messages[0]["role"].upper() }} {{ [[1, 2], [3, 4]][1][0] }} {{ "abc"[1:][0] }} {{ [1, 2, 3][::2] }} {{ (1, 2, 3)[::-1] }} {{ messages.0.role }}
{{ none | default("a") }} {{ none | default("a", true) }} {{ 0 | default(5, boolean=true) }} {{ missing.x | default("d") }}
{{ missing["x"] is defined }}
{{ none.x is defined }} {{ none is defined }} {{ (1).x is defined }} {{ "a".x is defined }} {{ [1].x is defined }} {{ [][0] is defined }} {{ {}.x.y is defined }}
{{ {}.x is defined }} {{ 1 is integer }} {{ true is integer }} {{ 1.0 is integer }} {{ 1 is float }} {{ [] is string }} {{ () is sequence }} {{ missing is sequence }} {{ missing is iterable }} {{ missing is none }}
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
    chats, answers = [], []
    for file in sorted(ROOT.glob("*.jinja")):
        source = file.read_text()
        for name, turns in CHATS.items():
            messages = [{"role": role, "content": content} for role, content in turns]
            is_open = turns[-1][0] == "assistant"
            for thinks in ([None, True, False] if "enable_thinking" in source else [None]):
                entry = {"template": file.stem, "chat": name, "typed": "\n".join(f"{role}: {content}" for role, content in turns), "thinks": thinks}
                try:
                    options = {} if thinks is None else {"enable_thinking": thinks}
                    entry["text"] = tokenizer.apply_chat_template(messages, chat_template=source, tokenize=False, add_generation_prompt=not is_open,
                                                                  continue_final_message=is_open, **options)
                except Exception as error:
                    entry["error"] = str(error)
                chats.append(entry)
        for answer in ANSWERS:
            messages = [{"role": "user", "content": "Write it"}, {"role": "assistant", "content": answer}]
            answers.append({"template": file.stem, "typed": f"user: Write it\nassistant: {answer}",
                            "text": tokenizer.apply_chat_template(messages, chat_template=source, tokenize=False, continue_final_message=True)})
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
        "chats": chats, "answers": answers, "snippets": snippets, "messages": "\n".join(f"{m['role']}: {m['content']}" for m in messages), "special": SPECIAL},
        ensure_ascii=False, indent=1) + "\n")
    refused = sum("error" in entry for entry in chats)
    print(f"{len(chats)} chats, {refused} of them refused; {len(snippets)} snippets, {sum('error' in entry for entry in snippets)} refused")


if __name__ == "__main__":
    main()
