// A notebook's cells as data: printed numbers, and the order in which a part has a stage's numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "inference/notebook_numbers.h"
#include "inference/notebooks.h"

namespace notebook_cells_test {

using namespace headlight;
using namespace headlight::inference;

TEST_SUITE("cpu") {
  TEST_CASE("a printed number knows by how many units of its last digit another one is off") {
    const PrintedNumber four("0.5133");
    CHECK(four.digits_off(0.513283) == 0.0);
    CHECK(four.digits_off(0.51341) == 1.0);
    CHECK(four.is_equal(0.51341));
    CHECK(four.digits_off(0.51356) == 3.0);
    CHECK_FALSE(four.is_equal(0.51356));
    CHECK_FALSE(four.is_equal(std::numeric_limits<double>::quiet_NaN()));
    CHECK_FALSE(four.is_equal(-std::numeric_limits<double>::infinity()));
    CHECK(four.beside(0.513283) == "0.513283");
    CHECK(PrintedNumber("0.60758055").digits_off(0.60758054) == 1.0);
    CHECK(PrintedNumber("-1.0000e+09").is_equal(-1e9));
    CHECK_FALSE(PrintedNumber("-1.0000e+09").is_equal(-1.001e9));
    CHECK(PrintedNumber("-1.0000e+09").beside(-1e9) == "-1.0000e+09");
    CHECK(PrintedNumber("-inf").is_equal(-std::numeric_limits<double>::infinity()));
    CHECK_FALSE(PrintedNumber("-inf").is_equal(0.0));
    CHECK(PrintedNumber("1.").beside(1.0) == "1.000000");
    CHECK(PrintedNumber("0.0000").beside(-1e-9) == "0.000000");
    CHECK(PrintedNumber("True").value == 1.0);
    CHECK(PrintedNumber("False").beside(1.0) == "True");
    CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "\u2013");
    CHECK(number_text(84.0) == "84");
  }

  TEST_CASE("every cell has words, an id of its own, and a preset that its notebook has") {
    std::size_t printed = 0;
    CHECK(notebook_pages().size() == 5);
    for (const NotebookPage& page : notebook_pages()) {
      std::set<std::string> ids;
      for (const NotebookCell& cell : page.cells) {
        CAPTURE(page.name);
        CAPTURE(cell.id);
        CHECK(ids.insert(cell.id).second);
        CHECK_FALSE(cell.title.empty());
        CHECK_FALSE(cell.does.empty());
        CHECK(cell.says.ends_with('.'));
        CHECK_FALSE(cell.parts.empty());
        CHECK_NOTHROW((void)make_notebook(cell.preset, cell.edits));
        CHECK((cell.is_printed() || std::isdigit(static_cast<unsigned char>(cell.id[0])) == 0));
        printed += cell.printed_count();
      }
    }
    CHECK(printed == 2349);
    for (const std::string_view name : notebook_names()) {
      const auto is_own = [&](const NotebookCell& cell) { return cell.preset == name && cell.edits.is_empty(); };
      CHECK_MESSAGE(std::ranges::any_of(page_of_preset(name).cells, is_own), name);
    }
  }

  TEST_CASE("a part has a stage's numbers in the order of its axes") {
    const Notebook notebook = make_notebook("notebook-000");
    const NotebookPass pass{.network = *notebook.network,
                            .input = notebook.input,
                            .masks = notebook.masks,
                            .stage = [](model::BlockRef, attention::Stage) {
                              Tensor tensor({2, 2, 3, 4});
                              for (std::size_t i = 0; i < tensor.values.size(); ++i)
                                tensor.values[i] = static_cast<float>(i);
                              return tensor;
                            }};
    NotebookPart part{.name = "q", .stage = "q", .axes = "t h*d", .row = "", .select = {{'b', {1}}}};
    NotebookNumbers numbers = numbers_of(pass, part);
    CHECK(numbers.shape == Shape{3, 8});
    CHECK(std::vector(numbers.values.begin(), numbers.values.begin() + 8) ==
          std::vector<double>{24, 25, 26, 27, 36, 37, 38, 39});
    CHECK(numbers.place(13).at('b') == 1);
    CHECK(numbers.place(13).at('t') == 1);
    CHECK(numbers.place(13).at('h') == 1);
    CHECK(numbers.place(13).at('d') == 1);
    part.axes = "h*t*d";
    part.row = "h*d";
    numbers = numbers_of(pass, part);
    CHECK(numbers.row == 8);
    CHECK(numbers.rows.size() == 3);
    CHECK(numbers.values[7] == 31.0);
    part.is_size = true;
    part.axes = "b h 3*d";
    part.row.clear();
    CHECK(numbers_of(pass, part).values == std::vector<double>{1, 2, 12});
    part.select = {{'b', {2}}};
    CHECK_THROWS_WITH((void)numbers_of(pass, part), "this pass has no index 2 of 2 b");
  }
}

}  // namespace notebook_cells_test
