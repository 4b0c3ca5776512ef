// Chat templates against transformers' apply_chat_template: the same text, or both refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "text/chat_template.h"
#include "text/chat_turns.h"
#include "text/tokenizer.h"

namespace chat_template_test {

using namespace headlight;
using text::ByteRange;
using text::ChatTemplate;
using text::EncodedChat;
using text::Thinking;
using text::Token;
using text::Tokenizer;
using text::TurnSpan;

namespace {

const std::filesystem::path kGolden = std::filesystem::path(HEADLIGHT_GOLDEN_DIR);

ChatTemplate::Variables special(const nlohmann::json& golden) {
  ChatTemplate::Variables variables;
  for (const auto& [name, token] : golden["special"].items()) variables.emplace_back(name, token.get<std::string>());
  return variables;
}

/// The text, or "error: " and the reason.
std::string render(const std::string& source, const nlohmann::json& golden, const std::string& chat,
                   Thinking thinking = Thinking::Unset) {
  try {
    return ChatTemplate(source, special(golden)).render(chat, thinking);
  } catch (const Error& error) {
    return fmt::format("error: {}", error.what());
  }
}

Thinking thinking_of(const nlohmann::json& switched) {
  return switched.is_null() ? Thinking::Unset : switched.get<bool>() ? Thinking::On : Thinking::Off;
}

std::string refusal(const std::string& source, const std::string& chat = "hello") {
  return test::error_message([&] { (void)ChatTemplate(source, {}).render(chat, Thinking::On); });
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("templates in the shape of well-known models' give transformers' texts") {
    const nlohmann::json golden = nlohmann::json::parse(read_file(kGolden / "chat/expected.json"));
    REQUIRE(golden["chats"].size() > 80);
    for (const nlohmann::json& chat : golden["chats"]) {
      const auto name = chat["template"].get<std::string>();
      const std::string text = render(read_file(kGolden / "chat" / (name + ".jinja")), golden,
                                      chat["typed"].get<std::string>(), thinking_of(chat["thinks"]));
      CAPTURE(name);
      CAPTURE(chat["chat"].get<std::string>());
      if (chat.contains("text")) {
        CHECK(text == chat["text"].get<std::string>());
      } else {
        CHECK(text.starts_with("error: the model's chat template: "));
        CHECK(text.find(chat["error"].get<std::string>()) != std::string::npos);
      }
    }
  }

  TEST_CASE("an open answer ends where it ends, whatever the template's marks have in common with it") {
    const nlohmann::json golden = nlohmann::json::parse(read_file(kGolden / "chat/expected.json"));
    REQUIRE(golden["answers"].size() > 120);
    for (const nlohmann::json& chat : golden["answers"]) {
      CAPTURE(chat["template"].get<std::string>());
      CAPTURE(chat["typed"].get<std::string>());
      CHECK(render(read_file(kGolden / "chat" / (chat["template"].get<std::string>() + ".jinja")), golden,
                   chat["typed"].get<std::string>()) == chat["text"].get<std::string>());
    }
  }

  TEST_CASE("each tag, operator, filter, test and method does what Jinja's does") {
    const nlohmann::json golden = nlohmann::json::parse(read_file(kGolden / "chat/expected.json"));
    REQUIRE(golden["snippets"].size() > 70);
    for (const nlohmann::json& snippet : golden["snippets"]) {
      const auto source = snippet["source"].get<std::string>();
      const std::string text = render(source, golden, golden["messages"].get<std::string>());
      CAPTURE(source);
      if (snippet.contains("text")) {
        CHECK(text == snippet["text"].get<std::string>());
      } else {
        CHECK(text.starts_with("error: "));
        CHECK(text.find('\n') == std::string::npos);
      }
    }
  }

  TEST_CASE("what can't be run is named with its line") {
    const std::string unknown = "the model's chat template: line 1: Headlight doesn't know ";
    CHECK(refusal("a\n{% import 'x' as y %}") ==
          "the model's chat template: line 2: Headlight doesn't know the tag {% import %}");
    CHECK(refusal("{{ a | groupby('x') }}") == unknown + "the filter \"groupby\"");
    CHECK(refusal("{{ a is lower }}") == unknown + "the test \"lower\"");
    CHECK(refusal("{{ 1 | tojson(html=1) }}") == unknown + "the argument \"html\" of tojson");
    CHECK(refusal("{{ 'a'.split(by=' ') }}") == unknown + "the argument \"by\" of split");
    CHECK(refusal("{{ range(stop=2) }}") == unknown + "the argument \"stop\" of range");
    CHECK(refusal("{{ strftime_now('%Y %q') }}") == unknown + "the directive %q of strftime_now()");
    CHECK(refusal("{{ 'a'.encode() }}") == unknown + "the method encode()");
    CHECK(refusal("{{ 'a'.nothing() }}") == unknown + "the method nothing()");
    CHECK(refusal("{{ '%q' % 1 }}") ==
          "the model's chat template: line 1: Headlight doesn't write a whole number in the format \"q\"");
    CHECK(refusal("{% macro m(a) %}{% endmacro %}{{ m(b=1) }}") ==
          "the model's chat template: line 1: the macro m has no argument \"b\"");
    CHECK(refusal("\n\n{{ x.y }}") == "the model's chat template: line 3: an undefined value has no \"y\"");
    CHECK(refusal("{{ raise_exception('No\nway') }}") == "the model's chat template: it refuses this chat: No\\nway");
    CHECK(refusal("{% call x() %}") == "the chat template can't be run: line 1: {% endcall %} is missing");
  }

  TEST_CASE("what a template never comes to is no error") {
    const std::string source =
        "{% macro m() %}{{ 1 | nothing(x=1) }}{% endmacro %}{% if tools %}{% include 'x' %}{{ 2 is odder }}{{ f(1) }}"
        "{{ 'a'.encode() }}{{ strftime_now('%q') }}{% endif %}{{ messages[0].content }}";
    CHECK(ChatTemplate(source, {}).render("hello", Thinking::Unset) == "hello");
  }

  TEST_CASE("what the user hasn't chosen is undefined to templates") {
    const ChatTemplate names(
        "{% for name in [enable_thinking, tools, documents, bos_token, pad_token, builtin_tools, date_string, "
        "reasoning_effort] %}"
        "{{ name is defined }} {{ name is none }};{% endfor %}",
        {{"bos_token", "<s>"}});
    const std::string others = "True True;True True;True False;False False;False False;False False;False False;";
    CHECK(names.render("a", Thinking::Unset) == "False False;" + others);
    CHECK(names.render("a", Thinking::On) == "True False;" + others);
    CHECK(names.render("a", Thinking::Off) == "True False;" + others);
  }

  TEST_CASE("a hostile template ends soon, in one line") {
    const std::string budget = "it takes more steps or makes more text than a chat template may";
    for (
        const std::string source :
        {"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
         "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
         "{{ 'a' * 999999999999 }}",
         // Reading costs as well as making.
         "{% set n = namespace() %}{% for i in range(150000) %}{% set n.x = namespace(x=n.x) %}{% endfor %}",
         "{{ ('x' * 30000000) | list | length }}",
         "{% set a = 'x' * 8000000 %}{% set b = 'x' * 8000000 %}{% for i in range(200000) %}{% if a < b %}{% endif %}{% "
         "endfor %}",
         "{% set a = 'x' * 8000000 %}{% set b = 'x' * 8000000 %}{% for i in range(200000) %}{% if a == b %}{% endif %}{% "
         "endfor %}",
         "{% set a = 'x' * 4000000 %}{% set b = ('x' * 2000000) ~ 'y' %}{{ b in a }}",
         "{% set a = 'x' * 4000000 %}{% set b = ('x' * 2000000) ~ 'y' %}{{ a.find(b) }}",
         "{% set a = 'x' * 4000000 %}{% set b = 'y' ~ ('x' * 2000000) %}{% for i in range(99) %}{{ a.rfind(b) }}{% endfor "
         "%}",
         "{{ range(600000) | unique | length }}",
         "{% set r = range(200000) | list %}{{ r | select('in', r) | list | length }}",
         "{% set a = 'x' * 4000000 %}{{ a.strip('abcdefghijklmnopqrstuvwxyz' * 1000) }}",
         "{% set d = {'a' * 8000000: 1} %}{% for i in range(99) %}{{ 'a' * 80 in d }}{{ d.get('a' * 8000000) }}{% endfor %}",
         "{% for i in range(1000000) %}{{ strftime_now('%Y' * 1000) }}{% endfor %}",
         "{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
         "{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}"}) {
      CAPTURE(source);
      CHECK(refusal(source).find(budget) != std::string::npos);
    }
    // The middle of a chain of comparisons is read once.
    std::string comparisons = "1";
    for (int i = 0; i < 30; ++i) comparisons = "1<(" + comparisons + ")<1";
    CHECK(ChatTemplate("{{ " + comparisons + " }}", {}).render("a", Thinking::Unset) == "False");
    std::string list;
    for (int i = 0; i < 400'000; ++i) list += "1,";
    CHECK(refusal("{{ [" + list + "] }}") == "the chat template can't be run: it has more parts than a chat template may");
    CHECK(refusal("{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}")
              .find("too deeply") != std::string::npos);
    CHECK(refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("too deeply") != std::string::npos);
    CHECK(refusal(std::string(100'000, '(')).empty());
    for (const char* part :
         {"(", "[", "not ", "-", "{% if 1 %}", "1 if 1 else ", "a|trim(", "x[", "1 + (", "1 < (", "{1:"}) {
      std::string deep = std::string(part).starts_with('{') && part[1] == '%' ? "" : "{{ ";
      for (int i = 0; i < 20'000; ++i) deep += part;
      CAPTURE(part);
      CHECK(refusal(deep).find('\n') == std::string::npos);
      CHECK(!refusal(deep).empty());
    }
    std::string chain = "{{ 1";
    for (int i = 0; i < 20'000; ++i) chain += " + 1";
    CHECK(refusal(chain + " }}") == "the chat template can't be run: line 1: the template is nested too deeply");
    CHECK(refusal(std::string(2 << 20, 'a')).find("more than 1048576") != std::string::npos);
  }

  TEST_CASE("all that is written of a chat has one budget") {
    const Tokenizer tokenizer = Tokenizer::load(kGolden / "tokenizers/qwen2");
    std::string chat = "user: The";
    for (int i = 0; i < 30; ++i) chat += "\nassistant: cat\nuser: sat";
    // Each rendering takes more than a tenth of the budget: the turns of which none is left end with their contents.
    const ChatTemplate spends(
        "{% for m in messages %}<{{ m.content }}>\n{% endfor %}{% for i in range(30000) %}{% if i %}{% endif %}{% endfor %}",
        {});
    const EncodedChat found = spends.encode(tokenizer, chat, Thinking::Unset);
    std::string first, last;
    for (std::uint32_t i = found.turns[0].first; i < found.turns[0].end; ++i) first += found.tokens[i].text;
    for (std::uint32_t i = found.turns[60].first; i < found.turns[60].end; ++i) last += found.tokens[i].text;
    CHECK(first == "<The>Ċ");
    CHECK(last == ">Ċ<sat");
    // A text that would be millions of tokens is refused before it is cut into them.
    CHECK(test::error_message([&] {
            (void)ChatTemplate("{{ 'a ' * 9000000 }}", {}).encode(tokenizer, "a", Thinking::Unset);
          }).find("more text than a chat template may") != std::string::npos);
  }

  TEST_CASE("turns are typed as lines with roles, or as JSON") {
    const std::string source =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ '|' if add_generation_prompt }}";
    const auto shown = [&](const char* chat) { return ChatTemplate(source, {}).render(chat, Thinking::On); };
    CHECK(shown("hello") == "<user>hello|");
    CHECK(shown("hello\nassistant: hi\n\nuser: so\nwhat\n") == "<user>hello<assistant>hi<user>so\nwhat|");
    CHECK(shown("System: a\nUSER:b") == "<system>a<user>b|");
    CHECK(shown("note: a\nusers: b") == "<user>note: a\nusers: b|");
    CHECK(shown("user: a\nassistant:") == "<user>a|");
    CHECK(shown("user: a\nassistant: b") == "<user>a<assistant>b");
    CHECK(shown(R"([{"role": "user", "content": "a\nuser: b"}, {"role": "tool", "content": "c"}])") ==
          "<user>a\nuser: b<tool>c|");
    CHECK(shown("[not JSON]") == "<user>[not JSON]|");
    CHECK(refusal(source, "  \n") == "the chat has no turn: type at least one");
    // Messages are as transformers gives them: members that are null are left out, a model's thoughts have all of their
    // names.
    const auto names = [](const char* chat) {
      return ChatTemplate("{% for m in messages %}{{ m.keys() | list | sort | join(',') }};{% endfor %}", {})
          .render(chat, Thinking::Unset);
    };
    CHECK(
        names(
            R"([{"role": "user", "content": "a", "name": null}, {"role": "assistant", "content": null, "tool_calls": [1]}])") ==
        "content,role;role,tool_calls;");
    CHECK(names(R"([{"role": "assistant", "content": "a", "thinking": "t"}, {"role": "user", "content": "b"}])") ==
          "content,reasoning_content,role,thinking;content,role;");
    // Members keep their order, of two with the same name the last is used, and each of many is found by a map.
    const ChatTemplate prints("{{ messages[0] | tojson }}", {});
    CHECK(prints.render(R"([{"role": "user", "z": 1, "content": "a", "b": {"y": 1, "x": 2}, "z": 3}])", Thinking::Unset) ==
          R"({"role": "user", "z": 3, "content": "a", "b": {"y": 1, "x": 2}})");
    std::string many = R"([{"role": "user", "content": "a")";
    for (int i = 0; i < 300'000; ++i) many += fmt::format(R"(, "k{}": 0)", i);
    CHECK(ChatTemplate("{{ messages[0].k299999 }}", {}).render(many + "}]", Thinking::Unset) == "0");
    CHECK(refusal(source, "assistant: ") == "the chat has no turn: type at least one");
    CHECK(refusal(source, "[{\"content\": 1}]") == "message 1 of the chat has no \"role\"");
    CHECK(refusal(source, "[{").starts_with("the chat begins as JSON"));
  }

  TEST_CASE("an open answer keeps its white space and grows") {
    const std::string source =
        "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}.{% endfor %}{{ '|' if add_generation_prompt }}";
    const auto shown = [&](const std::string& chat) { return ChatTemplate(source, {}).render(chat, Thinking::On); };
    CHECK(shown("user: a\nassistant: b \n") == "<user>a.<assistant>b \n");
    CHECK(shown("user: a\nassistant: \n") == "<user>a.|\n");
    const auto grown = [&](const char* chat, const char* more) { return ChatTemplate::with_answer(chat, more); };
    CHECK(grown("a", " hi") == "a\nassistant: hi");
    CHECK(grown("user: a\n", "hi") == "user: a\nassistant: hi");
    CHECK(grown("user: a\nassistant:", " hi") == "user: a\nassistant: hi");
    CHECK(grown("user: a\nassistant: b", " c") == "user: a\nassistant: b c");
    CHECK(shown(grown("user: a\nassistant: b", "\n\n")) == "<user>a.<assistant>b\n\n");
    // An answer in parts ends with the last text among them; an assistant's turn without a text is no open answer.
    const ChatTemplate parts(
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% "
        "endfor %}"
        "{% endif %}{{ m.tool_calls | default('') }}.{% endfor %}{{ '|' if add_generation_prompt }}",
        {});
    const std::string question = R"([{"role":"user","content":"a"},)";
    CHECK(parts.render(
              question + R"({"role":"assistant","content":[{"type":"text","text":"b"},{"type":"text","text":"c. "}]}])",
              Thinking::Unset) == "a.bc. ");
    CHECK(parts.render(question + R"({"role":"assistant","content":"","tool_calls":[1]}])", Thinking::Unset) == "a.[1].|");
    CHECK(refusal("{% for m in messages %}{{ m.content | upper }}.{% endfor %}", "a\nassistant: b") ==
          "the model's chat template changes the assistant's last turn: end with another one");
    CHECK(refusal("{% for m in messages[:1] %}{{ m.content }}{% endfor %}", "a b\nassistant: b") ==
          "the model's chat template changes the assistant's last turn: end with another one");
    const std::string json = R"([{"role":"user","content":"a"}])";
    CHECK(ChatTemplate::with_answer(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b "}])", "c") ==
          R"([{"role":"user","content":"a"},{"role":"assistant","content":"b c"}])");
    CHECK(shown(grown(json.c_str(), " b")) == "<user>a.<assistant>b");
    CHECK(shown(ChatTemplate::with_answer(grown(json.c_str(), "b"), " c")) == "<user>a.<assistant>b c");
    const std::string typed = "hello\nUser: a\nassistant: user: b";
    std::vector<std::string> roles;
    for (const text::ByteRange role : text::role_ranges(typed))
      roles.push_back(typed.substr(role.begin, role.end - role.begin));
    CHECK(roles == std::vector<std::string>{"User:", "assistant:"});
  }

  TEST_CASE("a template's special tokens are tokens, and typed characters keep their places") {
    const Tokenizer tokenizer = Tokenizer::load(kGolden / "tokenizers/qwen2");
    const ChatTemplate chatml(read_file(kGolden / "chat/chatml.jinja"), {});
    const std::string typed = "system: Be brief.\nuser:  The cat\n";
    const std::vector<Token> tokens = chatml.encode(tokenizer, typed, Thinking::On).tokens;
    std::string text, own;
    int starts = 0;
    for (const Token& token : tokens) {
      text += token.text;
      starts += token.text == "<|im_start|>" && token.is_special ? 1 : 0;
      own += typed.substr(token.bytes.begin, token.bytes.end - token.bytes.begin);
    }
    CHECK(starts == 3);
    CHECK(text.find("<|im_end|>Ċ<|im_start|>assistantĊ") != std::string::npos);
    CHECK(own == "Bebrief.Thecat");  // this tokenizer's ranges leave out spaces
    std::vector<std::uint32_t> ids;
    for (const Token& token : tokens) ids.push_back(token.id);
    std::vector<std::uint32_t> whole;
    for (const Token& token : tokenizer.encode(chatml.render(typed, Thinking::On), false)) whole.push_back(token.id);
    CHECK(ids == whole);
  }

  TEST_CASE("a template's marks that aren't one token each are named") {
    const Tokenizer tokenizer = Tokenizer::load(kGolden / "tokenizers/qwen2");
    const auto note = [&](const char* source) { return ChatTemplate(source, {}).note_of_marks(tokenizer); };
    CHECK(note("<|im_start|>{{ '<|im_end|>' }}<|y <|a b|> <||>").empty());
    CHECK(note("{{ '<|user|>' }}<|im_start|><|user|><|end|>") ==
          "the chat template writes <|user|>, <|end|>, which this vocabulary has in pieces: the model may not know them as "
          "marks");
  }

  TEST_CASE("turns are the tokens of their contents and what the template wrote around them") {
    const Tokenizer tokenizer = Tokenizer::load(kGolden / "tokenizers/qwen2");
    const auto turns = [&](const std::string& source, const std::string& typed) {
      const EncodedChat chat = ChatTemplate(source, {}).encode(tokenizer, typed, Thinking::On);
      std::vector<std::string> found;
      std::uint32_t last = 0;
      for (const TurnSpan& turn : chat.turns) {
        CHECK(turn.first >= last);
        last = turn.end;
        std::string& text = found.emplace_back(turn.role + ": ");
        for (std::uint32_t token = turn.first; token < turn.end; ++token) text += chat.tokens[token].text;
      }
      CHECK(last == chat.tokens.size());
      return found;
    };
    const std::string chatml = read_file(kGolden / "chat/chatml.jinja");
    CHECK(turns(chatml, "system: Be brief.\nuser: The cat\nassistant: The cat\nuser: sat") ==
          std::vector<std::string>{"system: <|im_start|>systemĊBeĠbrief.<|im_end|>Ċ",
                                   "user: <|im_start|>userĊTheĠcat<|im_end|>Ċ",
                                   "assistant: <|im_start|>assistantĊTheĠcat<|im_end|>Ċ",
                                   "user: <|im_start|>userĊsat<|im_end|>Ċ", "assistant: <|im_start|>assistantĊ"});
    // A system prompt that the template writes by itself is a turn of its own.
    CHECK(turns(chatml, "The cat\nassistant: sat") ==
          std::vector<std::string>{"system: <|im_start|>systemĊYouĠareĠaĠhelpfulĠassistant.<|im_end|>Ċ",
                                   "user: <|im_start|>userĊTheĠcat<|im_end|>Ċ", "assistant: <|im_start|>assistantĊsat"});
    // Another template writes other things around the last turn: a turn ends with what is the same, after its content.
    const std::string other =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ '!' if loop.last else '.' }}{% endfor %}{{ '|' if "
        "add_generation_prompt }}";
    CHECK(turns(other, "user: The\nassistant: cat\nuser: sat") ==
          std::vector<std::string>{"user: <user>The", "assistant: .<assistant>cat", "user: .<user>sat!", "assistant: |"});
  }

  TEST_CASE("of every template turns hold their contents") {
    const Tokenizer tokenizer = Tokenizer::load(kGolden / "tokenizers/qwen2");
    for (const auto& entry : std::filesystem::directory_iterator(kGolden / "chat")) {
      if (entry.path().extension() != ".jinja") continue;
      CAPTURE(entry.path().string());
      const std::string typed = "user: alpha beta\nassistant: gamma delta\nuser: epsilon";
      const EncodedChat chat = ChatTemplate(read_file(entry.path()), {{"bos_token", ""}, {"eos_token", ""}})
                                   .encode(tokenizer, typed, Thinking::On);
      std::vector<std::string> roles;
      for (const TurnSpan& turn : chat.turns) roles.push_back(turn.role);
      const bool has_prompt = roles.size() > 1 && roles.back() == "assistant";
      CHECK((has_prompt || roles.back() == "user"));
      for (std::uint32_t token = 0; token < chat.tokens.size(); ++token) {
        const ByteRange bytes = chat.tokens[token].bytes;
        if (bytes.is_empty()) continue;
        const auto turn =
            std::ranges::find_if(chat.turns, [&](const TurnSpan& one) { return token >= one.first && token < one.end; });
        REQUIRE(turn != chat.turns.end());
        CHECK(turn->role == (bytes.begin > 16 && bytes.end <= 39 ? "assistant" : "user"));
      }
    }
  }

  TEST_CASE("a folder's template: a text, the default of a list, a file of its own") {
    const TemporaryDirectory scratch;
    const std::filesystem::path& folder = scratch.path();
    CHECK(ChatTemplate::load(folder) == nullptr);
    write_file_atomically(folder / "tokenizer_config.json", std::string_view(R"({"bos_token": "<b>"})"));
    CHECK(ChatTemplate::load(folder) == nullptr);
    write_file_atomically(folder / "tokenizer_config.json",
                          std::string_view(R"({"bos_token": "<b>", "chat_template": "{{ bos_token }}1"})"));
    CHECK(ChatTemplate::load(folder)->render("a", Thinking::On) == "<b>1");
    write_file_atomically(
        folder / "tokenizer_config.json",
        std::string_view(
            R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})"));
    CHECK(ChatTemplate::load(folder)->render("a", Thinking::On) == "d");
    write_file_atomically(folder / "tokenizer_config.json",
                          std::string_view(R"({"chat_template": [{"name": "tool_use", "template": "t"}]})"));
    CHECK(test::error_message([&] { ChatTemplate::load(folder); }) ==
          (folder / "tokenizer_config.json").string() + ": chat_template has no template of the name default");
    write_file_atomically(folder / "chat_template.jinja", std::string_view("j{{ enable_thinking }}"));
    CHECK(ChatTemplate::load(folder)->render("a", Thinking::Off) == "jFalse");
    CHECK(ChatTemplate::load(folder)->can_think());
    write_file_atomically(folder / "chat_template.jinja", std::string_view("{% if %}"));
    CHECK(test::error_message([&] {
            ChatTemplate::load(folder);
          }).starts_with((folder / "chat_template.jinja").string() + ": the chat template can't"));
  }
}

}  // namespace chat_template_test
