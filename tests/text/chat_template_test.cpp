// Chat templates against transformers' apply_chat_template: the same text, or both refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/error.h"
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
std::string render(const std::string& source, const nlohmann::json& golden, const std::string& chat, bool thinks = true) {
  try {
    return ChatTemplate(source, special(golden)).render(chat, thinks);
  } catch (const Error& error) {
    return fmt::format("error: {}", error.what());
  }
}

std::string refusal(const std::string& source, const std::string& chat = "hello") {
  return test::error_message([&] { (void)ChatTemplate(source, {}).render(chat, true); });
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("templates in the shape of well-known models' give transformers' texts") {
    const nlohmann::json golden = nlohmann::json::parse(read_file(kGolden / "chat/expected.json"));
    REQUIRE(golden["chats"].size() > 80);
    for (const nlohmann::json& chat : golden["chats"]) {
      const auto name = chat["template"].get<std::string>();
      const std::string text = render(read_file(kGolden / "chat" / (name + ".jinja")), golden,
                                      chat["typed"].get<std::string>(), chat["thinks"].get<bool>());
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
    CHECK(refusal("a\n{% call x() %}") ==
          "the chat template can't be run: line 2: Headlight doesn't know the tag {% call %}");
    CHECK(refusal("{{ a | groupby('x') }}") ==
          "the chat template can't be run: line 1: Headlight doesn't know the filter \"groupby\"");
    CHECK(refusal("{{ a is lower }}") ==
          "the chat template can't be run: line 1: Headlight doesn't know the test \"lower\"");
    CHECK(refusal("\n\n{{ x.y }}") == "the model's chat template: line 3: an undefined value has no \"y\"");
    CHECK(refusal("{{ raise_exception('No\nway') }}") == "the model's chat template: it refuses this chat: No\\nway");
    CHECK(refusal("{{ 'a'.format() }}") ==
          "the model's chat template: line 1: Headlight doesn't know the method format() of a text");
  }

  TEST_CASE("a hostile template ends soon, in one line") {
    const std::string budget = "it takes more steps or makes more text than a chat template may";
    CHECK(refusal("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}").find(budget) !=
          std::string::npos);
    CHECK(refusal("{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}")
              .find(budget) != std::string::npos);
    CHECK(refusal("{{ 'a' * 999999999999 }}").find(budget) != std::string::npos);
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

  TEST_CASE("turns are typed as lines with roles, or as JSON") {
    const std::string source =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ '|' if add_generation_prompt }}";
    const auto shown = [&](const char* chat) { return ChatTemplate(source, {}).render(chat, true); };
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
    CHECK(refusal(source, "assistant: ") == "the chat has no turn: type at least one");
    CHECK(refusal(source, "[{\"content\": 1}]") == "message 1 of the chat has no \"role\"");
    CHECK(refusal(source, "[{").starts_with("the chat begins as JSON"));
  }

  TEST_CASE("an open answer keeps its white space and grows") {
    const std::string source =
        "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}.{% endfor %}{{ '|' if add_generation_prompt }}";
    const auto shown = [&](const std::string& chat) { return ChatTemplate(source, {}).render(chat, true); };
    CHECK(shown("user: a\nassistant: b \n") == "<user>a.<assistant>b \n");
    CHECK(shown("user: a\nassistant: \n") == "<user>a.|\n");
    const auto grown = [&](const char* chat, const char* more) { return ChatTemplate::with_answer(chat, more); };
    CHECK(grown("a", " hi") == "a\nassistant: hi");
    CHECK(grown("user: a\n", "hi") == "user: a\nassistant: hi");
    CHECK(grown("user: a\nassistant:", " hi") == "user: a\nassistant: hi");
    CHECK(grown("user: a\nassistant: b", " c") == "user: a\nassistant: b c");
    CHECK(shown(grown("user: a\nassistant: b", "\n\n")) == "<user>a.<assistant>b\n\n");
    const std::string json = R"([{"role":"user","content":"a"}])";
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
    const std::vector<Token> tokens = chatml.encode(tokenizer, typed, true).tokens;
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
    for (const Token& token : tokenizer.encode(chatml.render(typed, true), false)) whole.push_back(token.id);
    CHECK(ids == whole);
  }

  TEST_CASE("turns are the tokens of their contents and what the template wrote around them") {
    const Tokenizer tokenizer = Tokenizer::load(kGolden / "tokenizers/qwen2");
    const auto turns = [&](const std::string& source, const std::string& typed) {
      const EncodedChat chat = ChatTemplate(source, {}).encode(tokenizer, typed, true);
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
    // One that writes other things around the last turn: a turn ends with what is the same, after its content.
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
      const EncodedChat chat =
          ChatTemplate(read_file(entry.path()), {{"bos_token", ""}, {"eos_token", ""}}).encode(tokenizer, typed, true);
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
    CHECK(ChatTemplate::load(folder)->render("a", true) == "<b>1");
    write_file_atomically(
        folder / "tokenizer_config.json",
        std::string_view(
            R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})"));
    CHECK(ChatTemplate::load(folder)->render("a", true) == "d");
    write_file_atomically(folder / "tokenizer_config.json",
                          std::string_view(R"({"chat_template": [{"name": "tool_use", "template": "t"}]})"));
    CHECK(test::error_message([&] { ChatTemplate::load(folder); }) ==
          (folder / "tokenizer_config.json").string() + ": chat_template has no template of the name default");
    write_file_atomically(folder / "chat_template.jinja", std::string_view("j{{ enable_thinking }}"));
    CHECK(ChatTemplate::load(folder)->render("a", false) == "jFalse");
    CHECK(ChatTemplate::load(folder)->can_think());
    write_file_atomically(folder / "chat_template.jinja", std::string_view("{% x %}"));
    CHECK(test::error_message([&] {
            ChatTemplate::load(folder);
          }).starts_with((folder / "chat_template.jinja").string() + ": the chat template can't"));
  }
}

}  // namespace chat_template_test
