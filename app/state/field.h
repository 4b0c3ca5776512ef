#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/state/state.h"

namespace headlight::app {

class JsonReader;

/// A change of the state that a flag of the command line makes.
using StateEdit = std::function<void(State&)>;

/// A field's flag on the command line.
struct FieldFlag {
  std::string name = {};        ///< "--d-model"; empty: the field has none
  std::string value_name = {};  ///< "N", "on|off", "dark|light"; empty: the flag takes no value
  std::string help = {};        ///< with limits and default, where they say something
  /// Reads what was typed after the flag, which is called `flag` there. Throws UsageError.
  std::function<StateEdit(const std::string& flag, const std::string& text)> parse = {};
};

/// A setting of the State: all that files, the history and the command line know about it. A new setting that needs no code
/// of its own is a member of State and a line in state_fields.cpp, or in view_fields.cpp where it is a view's.
struct Field {
  std::string group = {};      ///< the object in files that it is a member of: "playground"; empty: the state itself
  std::string key = {};        ///< its name there: "d_model"
  std::string label = {};      ///< what the history calls a change of it: "Change d_model"
  bool is_continuous = false;  ///< Change::is_continuous
  bool changes_pass = false;   ///< AnySetting::changes_pass
  FieldFlag flag = {};

  std::function<nlohmann::json(const State& state)> write = {};
  /// Reads the member `key` of `object`, if it is there. Throws Error naming the key and what was expected.
  std::function<void(const JsonReader& object, const char* key, State& state)> read = {};
  std::function<bool(const State& a, const State& b)> is_same = {};
  /// Names a change instead of `label`, where the name depends on the values. Called when they differ.
  std::function<Change(const State& before, const State& after)> describe = {};
};

/// Returns all fields. The first one that differs names the change.
std::span<const Field> state_fields();

}  // namespace headlight::app
