#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/state/state.h"

namespace headlight::app {

/// The flags of the window's first view: head, tab, colours. view and screenshot share them.
class StateFlags {
 public:
  void add_to(CLI::App& app);
  /// `state` with the given flags applied; the rest is unchanged.
  void apply(State& state) const;

 private:
  std::vector<std::function<void(State&)>> edits_;
};

/// The colour maps that --color-map takes: the sequential ones; signed stages always use the diverging one.
std::vector<std::string> color_map_names();

}  // namespace headlight::app
