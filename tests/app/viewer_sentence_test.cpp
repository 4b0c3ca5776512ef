// The sentence below a view's title: its place stays, and its tokens and numbers are those that the view shows.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/gpu_runner.h"
#include "app/engine/token_words.h"
#include "app/models/starter_view.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/state/prompts_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"
#include "app/widgets/sentence.h"
#include "app/widgets/size_text.h"
#include "app/window/dialogs/help_dialogs.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace viewer_sentence_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// The marked words of a sentence.
struct Said {
  std::vector<std::string> queries, keys, tokens, numbers;
};

Said words_of(const Sentence& sentence) {
  Said said;
  for (std::size_t at = 0; at < sentence.size(); ++at) {
    if (sentence[at] < kQueryMark || sentence[at] > kNumberMark) continue;
    const std::size_t end = sentence.find(kWordEnd, at);
    REQUIRE(end != std::string::npos);
    const std::string word = sentence.substr(at + 1, end - at - 1);
    (sentence[at] == kQueryMark   ? said.queries
     : sentence[at] == kKeyMark   ? said.keys
     : sentence[at] == kTokenMark ? said.tokens
                                  : said.numbers)
        .push_back(word);
    at = end;
  }
  return said;
}

Said said(UiDriver& ui) { return words_of(ui.window().sentence()); }
std::string text(UiDriver& ui) { return plain_text(ui.window().sentence()); }

State of_captions(const std::string& text, const std::string& view = kHeadView) {
  State state;
  change_to_model(state, find_bundled_model("captions-gpt2")->string());
  state.model().text = text;
  state.view.tab = view;
  return state;
}

const std::string kTwice = "A man in a red shirt rides a horse. A man in a red shirt rides a";

/// The cells that the map shows: without padding where the user has typed the text.
chart::Region shown_cells_of(UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  const model::TokenBatch &queries = ui.result().input->queries(selection.block.kind),
                          &keys = ui.result().input->keys(selection.block.kind);
  chart::Region cells{.rows = queries.length, .columns = keys.length};
  if (!is_playground(ui.state().source) && !is_model(ui.state().source)) return cells;
  cells.row = queries.start(selection.batch);
  cells.rows = queries.lengths[selection.batch];
  if (!ui.state().masks[selection.block.kind].rule.key_padding) return cells;
  cells.column = keys.start(selection.batch);
  cells.columns = keys.lengths[selection.batch];
  return cells;
}

void point_at(UiDriver& ui, std::uint32_t query, std::uint32_t key) {
  const chart::Region cells = shown_cells_of(ui);
  const chart::Rect map = ui.rect("head.map");
  const glm::vec2 place(key - cells.column, query - cells.row), size(cells.columns, cells.rows);
  ui.ui().feed(shell::MouseMove{map.origin + map.size * (place + 0.5F) / size});
  ui.settle();
}

/// The largest exact tile of the selected head's weights.
const attention::Tile& whole_map(UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  const attention::Tile* largest = nullptr;
  for (const auto& [query, known] : ui.result().tiles) {
    const bool is_it = query.quantity == QuantityId(attention::Stage::Weights) && query.block == selection.block &&
                       query.batch == selection.batch && query.head == selection.head && query.is_exact();
    if (is_it && ui.result().is_current(query) && (!largest || known.tile->values.size() > largest->values.size()))
      largest = known.tile.get();
  }
  REQUIRE(largest);
  return *largest;
}

/// What is said of the selected head's map is what its tile has: of the last query, and of every cell that is pointed at.
void check_map(UiDriver& ui) {
  const attention::Tile map = whole_map(ui);
  const model::BlockKind kind = ui.state().selection.block.kind;
  const model::TokenBatch &queries = ui.result().input->queries(kind), &keys = ui.result().input->keys(kind);
  const std::uint32_t line = ui.state().selection.batch, last = queries.start(line) + queries.lengths[line] - 1;
  const chart::Region cells = shown_cells_of(ui);
  const auto at = [&](std::uint32_t query, std::uint32_t key) {
    return map.at(query - map.request.row, key - map.request.column);
  };
  const auto largest_of = [&](std::uint32_t query) {
    std::uint32_t largest = cells.column;
    for (std::uint32_t key = cells.column; key < cells.column + cells.columns; ++key) {
      if (at(query, key) > at(query, largest)) largest = key;
    }
    return largest;
  };
  const auto written = [](float weight) { return fmt::format("{:.2f}", weight); };
  {
    CAPTURE(text(ui));
    const Said now = said(ui);
    REQUIRE(now.queries.size() == 1);
    CHECK(now.queries[0] == queries.name(line, last));
    REQUIRE(now.keys.size() == 1);
    CHECK(now.keys[0] == keys.name(line, largest_of(last)));
    CHECK(now.numbers[0] == written(at(last, largest_of(last))));
  }
  // A target's rows have the names of the words that they write, as on the axis.
  const model::ModelInput& input = *ui.result().input;
  const bool writes = ui.result().model && ui.result().model->description.is_encoder_decoder &&
                      rows_write_tokens(input, ui.state().selection.block.kind);
  const std::vector<std::string> names = writes ? written_texts(*input.target, line) : std::vector<std::string>();
  const auto row_name = [&](std::uint32_t query) {
    return writes && query < last ? names.at(query) : queries.name(line, query);
  };
  const chart::Rect place = ui.rect("view.sentence"), box = ui.rect("head.map");
  for (std::uint32_t query = cells.row; query < cells.row + cells.rows; query += 1 + cells.rows / 4) {
    for (std::uint32_t key = cells.column; key < cells.column + cells.columns; key += 1 + cells.columns / 3) {
      CAPTURE(query);
      CAPTURE(key);
      point_at(ui, query, key);
      CAPTURE(text(ui));
      const Said now = said(ui);
      CHECK(ui.rect("view.sentence") == place);  // nothing moves
      CHECK(ui.rect("head.map") == box);
      REQUIRE_FALSE(now.queries.empty());
      CHECK((now.queries[0] == row_name(query) || (writes && query == last)));  // the last writes what is predicted
      const bool is_real = query >= queries.start(line) && query <= last;
      CHECK((text(ui).find("is padding") != std::string::npos) == !is_real);
      if (!is_real) continue;
      REQUIRE_FALSE(now.keys.empty());
      CHECK(now.keys[0] == keys.name(line, key));
      const bool is_masked = map.is_masked(query - map.request.row, key - map.request.column);
      CHECK((text(ui).find("the mask hides it") != std::string::npos) == is_masked);
      if (is_masked) continue;
      CHECK(now.numbers[0] == written(at(query, key)));
      if (at(query, key) == at(query, largest_of(query))) continue;
      REQUIRE(now.keys.size() == 2);
      CHECK(now.keys[1] == keys.name(line, largest_of(query)));
      CHECK(now.numbers[1] == written(at(query, largest_of(query))));
    }
  }
  ui.ui().feed(shell::MouseMove{{1.0F, 1.0F}});
  ui.settle();
}

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

TEST_SUITE("cpu") {
  TEST_CASE("a sentence's tokens and numbers are marked, and without marks tokens are quoted") {
    const Sentence sentence = query_word("a") + " looks at " + key_word("b c") + ": " + number_word(0.125) + ".";
    CHECK(plain_text(sentence) == "\u201Ca\u201D looks at \u201Cb c\u201D: 0.12.");
    const Said parts = words_of(sentence);
    CHECK(parts.queries == std::vector<std::string>{"a"});
    CHECK(parts.keys == std::vector<std::string>{"b c"});
    CHECK(parts.numbers == std::vector<std::string>{"0.12"});
    CHECK(words_of(number_word(-2.0, "{:+.1f}")).numbers == std::vector<std::string>{"\u22122.0"});
    CHECK(words_of(percent_word(0.5)).numbers == std::vector<std::string>{"50.0 %"});
  }

  TEST_CASE("a query looks mostly at a key that has half of its attention, and else most at the largest") {
    const std::vector<float> sharp = {0.1F, 0.83F, 0.07F}, flat = {0.3F, 0.3F, 0.4F};
    const auto name = [](std::uint32_t key) { return key_word(std::string(1, static_cast<char>('a' + key))); };
    const auto look = [&](const std::vector<float>& row, std::optional<std::uint32_t> key, bool has_axes = true) {
      return plain_text(look_sentence(query_word("q"), row, key, name, has_axes));
    };
    CHECK(look(sharp, {}) == "\u201Cq\u201D (row) looks mostly at \u201Cb\u201D (column): 0.83.");
    CHECK(look(sharp, 1, false) == "\u201Cq\u201D looks mostly at \u201Cb\u201D: 0.83.");
    CHECK(look(sharp, 2) == "\u201Cq\u201D (row) looks at \u201Cc\u201D (column): 0.07, mostly at \u201Cb\u201D: 0.83.");
    CHECK(look(flat, 0) == "\u201Cq\u201D (row) looks at \u201Ca\u201D (column): 0.30, most at \u201Cc\u201D: 0.40.");
  }

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
  TEST_CASE("the head's sentence has its map's tokens and numbers: playground, notebook, model, capture, two stacks") {
    {
      UiDriver ui(with_text("the cat saw the dog\nand so on\nthe cat saw the dog and the dog saw the cat"));
      CHECK(ui.result().shapes.begin()->second.batch == 3);
      for (const std::uint32_t line : {0U, 1U, 2U}) {
        CAPTURE(line);
        if (line > 0) ui.press(Key::PageDown);
        REQUIRE(ui.state().selection.batch == line);
        check_map(ui);
      }
      ui.press(Key::P);  // tokens may look at padding then
      check_map(ui);
    }
    {
      State state;
      select_preset(state, "notebook-003");
      UiDriver ui(state);
      check_map(ui);
    }
    for (const char* model : {"gpt2", "marian", "bert"}) {
      CAPTURE(model);
      UiDriver ui(with_text("the cats sat on the mat"));
      show_golden_model(ui, model);
      check_map(ui);
      if (std::string(model) != "marian") continue;
      CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    }
    {
      UiDriver ui;
      ui.window().open_files({std::string(HEADLIGHT_GOLDEN_DIR) + "/captures/self.safetensors"});
      ui.settle();
      REQUIRE(ui.result().capture);
      check_map(ui);
    }
  }

  TEST_CASE("other stages' numbers, means, grouped words and changes are said beside the weights") {
    UiDriver ui(of_captions(kTwice), open_gpu_runner);
    ui.click_cell(9, 4);
    const auto value_at = [&](QuantityId id, std::uint32_t row, std::uint32_t column) -> std::optional<float> {
      for (const auto& [query, known] : ui.result().tiles) {
        const bool is_there = quantity(id).scope != Scope::Head || query.block == ui.state().selection.block;
        const bool covers = query.quantity == id && is_there && query.is_exact() && query.row <= row &&
                            row < query.row + query.rows && query.column <= column &&
                            column < query.column + query.columns &&
                            query.head == (quantity(id).scope == Scope::Head ? ui.state().selection.head : 0);
        if (covers && ui.result().is_current(query)) return known.tile->at(row - query.row, column - query.column);
      }
      return std::nullopt;
    };
    ui.click("head.stage.1");
    CAPTURE(text(ui));
    const auto scaled = value_at(attention::Stage::Scaled, 9, 4);
    REQUIRE(scaled);
    const auto signed_number = [](float number) {
      return fmt::format("{}{:.2f}", number < 0.0F ? "\u2212" : "+", std::abs(number));
    };
    CHECK(text(ui).find(fmt::format("scaled score: {}.", signed_number(*scaled))) != std::string::npos);
    ui.click("head.stage.3");
    ui.click("head.mean");
    ui.click("head.mean.layer");
    const auto mean = value_at(kMeanOfLayer, 9, 4);
    REQUIRE(mean);
    CHECK(said(ui).numbers.front() == fmt::format("{:.2f}", *mean));
    CHECK(text(ui).find("This head") == std::string::npos);
    ui.click("head.mean");
    ui.click("head.mean.none");
    // Words in place of tokens.
    ui.click("head.shown");
    ui.click("head.shown.groups_words");
    CHECK(said(ui).queries.size() == 1);
    CHECK(said(ui).numbers.size() >= 1);
    ui.click("head.shown");
    ui.click("head.shown.groups_words");
    // A comparison: the change is that of the two runs.
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.press(Key::K);  // the selected head's own weights don't change; a later head's do
    ui.settle();
    ui.click("grid.encoder.2.1");
    ui.click_cell(9, 4);
    const auto change = value_at(difference_of(attention::Stage::Weights), 9, 4);
    REQUIRE(change);
    CAPTURE(text(ui));
    CHECK(text(ui).find(fmt::format("now \u2212 baseline: {}.", signed_number(*change))) != std::string::npos);
  }

  TEST_CASE("a role is said of a trained head with its number, and of none of random weights") {
    {
      UiDriver ui(of_captions(kTwice), open_gpu_runner);
      ui.click("grid.encoder.0.5");
      const auto* metrics = ui.result().analysed(HeadMetricsQuestion{})->as<HeadMetricsFound>();
      REQUIRE(metrics);
      const double previous = *metrics->find({{.layer = {0}}, 5})->value(evaluation::HeadMetric::PreviousToken);
      CAPTURE(text(ui));
      CHECK(text(ui).ends_with(fmt::format(" This head looks at the previous token: {:.2f} on average.", previous)));
    }
    {
      UiDriver random(with_text("the cat saw the dog and the dog saw the cat"));
      for (std::uint32_t layer = 0; layer < 2; ++layer) {
        for (std::uint32_t head = 0; head < 4; ++head) {
          random.click(fmt::format("grid.encoder.{}.{}", layer, head));
          CHECK(text(random).find("This head") == std::string::npos);
        }
      }
    }
    State of_notebook;
    select_preset(of_notebook, "notebook-001");  // its first head's evenness is 0.99
    UiDriver notebook(of_notebook);
    const std::string properties = text_on_screen(notebook.rect("properties"));
    CHECK(properties.find("evenness") != std::string::npos);
    CHECK(properties.find("It spreads") == std::string::npos);
  }

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

  TEST_CASE("side by side says both weights of a cell, and Text and Lines what they shade and draw") {
    UiDriver ui(of_captions(kTwice), open_gpu_runner);
    ui.click_cell(9, 4);
    const float weight = weights(ui).at(9, 4);
    ui.ui().feed(shell::MouseMove{{1.0F, 1.0F}});  // what is under the pointer comes before what is chosen
    ui.show("side_by_side");
    ui.settle();
    CAPTURE(text(ui));
    REQUIRE(said(ui).numbers.size() == 2);
    CHECK(said(ui).numbers[0] == fmt::format("{:.2f}", weight));
    ui.show("lines");
    ui.settle();
    CHECK(said(ui).numbers[0] == fmt::format("{:.2f}", weight));
    ui.show("text");
    ui.settle();
    CHECK(said(ui).queries.size() == 1);
    ui.click("view.text_side.1");
    CHECK(text(ui).find("is looked at most by") != std::string::npos);
    REQUIRE(said(ui).keys.size() == 1);
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
    CHECK(text(ui).find("Over ") == 0);
  }

  TEST_CASE("a text unlike what a bundled model has read is called so by its surprise alone") {
    UiDriver ui(of_captions("A dog runs through the grass."), open_gpu_runner);
    ui.press(Key::C);  // the model's own mask
    const auto is_called_so = [&] {
      ui.click("chip.text");
      ui.settle();
      const bool is_said = ui.sees("text.misfit");
      ui.click("chip.text");
      return is_said;
    };
    CHECK_FALSE(is_called_so());  // 1.8 nats a token
    ui.fill_in("text.edit", "Parliament votes on the budget");
    CHECK(is_called_so());  // 5.2
    ui.fill_in("text.edit", "An old man reads a newspaper on a bench in the park.");
    CHECK_FALSE(is_called_so());  // 2.3
  }

  TEST_CASE("help opens on words, which are searched") {
    UiDriver ui;
    ui.press(Key::F1);
    CHECK(ui.sees("help.word.sink"));
    ui.fill_in("help.search", "natural");
    CHECK(ui.sees("help.word.nat"));
    CHECK_FALSE(ui.sees("help.word.sink"));
  }
}

}  // namespace viewer_sentence_test
