#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/state/state.h"

namespace headlight::app {

/// The flags that say what the window shows first: head, tab, colours. view and screenshot share them.
class StateFlags {
 public:
  void add_to(CLI::App& app);
  /// `state` with the given flags applied; what wasn't given stays.
  void apply(State& state) const;

 private:
  std::vector<std::function<void(State&)>> edits_;
};

/// The colour maps that --color-map takes: the sequential ones; signed stages have the diverging one of their own accord.
std::vector<std::string> color_map_names();

}  // namespace headlight::app
