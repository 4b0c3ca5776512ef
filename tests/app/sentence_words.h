#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "app/models/starter_view.h"
#include "app/ui_driver.h"
#include "app/widgets/sentence.h"

namespace headlight::test {

/// The marked words of a sentence.
struct Said {
  std::vector<std::string> queries, keys, tokens, numbers;
};

inline Said words_of(const app::Sentence& sentence) {
  Said said;
  for (std::size_t at = 0; at < sentence.size(); ++at) {
    if (sentence[at] < app::kQueryMark || sentence[at] > app::kNumberMark) continue;
    const std::size_t end = sentence.find(app::kWordEnd, at);
    REQUIRE(end != std::string::npos);
    const std::string word = sentence.substr(at + 1, end - at - 1);
    (sentence[at] == app::kQueryMark   ? said.queries
     : sentence[at] == app::kKeyMark   ? said.keys
     : sentence[at] == app::kTokenMark ? said.tokens
                                       : said.numbers)
        .push_back(word);
    at = end;
  }
  return said;
}

inline Said said(app::UiDriver& ui) { return words_of(ui.window().sentence()); }
/// The sentence below the view's title, without its marks.
inline std::string text(app::UiDriver& ui) { return app::plain_text(ui.window().sentence()); }

/// A state whose model writes captions of pictures, which begin with this text.
inline app::State of_captions(const std::string& text, const std::string& view = app::kHeadView) {
  app::State state;
  app::change_to_model(state, app::find_bundled_model("captions-gpt2")->string());
  state.model().text = text;
  state.view.tab = view;
  return state;
}

inline const std::string kTwice = "A man in a red shirt rides a horse. A man in a red shirt rides a";

}  // namespace headlight::test
