// Words that the help explains.
#include <doctest/doctest.h>

#include <cctype>
#include <set>
#include <string>

#include "app/ui_driver.h"
#include "app/window/dialogs/help_dialogs.h"

namespace viewer_glossary_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

TEST_SUITE("cpu") {
  TEST_CASE("help lists each word once, in the order of the alphabet") {
    std::set<std::string> words;
    std::string before;
    for (const GlossaryEntry& entry : glossary()) {
      std::string word(entry.word);
      for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      CHECK_MESSAGE(words.insert(word).second, word);
      CHECK_MESSAGE(before < word, word);
      before = word;
    }
    for (const char* word : {"looks at, attends to", "nat", "m, l", "mul, abs", "sink", "kl divergence", "in-context score"})
      CHECK_MESSAGE(words.contains(word), word);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("help opens on words, which are searched") {
    UiDriver ui;
    ui.press(Key::F1);
    CHECK(ui.sees("help.word.sink"));
    ui.fill_in("help.search", "natural");
    CHECK(ui.sees("help.word.nat"));
    CHECK_FALSE(ui.sees("help.word.sink"));
  }
}

}  // namespace viewer_glossary_test
