// Every number that the five notebooks print (assets/notebooks) beside what the device computes:
// docs/NOTEBOOKS.md and a page for each notebook are written from it with HEADLIGHT_UPDATE_GOLDEN=1; the test fails where
// they say something else.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "inference/notebook_numbers.h"
#include "inference/notebooks.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace printed_numbers_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;

namespace {

constexpr std::size_t kNumbersOfLine = 8;  // of the page; a printed row that is longer is one line

/// Headlight's numbers of the cells; each preset runs once for the cells that follow each other.
class Ours {
 public:
  explicit Ours(gpu::Context& context) : session_(context) {}

  NotebookNumbers find(const NotebookCell& cell, const NotebookPart& part) {
    show(cell);
    const NotebookPass pass{.network = *notebook_.network,
                            .input = notebook_.input,
                            .masks = notebook_.masks,
                            .seed = notebook_preset(cell.preset).recipe.seed.value_or(0),
                            .stage = [&](model::BlockRef block, Stage stage) { return session_.stage(block, stage); },
                            .visible = [&](model::BlockRef block) { return visible(block); }};
    return numbers_of(pass, part);
  }

 private:
  void show(const NotebookCell& cell) {
    if (cell.preset == shown_ && cell.edits == edits_) return;
    shown_ = cell.preset;
    edits_ = cell.edits;
    notebook_ = make_notebook(shown_, edits_);
    session_.run(notebook_.network, notebook_.input, notebook_.masks);
  }

  /// [batch, head, query, key]: 1 where the mask shows the cell.
  Tensor visible(model::BlockRef block) const {
    const BlockShape shape = session_.shape(block);
    Tensor result({shape.batch, shape.heads, shape.queries, shape.keys});
    auto cell = result.values.begin();
    for (std::uint32_t map = 0; map < shape.batch * shape.heads; ++map) {
      const attention::TileRequest request{.block = block,
                                           .batch = map / shape.heads,
                                           .head = map % shape.heads,
                                           .stage = Stage::Weights,
                                           .rows = shape.queries,
                                           .columns = shape.keys};
      const attention::Tile tile = session_.evaluate({&request, 1})[0];
      cell = std::ranges::transform(tile.masked, cell, [](std::uint8_t masked) { return masked != 0 ? 0.0f : 1.0f; }).out;
    }
    return result;
  }

  test::RunningSession session_;
  std::string shown_;
  NotebookEdits edits_;
  Notebook notebook_;
};

constexpr std::string_view kBegin = R"(# The notebooks' numbers

Headlight reproduces five published notebooks, and every number that their cells print.

- **Open a notebook**: `headlight view --preset notebook-000`; all [presets](PLAYGROUND.md#presets), and how to change one.
- **Compare a number**: a page for each notebook, in the table below, lists what its cells print beside what a device computes.
- **Which numbers are missing?** [What is not listed](#what-is-not-listed), with the reason.

The pages are made by `tests/inference/printed_numbers_gpu_test.cpp` from `assets/notebooks`, whose numbers
`tools/make_notebook_golden.py` reads from the notebooks; the view [Notebook](VIEWS.md#notebook) shows the same cells. The test fails where a
number differs by more than half of the last printed digit and 2e-6 (of notebook 003: 1e-8), or where a page says something else. Our numbers have two digits more than
the printed ones.

Notebook 000 never sets a seed, so torch seeded itself, with 32 bits. All 2³² seeds were tried (`tools/find_torch_seed.cpp`): one
draws the input that cell 6 prints, 3133213777, and one that of cell 31, 3130316345, which was printed in another session. Everything after these inputs follows
from the seed, so nothing of notebook 000 is taken from its output.

| notebook | numbers | rows | largest difference in units of the last printed digit |
|---|---|---|---|
)";

/// The page of one notebook, before the rows of its table.
constexpr std::string_view kNotebook = R"(# Notebook {0}

Every number that the cells of notebook {0} print, beside what a device computes in the preset that is named.

- **Open it**: `headlight view --preset notebook-{0}`, or another preset of the table.
- **How the numbers are compared, and which are missing**: [NOTEBOOKS](NOTEBOOKS.md).
- **Change it, or copy it as PyTorch**: [Presets](PLAYGROUND.md#presets).

| cell | what | preset | printed | ours | largest difference |
|---|---|---|---|---|---|
)";

constexpr std::string_view kEnd = R"(
## What is not listed

| notebook | what | why |
|---|---|---|
| 000 | `Linear(in_features=8, …)`, `MultiHeadedAttention(…)`, `Dropout(p=0.1)` | a module's print repeats its arguments |
| 000, 001, 004 | numbers after the place at which a printed tensor is cut off | they are not in the notebook's text |
| 001 | `<torch._C.Generator object at 0x…>` | the address of an object |
| 002 | bytes and seconds of three downloads | nothing is computed; no other cell of it prints a number |
| 003 | Q, K, V (cell 28) are listed, but are inputs | numpy drew them without a seed, from more random bits than can be tried |
| 004 | `torch version: 2.5.1`, `Linear(in_features=2, …)` | a version; a module's print |

Rows "by hand" are products that a cell computes in Python from numbers that it had printed before, rounded to four decimals; ours are
made from our numbers, rounded so. Notebook 003 computes in float64 from Q, K and V that are given: its numbers are computed in double
precision from the same. Cells 28 to 30 of notebook 001 print sizes alone, which are compared with those of its preset at d_model 16.
)";

/// The pages of docs/: NOTEBOOKS.md, and one for each notebook.
class Pages {
 public:
  void add(const std::string& file, const NotebookCell& cell, const std::string& name, const std::string& printed,
           const std::string& ours, double off, std::size_t numbers, double digits) {
    Section& notebook = notebooks_[file];
    notebook.numbers += numbers;
    ++notebook.rows;
    notebook.digits = std::max(notebook.digits, digits);
    notebook.text += fmt::format("| {} | {} | `{}` | `{}` | `{}` | {} |\n", std::stoi(cell.id), name, cell.preset, printed,
                                 ours, off == 0.0 ? "0" : fmt::format("{:.1e}", off));
  }

  /// Their texts by file name.
  std::map<std::string, std::string> texts() const {
    std::map<std::string, std::string> texts;
    std::string index(kBegin);
    for (const auto& [file, notebook] : notebooks_) {
      index += fmt::format("| [{0}](NOTEBOOK_{0}.md) | {1} | {2} | {3:.0f} |\n", file, notebook.numbers, notebook.rows,
                           notebook.digits);
      texts[fmt::format("NOTEBOOK_{}.md", file)] = fmt::format(kNotebook, file) + notebook.text;
    }
    texts["NOTEBOOKS.md"] = index + std::string(kEnd);
    return texts;
  }

 private:
  struct Section {
    std::size_t numbers = 0, rows = 0;
    double digits = 0.0;  ///< the largest number of units that one is off
    std::string text;
  };
  std::map<std::string, Section> notebooks_;
};

/// Are both the same but for the last digits of decimal numbers, which devices round differently?
bool is_same_page(const std::string& a, const std::string& b) {
  static const std::regex kNumber(R"(-?\d+(?:\.\d+)?(?:e[+-]\d+)?)");
  const auto without = [](const std::string& text) { return std::regex_replace(text, kNumber, "#"); };
  if (without(a) != without(b)) return false;
  std::sregex_iterator left(a.begin(), a.end(), kNumber), right(b.begin(), b.end(), kNumber);
  for (; left != std::sregex_iterator(); ++left, ++right) {
    const bool is_integer = left->str().find_first_of(".e") == std::string::npos;
    if (is_integer && left->str() != right->str()) return false;
    const double one = std::stod(left->str()), other = std::stod(right->str());
    if (std::abs(one - other) > 2e-6 + 1e-6 * std::abs(one)) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "every number that the notebooks print is the device's, and docs/NOTEBOOK_*.md list it") {
    Ours ours(context);
    Pages pages;
    std::size_t compared = 0;
    for (const NotebookPage& page : notebook_pages()) {
      for (const NotebookCell& cell : page.cells) {
        CAPTURE(page.name);
        CAPTURE(cell.id);
        for (const NotebookPart& part : cell.parts) {
          CAPTURE(part.name);
          const NotebookNumbers numbers = ours.find(cell, part);
          if (part.printed.empty()) continue;
          REQUIRE(part.printed.size() <= numbers.values.size());
          const std::size_t rows = std::max<std::size_t>(kNumbersOfLine / numbers.row, 1), length = numbers.row * rows;
          for (std::size_t first = 0; first < part.printed.size(); first += length) {
            std::vector<std::string> theirs, mine;
            double largest = 0.0, digits = 0.0;
            for (std::size_t i = first; i < std::min(first + length, part.printed.size()); ++i) {
              const PrintedNumber& printed = part.printed[i];
              const double value = numbers.values[i], units = printed.digits_off(value);
              CHECK_MESSAGE(printed.is_equal(value), printed.text, " ", value);
              const double off = value == printed.value ? 0.0 : std::abs(value - printed.value);
              const double half = printed.text.find('.') == std::string::npos ? 0.0 : 0.5 * printed.digit;
              CHECK(off <= half + (page.name == "003" ? 1e-8 : 2e-6));  // observed beyond the digit: 4.1e-9, in notebook 003
              largest = std::max(largest, off);
              digits = std::max(digits, units);
              theirs.push_back(printed.text);
              mine.push_back(printed.beside(value));
              ++compared;
            }
            const std::size_t from = first / numbers.row, to = (first + theirs.size() - 1) / numbers.row;
            std::string place = part.is_size ? "size of " + part.stage : part.name;
            if (part.printed.size() > length)
              place += from == to ? fmt::format(", row {}", from) : fmt::format(", rows {} to {}", from, to);
            pages.add(page.name, cell, place, fmt::format("{}", fmt::join(theirs, " ")),
                      fmt::format("{}", fmt::join(mine, " ")), largest, theirs.size(), digits);
          }
        }
      }
    }
    CHECK(compared == 2349);  // 2,345 in tensors and sizes, 4 times is_contiguous()
    const std::filesystem::path folder = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "../../docs";
    const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN");
    for (const auto& page : pages.texts()) {
      const std::string name = page.first, text = page.second;
      CAPTURE(name);
      if (update != nullptr && std::string_view(update) == "1") write_file_atomically(folder / name, text);
      CHECK_MESSAGE(is_same_page(text, read_file(folder / name, std::size_t{1} << 22)),
                    "this page says something else; HEADLIGHT_UPDATE_GOLDEN=1 writes it anew");
    }
  }
}

}  // namespace printed_numbers_gpu_test
