#pragma once

#include <limits>
#include <map>
#include <string_view>

#include "core/tensor.h"
#include "model/network.h"

namespace headlight::inference {

struct Notebook;

/// The values that a notebook's numbers are made from. In a notebook they are its own, without those that its recipe
/// doesn't have; in an edit, the ones that the user put in their place.
struct NotebookRecipe {
  std::optional<std::string> sentence = {};
  std::optional<std::uint32_t> d_model = {}, heads = {}, d_k = {}, d_v = {};
  std::optional<std::uint64_t> seed = {};  ///< of torch.manual_seed

  bool operator==(const NotebookRecipe&) const = default;
};

/// Numbers of one matrix that the user put in place of the recipe's.
struct MatrixEdit {
  Shape shape = {};                           ///< of the matrix; another one is refused when the edit is applied
  std::map<std::uint32_t, float> cells = {};  ///< by index, row-major

  bool operator==(const MatrixEdit&) const = default;
};

/// A user's changes of a notebook, as a value.
struct NotebookEdits {
  NotebookRecipe recipe = {};
  std::map<std::string, MatrixEdit> matrices = {};  ///< by NotebookMatrix::name; none is without cells

  bool is_empty() const { return *this == NotebookEdits{}; }
  bool operator==(const NotebookEdits&) const = default;
};

/// A matrix of a notebook that can be edited, with its present numbers. Weights have the shape [out, in], as PyTorch's.
struct NotebookMatrix {
  std::string name;  ///< as --stages names it: "q", "x", "w_q", "b_q", "ffn_in"; of several layers "decoder.1.cross.w_q"
  Tensor tensor;     ///< without leading axes of size 1
};

inline constexpr std::size_t kMaxEditedNumbers = 1U << 14U;  ///< of all matrices of an edit together
inline constexpr std::uint32_t kMaxNotebookWidth = 1'024, kMaxNotebookHeads = 64;
inline constexpr std::size_t kMaxNotebookSentence = 4'096;  ///< bytes

/// Calls use(name, member, smallest, largest) for each number of a recipe.
template <typename Use>
void for_each_number(const Use& use) {
  use("d_model", &NotebookRecipe::d_model, 1U, kMaxNotebookWidth);
  use("heads", &NotebookRecipe::heads, 1U, kMaxNotebookHeads);
  use("d_k", &NotebookRecipe::d_k, 1U, kMaxNotebookWidth);
  use("d_v", &NotebookRecipe::d_v, 1U, kMaxNotebookWidth);
  use("seed", &NotebookRecipe::seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
}

/// All matrices of a notebook's network and input, in the order of the computation.
std::vector<NotebookMatrix> notebook_matrices(const model::Network& network, const model::ModelInput& input);
/// Returns the beginning of the names of a block's weights: "decoder.1.cross."; empty in a network of one layer.
std::string block_prefix(const model::Layers& layers, model::BlockRef block);
/// A cell's name, as set_by_name() takes it: "v[2,1]". `shape`, with leading axes of size 1, and `indices` are of the whole
/// tensor.
std::string cell_name(std::string_view matrix, const Shape& shape, std::span<const std::uint32_t> indices);
/// Puts the edit's cells into network and input. Throws Error in one line where the notebook has no such matrix, or one of
/// another shape.
void apply_matrices(std::string_view name, const std::map<std::string, MatrixEdit>& matrices, Notebook& notebook);
/// Keeps of `values`, which fill `own`, those that differ from it; drops the matrix from the edits where none does.
/// Throws Error in one line where that is more than kMaxEditedNumbers.
void set_matrix(NotebookEdits& edits, const NotebookMatrix& own, std::span<const float> values);
/// The numbers of a text (core/tensor.h) for this matrix. Throws Error in one line: what is wrong with the text, or
/// that it has another shape.
std::vector<float> read_matrix(const NotebookMatrix& own, std::string_view text);
/// Changes one value by name: a matrix ("v") or a cell of it ("v[2,1]") to the numbers of a text, or "sentence", "heads",
/// "d_model", "d_k", "d_v", "seed" to the text. Throws Error in one line.
void set_by_name(NotebookEdits& edits, std::string_view preset, std::string_view name, std::string_view text);
/// Is this set_by_name()'s name of a whole matrix?
bool names_matrix(std::string_view name);
/// "V[2,1] typed", "W_Q pasted", "seed 7": one for each change.
std::vector<std::string> words_of(const NotebookEdits& edits);
/// "W_Q" for "w_q", "decoder.1.cross W_Q" for "decoder.1.cross.w_q".
std::string matrix_title(std::string_view name);

}  // namespace headlight::inference
