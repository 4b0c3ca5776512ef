#pragma once

#include <vector>

#include "app/cli/flags.h"
#include "app/state/field.h"

namespace headlight::app {

/// Makes what --compare-with names: "trained", the same inputs with the model as it was trained, or a saved session's run.
/// Throws Error where the file can't be read.
StateEdit parse_comparison(const std::string& flag, const std::string& text);

/// Adds the flag of a field, which has a value; what it changes is added to `edits`.
void take_field(const FlagGroup& group, const Field& field, std::vector<StateEdit>& edits);

/// The flags of the window's first view: head, tab, colours. view and screenshot share them.
class StateFlags {
 public:
  void add_to(CLI::App& app);
  /// Changes `state` by the given flags; the rest is unchanged.
  void apply(State& state) const;

 private:
  std::vector<StateEdit> edits_;
};

}  // namespace headlight::app
