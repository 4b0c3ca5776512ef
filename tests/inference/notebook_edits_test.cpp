// Notebooks with a user's changes, and the PyTorch programs that print what is computed of them. HEADLIGHT_UPDATE_GOLDEN=1
// writes the programs in tests/golden/snippets anew; tests/golden/README.md says how they were checked with PyTorch.
#include "inference/notebook_edits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/file.h"
#include "inference/notebooks.h"
#include "inference/reference_run.h"
#include "inference/torch_snippet.h"
#include "model/torch_random.h"
#include "support/visibility.h"

namespace notebook_edits_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

NotebookMatrix matrix_of(std::string_view preset, std::string_view name, const NotebookEdits& edits = {}) {
  const Notebook notebook = make_notebook(preset, edits);
  for (NotebookMatrix& matrix : notebook_matrices(*notebook.network, notebook.input)) {
    if (matrix.name == name) return std::move(matrix);
  }
  throw Error("no {} in {}", name, preset);
}

/// Returns the reason why the notebook can't be made with these; "made" where it can.
std::string refusal_of(std::string_view preset, const NotebookEdits& edits) {
  try {
    make_notebook(preset, edits);
  } catch (const Error& error) {
    return error.what();
  }
  return "made";
}

std::string refusal_of(std::string_view preset, std::string_view name, std::string_view text) {
  NotebookEdits edits;
  try {
    set_by_name(edits, preset, name, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

std::string snippet_of(std::string_view preset, const NotebookEdits& edits = {}) {
  const Notebook notebook = make_notebook(preset, edits);
  return torch_snippet(std::string(notebook_preset(preset).title), fmt::format("{}", fmt::join(words_of(edits), ", ")),
                       *notebook.network, notebook.input, notebook.masks);
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("a typed cell changes what is computed, and the words name it") {
  NotebookEdits edits;
  set_by_name(edits, "notebook-003", "v[2,1]", "5");
  CHECK(words_of(edits) == std::vector<std::string>{"V[2,1] typed"});
  const Notebook own = make_notebook("notebook-003"), edited = make_notebook("notebook-003", edits);
  CHECK(edited.input.qkv->value.at({0, 0, 2, 1}) == 5.0F);
  CHECK(own.input.qkv->value.at({0, 0, 2, 1}) != 5.0F);
  // Causal: rows before the token don't change, the token's own row by weight · (5 − v).
  const auto run = [](const Notebook& notebook) {
    return model::reference::run(*notebook.network, notebook.input, test::visibility(notebook.masks, notebook.input),
                                 static_cast<double>(attention::fill_value(notebook.masks.by_kind[0].fill)));
  };
  const model::reference::Run before = run(own), after = run(edited);
  const auto& old_rows = before.stages[0][attention::Stage::Merged].values;
  const auto& new_rows = after.stages[0][attention::Stage::Merged].values;
  CHECK(std::equal(old_rows.begin(), old_rows.begin() + 8, new_rows.begin()));
  const double weight = before.stages[0][attention::Stage::Weights].values[2 * 6 + 2];
  const double change = 5.0 - double{own.input.qkv->value.at({0, 0, 2, 1})};
  CHECK(new_rows[2 * 4 + 1] - old_rows[2 * 4 + 1] == doctest::Approx(weight * change).epsilon(1e-9));
  // The notebook's own number is no change.
  set_by_name(edits, "notebook-003", "v[2,1]", fmt::format("{}", own.input.qkv->value.at({0, 0, 2, 1})));
  CHECK(edits.is_empty());
}

TEST_CASE("matrices of every preset can be pasted") {
  for (const std::string_view name : notebook_names()) {
    CAPTURE(name);
    if (name == "notebook-003-fused-512") continue;  // more numbers than an edit takes
    const Notebook own = make_notebook(name);
    NotebookEdits edits;
    std::size_t count = 0;
    for (const NotebookMatrix& matrix : notebook_matrices(*own.network, own.input)) {
      std::vector<float> values = matrix.tensor.values;
      for (float& value : values) value += 1.0F;
      set_matrix(edits, matrix, values);
      ++count;
    }
    CHECK(edits.matrices.size() == count);
    const Notebook edited = make_notebook(name, edits);
    CHECK_NOTHROW(check(*edited.network, edited.input));
    const std::vector<NotebookMatrix> before = notebook_matrices(*own.network, own.input);
    const std::vector<NotebookMatrix> after = notebook_matrices(*edited.network, edited.input);
    for (std::size_t i = 0; i < count; ++i) CHECK(after[i].tensor.values[0] == before[i].tensor.values[0] + 1.0F);
  }
  NotebookEdits edits;
  set_by_name(edits, "notebook-004", "w_q", "tensor([[1., 2.], [3., 4.], [5., 6.]])");
  CHECK(words_of(edits) == std::vector<std::string>{"W_Q pasted"});
  CHECK(matrix_title("decoder.1.cross.b_o") == "decoder.1.cross b_O");
}

TEST_CASE("a recipe with other values draws what PyTorch draws") {
  model::TorchRandom random(7);
  const model::Linear query = random.linear(12, 12);
  const Notebook notebook = make_notebook("notebook-001", {.recipe = {.d_model = 12, .heads = 3, .seed = 7}});
  const model::AttentionLayer& layer = notebook.network->layers->encoder[0];
  CHECK(layer.weights->query.weight == query.weight);
  CHECK(layer.config.heads == 3);
  CHECK(layer.config.d_k == 4);
  const Notebook sentence = make_notebook("notebook-004-heads", {.recipe = {.sentence = "a b a c d", .heads = 5, .d_k = 2}});
  CHECK(sentence.input.source.texts[0] == std::vector<std::string>{"a", "b", "a", "c", "d"});
  CHECK(sentence.network->layers->encoder[0].config.heads == 5);
  CHECK(words_of({.recipe = {.sentence = "x", .heads = 5, .seed = 7}}) ==
        std::vector<std::string>{"sentence typed", "5 heads", "seed 7"});
  for (const std::string_view name : notebook_names())
    CHECK(refusal_of(name, {.recipe = notebook_preset(name).recipe}) == "made");
}

TEST_CASE("changes that a notebook can't take are refused in one line") {
  CHECK(refusal_of("notebook-001", {.recipe = {.heads = 3}}) == "3 heads don't divide d_model 8");
  CHECK(refusal_of("notebook-001", {.recipe = {.sentence = "a"}}) ==
        "notebook-001: the sentence can't be changed. Its tokens are vectors drawn by torch.randn, not words.");
  CHECK(
      refusal_of("notebook-004", {.recipe = {.heads = 2}}).starts_with("notebook-004: heads can't be changed. It has one"));
  CHECK(refusal_of("notebook-004", {.recipe = {.d_model = 2000}}) == "d_model must be 1 to 1024, not 2000");
  CHECK(refusal_of("notebook-004", {.recipe = {.sentence = " , "}}) != "made");
  CHECK(refusal_of("notebook-003", {.matrices = {{"w_q", {.shape = {2, 2}, .cells = {{0, 1.0F}}}}}}) ==
        "notebook-003 has no matrix 'w_q': choose from q, k, v");
  CHECK(refusal_of("notebook-003", {.matrices = {{"v", {.shape = {2, 2}, .cells = {{0, 1.0F}}}}}}) ==
        "V was typed for the shape [2, 2] and has [6, 4] now: type it again, or go back to the notebook's numbers");
  CHECK(refusal_of("notebook-003", "v[6,0]", "1") ==
        "v[6,0] is no cell of V, which has the shape [6, 4]; indices count from 0");
  CHECK(refusal_of("notebook-003", "v[1]", "1").starts_with("v[1] is no cell of V"));
  CHECK(refusal_of("notebook-003", "v", "[[1, 2], [3, 4]]") == "V has the shape [6, 4], the text [2, 2]");
  CHECK(refusal_of("notebook-003", "v[0,0]", "nan") == "row 0, number 0 (from 0): 'nan' is no number (NaN)");
  CHECK(refusal_of("notebook-003", "z", "1") ==
        "notebook-003 has no 'z': choose from sentence, d_model, heads, d_k, d_v, seed, q, k, v");
  CHECK(refusal_of("notebook-001", "seed", "x") == "seed: expected a whole number, found 'x'");
  CHECK_THROWS_WITH_AS(
      (void)[] {
        NotebookEdits edits;
        const NotebookMatrix own = matrix_of("notebook-003-fused-512", "w_q");
        set_matrix(edits, own, std::vector<float>(own.tensor.values.size(), 2.0F));
      }(),
      "262144 numbers of W_Q differ from the notebook's; at most 16384 numbers can be changed", Error);
}

TEST_CASE("the PyTorch programs of notebooks are those that were checked with PyTorch") {
  struct Snippet {
    std::string_view file, preset;
    NotebookEdits edits;
  };
  NotebookEdits typed;
  set_by_name(typed, "notebook-003", "v[2,1]", "5");
  const std::vector<Snippet> snippets = {{"notebook-000.py", "notebook-000", {}},
                                         {"notebook-003-typed.py", "notebook-003", typed},
                                         {"notebook-004-encoder.py", "notebook-004-encoder", {}},
                                         {"notebook-002-heads.py", "notebook-002", {.recipe = {.d_model = 4, .heads = 2}}}};
  const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN");
  for (const Snippet& snippet : snippets) {
    CAPTURE(snippet.file);
    const std::string text = snippet_of(snippet.preset, snippet.edits);
    const std::filesystem::path path = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "snippets" / snippet.file;
    if (update != nullptr && std::string_view(update) == "1") write_file_atomically(path, text);
    CHECK_MESSAGE(read_file(path) == text, "HEADLIGHT_UPDATE_GOLDEN=1 writes it anew");
  }
  CHECK_THROWS_WITH_AS((void)snippet_of("notebook-003-fused-512"),
                       "its 1053696 numbers are more than a snippet takes (65536); export the weights instead (--stages "
                       "w_q,w_k,w_v,w_o)",
                       Error);
}

TEST_SUITE_END();

}  // namespace notebook_edits_test
