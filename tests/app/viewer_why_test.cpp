// The view Why here, in the whole window.
#include <doctest/doctest.h>

#include "app/state/why_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/why/why_parts.h"

namespace viewer_why_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const ScoreParts& parts_on(const UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  const attention::Cell cell = ui.state().view.pinned.value();
  const Analysed* answer = ui.result().analysed(
      ScoreQuestion{.head = selection.head_ref(), .batch = selection.batch, .query = cell.query, .key = cell.key});
  REQUIRE(answer);
  REQUIRE(answer->is_done);
  const auto* found = answer->as<ScoreParts>();
  REQUIRE(found);
  return *found;
}

State view_of(const std::string& model) {
  State state;
  select_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model, {});
  state.model().ids.push_back({3, 10, 17, 24, 9, 5});
  state.selection.block.layer = {1};
  state.selection.head = 2;
  state.view.pinned = attention::Cell{.query = 5, .key = 3};
  state.view.tab = "why";
  return state;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a trail is read as it is written, and what is no trail is none") {
    const std::vector<TrailCell> cells = {{{{model::BlockKind::Cross, {1}}, 4}, 17, 9}, {{{}, 5}, 9, 8}};
    CHECK(write_trail(cells) == "2 1 4 17 9 0 0 5 9 8");
    CHECK(read_trail(write_trail(cells)) == cells);
    CHECK(read_trail("").empty());
    CHECK(read_trail("9 1 4 17 9").empty());
    CHECK(read_trail("0 1 4 17").empty());
    CHECK(read_trail("0 1 -4 x").empty());
  }

  TEST_CASE("writers stand together by layer until their heads unfold, and the sums are the whole") {
    using attribution::Writer, attribution::WriterKind;
    const model::BlockRef layer{.layer = {0}};
    ScoreParts found;
    found.queries = {{WriterKind::Token}, {WriterKind::Head, layer, 0}, {WriterKind::Head, layer, 1}, {WriterKind::Bias}};
    found.keys = found.queries;
    for (int i = 0; i < 16; ++i) found.pairs.push_back({.raw = i - 7.0, .mean = 1.0});
    found.others = {{"position bias", {.raw = 2.0, .mean = 1.0}}};
    const std::vector<WriterGroup> folded = groups_of(found.queries, {}), unfolded = groups_of(found.queries, {layer});
    REQUIRE(folded.size() == 3);
    CHECK(folded[1].name == "attn 0");
    CHECK(folded[1].members == std::vector<std::size_t>{1, 2});
    REQUIRE(unfolded.size() == 4);
    CHECK(unfolded[2].name == "L0 H1");
    const Grid grid = why_grid(found, folded, unfolded, true);
    REQUIRE(grid.cells.size() == 4);
    REQUIRE(grid.cells[0].size() == 5);
    CHECK(grid.cells[1][0] == (4 - 7.0) + (8 - 7.0));
    CHECK(grid.cells[3][4] == 8.0);  // Σ 0 … 15 − 16 · 7
    CHECK(why_grid(found, folded, unfolded, false).cells[3][4] == -8.0);
    CHECK(found.sum().value(false) == -7.0);
    const Table pairs = pairs_table(found, true, false);
    CHECK(pairs.rows == 17);
    CHECK(pairs.columns[2].number(0) == 8.0);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("matrix, lists, a head's source tokens, and a trail that is walked and walked back") {
    UiDriver ui(view_of("gpt2"));
    ui.settle();
    for (const char* name : {"why.sum", "why.cell.0.0", "why.query.1", "why.key.2", "why.copy"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    const ScoreParts first = parts_on(ui);
    const std::size_t folded = groups_of(first.queries, {}).size();
    const std::string last = fmt::format("why.cell.{}.0", folded);  // of the sums
    CHECK(ui.sees(last));
    CHECK_FALSE(ui.sees("why.fold"));
    ui.click("why.cell.2.0");  // token, position, the attention of layer 0
    CHECK(ui.sees("why.fold"));
    CHECK(ui.sees(fmt::format("why.cell.{}.0", folded + 6)));
    ui.click("why.cell.0.3");
    CHECK(ui.sees("why.sources"));
    CHECK(ui.sees("why.source.0"));
    ui.wait(2.0);
    ui.click("why.source.0");
    CHECK(ui.state().selection.block.layer.value == 0);
    CHECK(ui.state().selection.head == 1);
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->query == 3);  // the key of before
    CHECK(ui.sees("why.trail.0"));
    CHECK_FALSE(ui.sees("why.trail.1"));
    CHECK(ui.sees("why.cell.0.0"));
    ui.wait(2.0);
    ui.click("why.trail.0");
    CHECK(ui.state().selection.head == 2);
    CHECK(ui.state().view.pinned->query == 5);
    CHECK_FALSE(ui.sees("why.trail.0"));
    ui.click("why.fold");
    CHECK_FALSE(ui.sees("why.fold"));
    ui.click("why.list.1");
    CHECK(ui.state()[kWhyView.list] == WhyList::Writers);
    CHECK(ui.sees("why.writer.row.token"));
    ui.click("why.is_raw.0");
    CHECK(ui.state()[kWhyView.is_raw]);
  }

  TEST_CASE("a head that has no writers is refused in words") {
    UiDriver ui(view_of("olmo"));
    ui.settle();
    CHECK(ui.sees("view.unavailable"));
  }
}

}  // namespace viewer_why_test
