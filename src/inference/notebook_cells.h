#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "inference/notebook_edits.h"
#include "model/config.h"

namespace headlight::inference {

/// A number as a notebook prints it; True is 1 and False is 0.
struct PrintedNumber {
  std::string text;
  double value = 0.0;
  double digit = 0.0;  ///< one unit of the last printed digit; of a whole number 1
  int decimals = 0;
  bool has_exponent = false;

  explicit PrintedNumber(std::string printed);
  /// Returns by how many units of the last printed digit a number is off, once it is rounded to that digit.
  double digits_off(double ours) const;
  /// Is the number the printed one, to one unit of its last digit?
  bool is_equal(double ours) const { return digits_off(ours) <= 1.0; }
  /// Writes a number as the notebook would, with two digits more, eight decimals at most and six at least.
  std::string beside(double ours) const;
};
/// Writes a number beside which nothing is printed.
std::string number_text(double value);

/// One tensor of a cell, or its sizes.
struct NotebookPart {
  std::string name;
  std::string stage;  ///< of the pass, or what notebook_numbers.h makes of it
  model::BlockKind block = model::BlockKind::EncoderSelf;
  /// The order of the numbers: "b t h*d" has a token's heads side by side; a whole number repeats.
  std::string axes;
  std::string row;                                         ///< axes of one row, where that isn't the last one; or empty
  std::map<char, std::vector<std::uint32_t>> select = {};  ///< some indices of an axis alone
  bool is_additive = false;                                ///< a mask as 0 where it shows a cell, else −∞
  std::vector<PrintedNumber> printed = {};                 ///< the first ones of the tensor; empty: nothing is printed
  bool is_size = false;                                    ///< the sizes of the axes are printed
  std::vector<std::string> rows = {}, columns = {};        ///< names in place of indices; or empty
};

/// A cell of a notebook, or one of ours that shows what its neighbours leave out.
struct NotebookCell {
  std::string id;      ///< the notebook's number, with "b" for the second one of it; ours have words
  std::string preset;  ///< whose pass has the numbers
  std::string title, does, says;
  NotebookEdits edits = {};  ///< of the preset, for this cell
  std::string fields = {};   ///< "dropout": the cell has these fields beside the preset's own
  std::vector<NotebookPart> parts = {};

  bool is_printed() const;  ///< does the notebook print it?
  std::size_t printed_count() const;
};

struct NotebookPage {
  std::string name;  ///< "000"
  std::string title;
  std::vector<NotebookCell> cells;
};

/// The five notebooks, as assets/notebooks has them.
std::span<const NotebookPage> notebook_pages();
/// Returns the notebook of a preset.
const NotebookPage& page_of_preset(std::string_view preset);

/// A file of assets/notebooks.
struct NotebookFile {
  std::string_view name, text;
};
extern const std::span<const NotebookFile> kNotebookFiles;

}  // namespace headlight::inference
