// The sentence below a view's title: its place stays, and its numbers are those that the view copies.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/engine/gpu_runner.h"
#include "app/sentence_words.h"
#include "app/state/prompts_settings.h"
#include "app/views/view_table.h"
#include "app/widgets/size_text.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace viewer_table_sentence_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
using test::kTwice;
using test::of_captions;
using test::said;
using test::text;

namespace {

/// The numbers of a line of a table, from left to right.
std::vector<double> numbers_in_line(const std::string& line) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < line.size();) {
    const bool begins = std::isdigit(static_cast<unsigned char>(line[at])) != 0 || line[at] == '-';
    char* end = nullptr;
    const double number = begins ? std::strtod(line.c_str() + at, &end) : 0.0;
    const std::size_t length = begins ? static_cast<std::size_t>(end - (line.c_str() + at)) : 0;
    if (length > 0) numbers.push_back(number);
    at += std::max<std::size_t>(length, 1);
  }
  return numbers;
}

/// All numbers of a table; in each line what a number was before the change that stands one column further, or two where the
/// baseline's change does; and of the last line, where a loss ends, its perplexity.
std::vector<double> numbers_in(const std::string& table) {
  std::vector<double> all;
  std::istringstream lines(table);
  double last = 0.0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<double> numbers = numbers_in_line(line);
    all.insert(all.end(), numbers.begin(), numbers.end());
    for (std::size_t at = 1; at < numbers.size(); ++at) all.push_back(numbers[at - 1] - numbers[at]);
    for (std::size_t at = 2; at < numbers.size(); ++at) all.push_back(numbers[at - 2] - numbers[at]);
    if (!numbers.empty()) last = numbers.back();
  }
  all.push_back(std::exp(last));
  return all;
}

/// Is the number as it is said that of the table, or its hundredth, to the last digit that is said?
bool is_among(const std::string& said_number, const std::vector<double>& table) {
  std::string plain;
  for (std::size_t at = 0; at < said_number.size(); ++at) {
    if (said_number.compare(at, 3, "\u2212") == 0) {
      plain += '-';
      at += 2;
    } else {
      plain += said_number[at];
    }
  }
  const double value = std::strtod(plain.c_str(), nullptr);
  const std::size_t point = plain.find('.');
  const std::size_t end =
      std::min(plain.find_first_not_of("0123456789", std::min(point, plain.size() - 1) + 1), plain.size());
  const std::size_t digits = point == std::string::npos ? 0 : end - point - 1;
  const double half = 0.500001 * std::pow(10.0, -static_cast<double>(digits));
  const double scale = plain.find('%') == std::string::npos && plain.find("pt") == std::string::npos ? 1.0 : 100.0;
  for (const double number : table) {
    if (std::abs(number * scale - value) <= half + 1e-6 * std::abs(value)) return true;
  }
  return false;
}

/// Every number that is said is in the numbers that the view copies.
void check_table(UiDriver& ui) {
  CAPTURE(text(ui));
  const std::string table = ui.csv();
  CAPTURE(table);
  const std::vector<double> numbers = numbers_in(table);
  REQUIRE_FALSE(said(ui).numbers.empty());
  for (const std::string& number : said(ui).numbers) {
    CAPTURE(number);
    CHECK(is_among(number, numbers));
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every view has a sentence in a place that stays, with numbers of what it shows") {
    UiDriver ui(of_captions(kTwice), open_gpu_runner);
    ui.click_cell(9, 4);
    std::set<std::string> sentences;
    for (const View& view : views()) {
      CAPTURE(view.id);
      ui.show(view.id);
      ui.settle();
      const std::set<std::string_view> needs_more = {"checkpoints", "corpus", "notebook", "patching", "prompts"};
      if (needs_more.contains(view.id)) continue;
      CAPTURE(text(ui));
      REQUIRE(ui.sees("view.sentence"));
      const bool is_rest = view.id == "block";
      CHECK((is_rest || !said(ui).numbers.empty()));
      sentences.insert(text(ui));
      const chart::Rect place = ui.rect("view.sentence");
      CHECK(place.origin.y >= ui.rect("view.title").end().y - 1.0F);
      ui.ui().feed(shell::MouseMove{ui.at("view.sentence", 0.5F, 8.0F)});
      ui.settle();
      CHECK(ui.rect("view.sentence") == place);
      ui.ui().feed(shell::MouseMove{{1.0F, 1.0F}});
      ui.settle();
    }
    CHECK(sentences.size() >= 10);
    for (const char* view : {"logits", "what_if", "heads", "neuron"}) {
      CAPTURE(view);
      ui.show(view);
      ui.settle();
      check_table(ui);
    }
    ui.show("predictions");
    ui.click("predictions.part.1");
    check_table(ui);
    ui.show("what_if");
    ui.click("what_if.measure.1");
    ui.settle();
    CAPTURE(text(ui));
    CHECK(text(ui).find(" matters most: without it ") == 5);  // after "L0 H5"
    CHECK((text(ui).find(" falls from ") != std::string::npos || text(ui).find(" rises from ") != std::string::npos));
    check_table(ui);
    ui.move_to("what_if.head.0.5");
    CHECK(text(ui).find("L0 H5: without it ") == 0);
    check_table(ui);
    ui.show("flow");
    ui.settle();
    check_table(ui);
  }

  TEST_CASE("compared with a baseline, and of patches and prompts, what is said has the view's numbers") {
    {
      UiDriver ui(of_captions(kTwice), open_gpu_runner);
      ui.press(Key::D, kControl);
      ui.wait(5.0);
      ui.click("grid.encoder.0.5");
      ui.press(Key::K);
      ui.settle();
      for (const char* view : {"logits", "what_if", "flow", "heads"}) {
        CAPTURE(view);
        ui.show(view);
        ui.settle();
        check_table(ui);
      }
      ui.press(Key::K);
      ui.fill_in("text.edit", "A man in a red shirt rides a horse. A man in a red shirt holds a");
      ui.show("patching");
      ui.settle();
      CHECK(text(ui).find("of the difference") != std::string::npos);
      check_table(ui);
    }
    State state = of_captions(kTwice, "prompts");
    state.set(kPromptsView.set, "induction");
    UiDriver prompts(state, open_gpu_runner);
    prompts.settle();
    CHECK(text(prompts).find("n = ") != std::string::npos);
    check_table(prompts);
  }

  TEST_CASE("heads of random weights have numbers and no role") {
    UiDriver ui(with_text("the cat saw the dog and the dog saw the cat", "heads"));
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (std::uint32_t head = 0; head < 4; ++head) {
        ui.click(fmt::format("heads.row.L{} H{}", layer, head));
        CHECK(text(ui).find(" has random weights: ") != std::string::npos);
        check_table(ui);
      }
    }
  }

  TEST_CASE("Predictions says the share, and what it was before or in the baseline") {
    UiDriver ui(of_captions(kTwice, "predictions"), open_gpu_runner);
    CAPTURE(text(ui));
    const auto share = [&] {
      const Prediction* known = nullptr;
      for (const auto& [query, prediction] : ui.result().predictions) {
        if (query.keeps_logits && !query.is_of_baseline) known = &prediction;
      }
      REQUIRE(known);
      return known->candidates.front().probability;
    };
    CHECK(said(ui).numbers == std::vector<std::string>{percent_text(share())});
    CHECK(text(ui).find("After") == std::string::npos);  // the header says at which position
    const double before = share();
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.click("grid.encoder.0.5");
    ui.press(Key::K);
    ui.settle();
    CAPTURE(text(ui));
    REQUIRE(said(ui).numbers.size() == 2);
    CHECK(said(ui).numbers[1] == percent_text(share()));
    if (said(ui).tokens.front() == "\u00B7horse") CHECK(said(ui).numbers[0] == percent_text(before));
  }

  TEST_CASE("a survey's head is said with the numbers of its dot") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), kGoldenModels + "gpt2");
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.window().open_files({folder.path().string()});
    ui.settle();
    REQUIRE(ui.state().view.tab == "corpus");
    check_table(ui);
    CHECK(text(ui).find("In the survey of ") == 0);
  }
}

}  // namespace viewer_table_sentence_test
