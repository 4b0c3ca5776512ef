#pragma once

#include "app/engine/analyses/analysis.h"
#include "inference/notebook_numbers.h"

namespace headlight::app {

/// Asks for the numbers of a notebook's cells that are of one recipe: those with preset and edits of this cell.
struct NotebookQuestion {
  std::string page;  ///< "004"
  std::string cell;

  auto operator<=>(const NotebookQuestion&) const = default;
};

struct NotebookFound final : AnalysisResult {
  struct Cell {
    std::vector<inference::NotebookNumbers> parts = {};
    std::string error = {};  ///< why the pass has no such numbers; empty: it has
  };
  std::map<std::string, Cell> cells = {};  ///< by id

  const Cell* find(const std::string& id) const {
    const auto found = cells.find(id);
    return found == cells.end() ? nullptr : &found->second;
  }
};

Task<NotebookFound> analyse(NotebookQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
