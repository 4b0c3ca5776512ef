#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "inference/golden_run.h"

namespace headlight::test {

/// The table of docs/MODEL_CHECKS.md with the largest differences from transformers of each golden model: the tests that
/// measure them write it with HEADLIGHT_UPDATE_GOLDEN=1 in the environment.
class ErrorTable {
 public:
  /// Reads the document's.
  ErrorTable();

  bool has(const std::string& name) const { return cells_.contains(name); }
  /// The name's three cells of this precision; a model without logits has none there.
  void set(const std::string& name, inference::Precision precision, const GoldenDifference& worst);
  /// Writes the document with this table where the environment asks for it, without rows of models that are gone.
  void write() const;

 private:
  struct Row {
    std::string of_f32 = " | | |", of_f16 = " | | |";
  };

  std::string before_, after_;  ///< of the document, around the rows
  std::map<std::string, Row> cells_;
};

}  // namespace headlight::test
