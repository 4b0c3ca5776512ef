// The view Notebook: all printed numbers are in its cells and equal, each cell follows its inputs, and what it offers works.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/state/dropout_settings.h"
#include "app/state/notebook_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "inference/notebook_cells.h"
#include "inference/notebooks.h"

namespace viewer_notebook_test {

using namespace headlight;
using namespace headlight::app;
using inference::NotebookCell;
using inference::NotebookPage;

namespace {

/// A line of the view's CSV.
struct Row {
  std::string cell, place, printed, ours, off;
};

/// The fields of a line, of which some are in quotation marks.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<Row> rows_of(const std::string& csv) {
  std::vector<Row> rows;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  REQUIRE(line == "cell,title,tensor,place,printed,ours,units off");
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    REQUIRE(fields.size() == 7);
    rows.push_back({fields[0], fields[2] + fields[3], fields[4], fields[5], fields[6]});
  }
  return rows;
}

State state_of(const NotebookCell& cell) {
  State state;
  select_preset(state, cell.preset);
  edit_notebook(state, cell.edits);
  state.view.tab = "notebook";
  state.set(kNotebookView.cell, cell.id);
  return state;
}

/// One cell of each recipe of a notebook.
std::vector<const NotebookCell*> recipes_of(const NotebookPage& page) {
  std::vector<const NotebookCell*> first;
  for (const NotebookCell& cell : page.cells) {
    const auto is_same = [&](const NotebookCell* other) {
      return other->preset == cell.preset && other->edits == cell.edits;
    };
    if (std::ranges::none_of(first, is_same)) first.push_back(&cell);
  }
  return first;
}

using Ours = std::map<std::string, std::vector<std::string>>;

/// Our numbers by cell, as a window shows them.
Ours ours_of(const State& state) {
  UiDriver ui(state);
  Ours ours;
  for (const Row& row : rows_of(ui.csv())) ours[row.cell].push_back(row.ours);
  return ours;
}

/// Changes of a notebook's inputs, of which some fit.
std::vector<std::function<void(State&)>> changes_of(const NotebookCell& cell) {
  const inference::NotebookRecipe own = inference::notebook_preset(cell.preset).recipe;
  std::vector<std::function<void(State&)>> changes;
  const auto add = [&](const std::string& name, const std::string& text) {
    changes.push_back([=](State& state) {
      inference::NotebookEdits edits = notebook_edits(state.source);
      set_by_name(edits, cell.preset, name, text);
      edit_notebook(state, edits);
    });
  };
  const bool has_matrices = !cell.edits.matrices.empty();  // which have one size
  if (own.seed && !has_matrices) add("seed", "7");
  if (own.d_model && !has_matrices) add("d_model", std::to_string(*own.d_model > 256 ? 256 : *own.d_model * 4));
  if (own.heads && *own.heads > 1 && !own.d_k && !has_matrices) add("heads", "1");
  if (own.sentence) add("sentence", "one two three four five six seven eight nine");
  if (own.d_v) add("d_v", "5");
  if (own.d_k) add("d_k", "2");
  if (cell.preset == "notebook-003") {
    add("q[2,1]", "0.5");
    add("v[0,0]", "0.5");
  }
  if (has_matrices) {
    for (const char* name : {"x[0,1,2]", "w_v[1,1]", "w_q[1,1]"}) {
      const std::string matrix = std::string(name).substr(0, std::string(name).find('['));
      if (cell.edits.matrices.contains(matrix)) add(name, "0.5");
    }
  }
  changes.push_back([](State& state) {
    for (attention::MaskSpec& mask : state.masks.by_kind) mask.rule.causal = !mask.rule.causal;
  });
  changes.push_back([](State& state) {
    for (attention::MaskSpec& mask : state.masks.by_kind) mask.rule.key_padding = !mask.rule.key_padding;
  });
  changes.push_back([](State& state) { state.settings.set(kDropout.probability, 0.5F); });
  return changes;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the cells of the view have all numbers that the notebooks print, and each is ours") {
    std::size_t printed = 0;
    for (const NotebookPage& page : inference::notebook_pages()) {
      for (const NotebookCell* cell : recipes_of(page)) {
        CAPTURE(page.name);
        CAPTURE(cell->id);
        if (&inference::page_of_preset(cell->preset) != &page) continue;  // opens the other notebook
        UiDriver ui(state_of(*cell));
        REQUIRE(ui.result().error.empty());
        std::size_t here = 0;
        for (const Row& row : rows_of(ui.csv())) {
          if (row.printed.empty()) continue;
          ++here;
          CHECK_MESSAGE((row.off == "0" || row.off == "1"), row.cell, row.place, " ", row.printed, " ", row.ours);
        }
        printed += here;
        if (here > 0) {
          CHECK(text_on_screen(ui.rect("notebook.summary")).find(fmt::format("{0} of {0} printed", here)) == 0);
        }
      }
    }
    CHECK(printed == 2349);  // 2,345 in tensors and sizes, 4 times is_contiguous()
  }

  TEST_CASE("changing an input changes ours in every cell") {
    for (const NotebookPage& page : inference::notebook_pages()) {
      for (const NotebookCell* first : recipes_of(page)) {
        if (&inference::page_of_preset(first->preset) != &page) continue;
        CAPTURE(page.name);
        CAPTURE(first->id);
        const Ours before = ours_of(state_of(*first));
        std::set<std::string> unchanged;
        for (const auto& [cell, numbers] : before) unchanged.insert(cell);
        for (const auto& change : changes_of(*first)) {
          if (unchanged.empty()) break;
          State state = state_of(*first);
          change(state);
          const Ours after = ours_of(state);
          std::erase_if(unchanged,
                        [&](const std::string& cell) { return after.contains(cell) && after.at(cell) != before.at(cell); });
        }
        for (const std::string& cell : unchanged)
          CHECK_MESSAGE(false, page.name, " ", cell, ": nothing changes its numbers");
      }
    }
  }

  TEST_CASE("every notebook is opened from the empty view, and every cell of it") {
    for (const NotebookPage& page : inference::notebook_pages()) {
      CAPTURE(page.name);
      State state;
      state.view.tab = "notebook";
      UiDriver ui(state);
      REQUIRE(ui.sees("notebook.empty"));
      ui.click("notebook.open." + page.name);
      CHECK(ui.state().view.tab == "notebook");
      CHECK(notebook_name(ui.state().source) == page.cells.front().preset);
      for (const NotebookCell& cell : page.cells) {
        if (&inference::page_of_preset(cell.preset) != &page) continue;
        CAPTURE(cell.id);
        ui.press(shell::Key::Home);
        while (ui.state()[kNotebookView.cell] != cell.id) {
          const std::string at = ui.state()[kNotebookView.cell];
          ui.press(shell::Key::Down);
          REQUIRE(ui.state()[kNotebookView.cell] != at);
          if (&inference::page_of_preset(notebook_name(ui.state().source)) != &page) break;
        }
        if (&inference::page_of_preset(notebook_name(ui.state().source)) != &page) break;
        CHECK(notebook_name(ui.state().source) == cell.preset);
        CHECK(notebook_edits(ui.state().source) == cell.edits);
        CHECK(ui.sees("notebook.number.0.0"));
        CHECK_FALSE(ui.sees("notebook.changed"));
        check_tips(ui);
      }
    }
  }

  TEST_CASE("a cell's buttons go to the place of the number in Steps, Neuron and Block") {
    const NotebookPage& page = inference::page_of_preset("notebook-000");
    const auto cell = std::ranges::find(page.cells, "20", &NotebookCell::id);
    for (const std::string view : {"steps", "neuron", "block"}) {
      CAPTURE(view);
      UiDriver ui(state_of(*cell));
      ui.click("notebook.number.0.23");  // batch 1, head 0, query 1, key 2
      ui.click("notebook.in." + view);
      CHECK(ui.state().view.tab == view);
      CHECK(ui.state().selection.batch == 1);
      CHECK(ui.state().selection.head == 0);
      CHECK(ui.state().view.pinned == attention::Cell{.query = 1, .key = 2});
      CHECK(ui.state().opened_matrix == "weights");
    }
  }

  TEST_CASE("a field changes ours, dims what is printed, and one button goes back") {
    UiDriver ui(state_of(inference::page_of_preset("notebook-004").cells[2]));
    ui.resize(1280, 1600);
    const State own = ui.state();
    const std::string before = ui.csv();
    ui.fill_in("notebook.seed", "7");
    CHECK(notebook_edits(ui.state().source).recipe.seed == 7);
    REQUIRE(ui.sees("notebook.changed"));
    CHECK(text_on_screen(ui.rect("notebook.changed")).find("seed 7") != std::string::npos);
    CHECK(text_on_screen(ui.rect("notebook.summary")).find("changed") == 0);
    CHECK(ui.csv() != before);
    ui.click("notebook.back");
    CHECK_FALSE(ui.sees("notebook.changed"));
    CHECK(run_inputs(ui.state()) == run_inputs(own));
    CHECK(ui.csv() == before);
    ui.click("notebook.causal");
    REQUIRE(ui.sees("notebook.changed"));
    CHECK(text_on_screen(ui.rect("notebook.changed")).find("causal on") != std::string::npos);
    ui.click("notebook.back");
    CHECK(run_inputs(ui.state()) == run_inputs(own));
  }

  TEST_CASE("what the notebooks' slips do is in numbers") {
    const auto ours = [](const std::string& preset, const std::string& id) {
      const NotebookPage& page = inference::page_of_preset(preset);
      const auto cell = std::ranges::find(page.cells, id, &NotebookCell::id);
      REQUIRE(cell != page.cells.end());
      return ours_of(state_of(*cell)).at(id);
    };
    CHECK(ours("notebook-000-class", "symmetric").front() == "0");
    const std::vector<std::string> lost = ours("notebook-004", "lost");
    REQUIRE(lost.size() == 3 + 1 + 4);
    CHECK(lost[3].substr(0, 6) == "0.9041");
    CHECK(lost[3] == lost[7]);
    // Without the transpose row 0 has tokens 0 to 3 of one head, rightly merged token 0 of each.
    const std::vector<std::string> leak = ours("notebook-003-fused", "leak");
    CHECK(std::vector(leak.begin(), leak.begin() + 4) == std::vector<std::string>{"0", "1", "2", "3"});
    CHECK(std::vector(leak.begin() + 24, leak.begin() + 28) == std::vector<std::string>{"0", "0", "0", "0"});
    const std::vector<std::string> toy = ours("notebook-000", "toy-2");
    CHECK(std::vector(toy.end() - 9, toy.end()) ==
          std::vector<std::string>{"84", "90", "96", "201", "216", "231", "318", "342", "366"});
    const std::vector<std::string> cut = ours("notebook-000", "toy-1");
    CHECK(std::vector(cut.end() - 12, cut.end()) ==
          std::vector<std::string>{"1", "2", "5", "6", "9", "10", "3", "4", "7", "8", "11", "12"});
    const std::vector<std::string> padding = ours("notebook-002", "padding");
    CHECK(padding == std::vector<std::string>{"6", "0", "36", "0", "4", "2", "36", "20", "0.277777778"});
    CHECK(ours("notebook-002", "root").back() == "4");
  }
}

}  // namespace viewer_notebook_test
