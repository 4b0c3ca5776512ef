// The sentence below the title of views of one map: its tokens and numbers are the map's.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/engine/gpu_runner.h"
#include "app/engine/token_words.h"
#include "app/sentence_words.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/text_on_screen.h"
#include "app/widgets/size_text.h"

namespace viewer_map_sentence_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
using test::kTwice;
using test::of_captions;
using test::said;
using test::Said;
using test::text;
using test::words_of;

namespace {

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
  const auto written = [](float weight) { return fmt::format("{:.3f}", weight); };
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
    CHECK(look(sharp, {}) == "\u201Cq\u201D (row) looks mostly at \u201Cb\u201D (column): 0.830.");
    CHECK(look(sharp, 1, false) == "\u201Cq\u201D looks mostly at \u201Cb\u201D: 0.830.");
    CHECK(look(sharp, 2) == "\u201Cq\u201D (row) looks at \u201Cc\u201D (column): 0.070, mostly at \u201Cb\u201D: 0.830.");
    CHECK(look(flat, 0) == "\u201Cq\u201D (row) looks at \u201Ca\u201D (column): 0.300, most at \u201Cc\u201D: 0.400.");
    const std::vector<std::string> names = {"a", "b", "a"};
    const std::string query = query_word("a") + position_among(&names, 2);
    CHECK(plain_text(look_sentence(query, sharp, {}, name)) ==
          "\u201Ca\u201D (row 2) looks mostly at \u201Cb\u201D (column): 0.830.");
    CHECK(position_among(&names, 1).empty());
    CHECK(position_among(nullptr, 1).empty());
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
    CHECK(said(ui).numbers.front() == fmt::format("{:.3f}", *mean));
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

  TEST_CASE("side by side says both weights of a cell, and Text and Lines what they shade and draw") {
    UiDriver ui(of_captions(kTwice), open_gpu_runner);
    ui.click_cell(9, 4);
    const float weight = weights(ui).at(9, 4);
    ui.ui().feed(shell::MouseMove{{1.0F, 1.0F}});  // what is under the pointer comes before what is chosen
    ui.show("side_by_side");
    ui.settle();
    CAPTURE(text(ui));
    REQUIRE(said(ui).numbers.size() == 2);
    CHECK(said(ui).numbers[0] == fmt::format("{:.3f}", weight));
    ui.show("lines");
    ui.settle();
    CHECK(said(ui).numbers[0] == fmt::format("{:.3f}", weight));
    ui.show("text");
    ui.settle();
    CHECK(said(ui).queries.size() == 1);
    ui.click("view.text_side.1");
    CHECK(text(ui).find("is looked at most by") != std::string::npos);
    REQUIRE(said(ui).keys.size() == 1);
  }
}

}  // namespace viewer_map_sentence_test
