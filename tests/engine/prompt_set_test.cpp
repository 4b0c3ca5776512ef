// Prompt sets: the format, what is refused, and the sets that come along.
#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "app/data/prompts/fitted_prompt.h"
#include "inference/language_model.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace prompt_set_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// The prompts of a file with this content.
PromptSet read(const std::string& content) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "set.jsonl";
  std::ofstream(file, std::ios::binary) << content;
  return read_prompt_set(file);
}

std::string refusal_of(const std::string& content) {
  return test::error_message([&] { (void)read(content); });
}

constexpr const char* kLists = R"("lists": {"A": ["Mary", "John", "Tom"], "B": "A"}, "count": 4, "seed": 7})";
const std::string kTemplate = R"({"template": "{A} and {B} met, {B} left", "answer": " {A}", "wrong": " {B}", )";

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a line is a prompt, whose positions are words or bytes") {
    const PromptSet set = read(R"({"text": "a cat sat", "corrupted": "a dog sat", "answer": " on", "wrong": " in",)"
                               R"( "positions": {"animal": "cat", "verb": [6, 9]}})"
                               "\n\n"
                               R"({"text": "one", "answer": " two"})");
    CHECK(set.name == "set");
    REQUIRE(set.prompts.size() == 2);
    const SetPrompt expected{.text = "a cat sat",
                             .corrupted = "a dog sat",
                             .answer = " on",
                             .wrong = " in",
                             .positions = {{.name = "animal", .begin = 2, .end = 5}, {.name = "verb", .begin = 6, .end = 9}},
                             .line = 1};
    CHECK(set.prompts[0] == expected);
    CHECK(set.prompts[1].line == 3);
  }

  TEST_CASE("a template gives different prompts, no value twice, and the places of its placeholders") {
    const PromptSet set = read(kTemplate + kLists);
    REQUIRE(set.prompts.size() == 4);
    std::set<std::string> texts;
    for (const SetPrompt& prompt : set.prompts) {
      texts.insert(prompt.text);
      CHECK(prompt.answer != prompt.wrong);
      REQUIRE(prompt.positions.size() == 3);
      const auto words = [&](std::size_t at) {
        const NamedSpan& span = prompt.positions[at];
        return " " + prompt.text.substr(span.begin, span.end - span.begin);
      };
      CHECK(prompt.positions[0].name == "A");
      CHECK(prompt.positions[1].name == "B");
      CHECK(prompt.positions[2].name == "B2");
      CHECK(words(0) == prompt.answer);
      CHECK(words(1) == prompt.wrong);
      CHECK(words(2) == prompt.wrong);
    }
    CHECK(texts.size() == 4);
    CHECK(read(kTemplate + kLists).prompts == set.prompts);
  }

  TEST_CASE("two braces in a template are one, and one that closes nothing is itself") {
    const PromptSet set = read(R"({"template": "{{{A}}}: {{ x } {A}", "answer": " }}", "lists": {"A": ["set"]}})");
    REQUIRE(set.prompts.size() == 1);
    CHECK(set.prompts[0].text == "{set}: { x } set");
    CHECK(set.prompts[0].answer == " }");
    REQUIRE(set.prompts[0].positions.size() == 2);
    CHECK(set.prompts[0].positions[0] == NamedSpan{.name = "A", .begin = 1, .end = 4});
    CHECK(set.prompts[0].positions[1] == NamedSpan{.name = "A2", .begin = 13, .end = 16});
  }

  TEST_CASE("fewer prompts where the lists give fewer") {
    const std::string lists = R"("lists": {"A": ["Mary", "John", "Tom"], "B": "A"}, "count": 4000})";
    CHECK(read(kTemplate + lists).prompts.size() == 6);
  }

  TEST_CASE("columns of a list are drawn together") {
    const PromptSet set = read(
        R"({"template": "the {noun}", "answer": "{verb}", "lists": {"noun,verb": [["dog", " is"], ["dogs", " are"]]}, "count": 9})");
    REQUIRE(set.prompts.size() == 2);
    for (const SetPrompt& prompt : set.prompts) CHECK((prompt.text == "the dogs") == (prompt.answer == " are"));
  }

  TEST_CASE("what is no set is refused in one line with file, line and member") {
    CHECK(refusal_of("{\"text\": \"a\", \"answer\": \" b\"}\n{\"text\": }")
              .ends_with("set.jsonl, line 2: not JSON (column 10)"));
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "has no prompts"},
        {"{", "line 1: not JSON"},
        {"[]", "line 1: expected an object"},
        {"\n" + std::string(R"({"text": "a"})"), R"(line 2: "answer": expected a text)"},
        {R"({"text": "a", "answer": " b", "lists": {}})", R"("lists": no such member)"},
        {R"({"text": "a", "answer": " b", "positions": {"x": "z"}})", "positions.x"},
        {R"({"text": "a", "answer": " b", "positions": {"x": [0, 2]}})", "positions.x"},
        {R"({"text": "a", "answer": " b", "positions": {"end": "a"}})", R"("end" is the last token)"},
        {R"({"text": "a", "answer": 3})", "answer"},
        {"{\"text\": \"\xff\", \"answer\": \" b\"}", "isn't UTF-8"},
        {R"({"template": "{A}", "answer": " b", "lists": {}})", "{A} has no list"},
        {R"({"template": "{A", "answer": " b", "lists": {}})", "a brace isn't closed"},
        {R"({"template": "{A} {A} {A2}", "answer": " b", "lists": {"A": ["x"], "A2": ["y"]}})", "two positions are called"},
        {R"({"template": "{end}", "answer": " b", "lists": {"end": ["x"]}})", "isn't \"end\""},
        {R"({"template": "{A}", "answer": " b", "lists": {"A": []}})", "lists.A"},
        {R"({"template": "{A}", "answer": " b", "lists": {"A": "B"}})", "lists.A"},
        {R"({"template": "{A}", "answer": " b", "lists": {"A,B": ["x"]}})", "lists.A,B"},
        {R"({"template": "{A}", "answer": " b", "lists": {"A": ["x"], "B": "A"}})", "{B} has no value left"},
        {R"({"template": "{A}", "answer": " b", "lists": {"A": ["x"]}, "count": 5000})", "count"},
        {R"({"text": ")" + std::string(kMaxPromptBytes + 1, 'a') + R"(", "answer": " b"})", "at most"}};
    for (const auto& one : cases) {
      const std::string message = refusal_of(one.first);
      CAPTURE(one.second);
      CAPTURE(message);
      CHECK(message.find(one.second) != std::string::npos);
      CHECK(message.find("set.jsonl") != std::string::npos);
      CHECK(test::is_one_line(message));
    }
  }

  TEST_CASE("a set's prompts and bytes are bounded") {
    std::string lines;
    for (std::size_t i = 0; i <= kMaxPrompts; ++i)
      lines += R"({"text": "a", "answer": " b"})"
               "\n";
    CHECK(refusal_of(lines).find("at most 4096 prompts") != std::string::npos);
    const std::string text(kMaxPromptBytes, 'a');
    lines.clear();
    for (std::size_t i = 0; i <= kMaxPromptSetBytes / kMaxPromptBytes; ++i) {
      lines += R"({"text": ")" + text +
               R"(", "answer": " b"})"
               "\n";
    }
    CHECK(refusal_of(lines).find("at most 16 MiB") != std::string::npos);
  }

  TEST_CASE("the sets that come along expand, and four of six suit captions-gpt2") {
    const std::filesystem::path assets = HEADLIGHT_ASSETS_DIR;
    const auto model = inference::open_model(assets / "models" / "captions-gpt2");
    const auto length = [&](const std::string& text) { return model->tokenizer->encode(text, false).size(); };
    const std::map<std::string, std::size_t> suited = {{"color", 64},     {"docstring", 0}, {"greater-than", 0},
                                                       {"induction", 64}, {"ioi", 32},      {"subject-verb", 64}};
    for (const auto& one : suited) {
      const PromptSet set = read_prompt_set(assets / "prompts" / (one.first + ".jsonl"));
      std::size_t count = 0;
      for (const SetPrompt& prompt : set.prompts) {
        const bool has_single_tokens = length(prompt.answer) == 1 && length(prompt.wrong) == 1;
        if (has_single_tokens && length(prompt.text) == length(prompt.corrupted)) ++count;
      }
      CAPTURE(one.first);
      CHECK(count >= one.second);
      const auto named = std::ranges::find(bundled_prompts(), one.first, &BundledPrompts::id);
      REQUIRE(named != bundled_prompts().end());
      CHECK(set.prompts.size() == named->count);
    }
  }
}

}  // namespace prompt_set_test
