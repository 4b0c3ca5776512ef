#include "app/state/state_json.h"

#include "app/state/field.h"
#include "app/state/json_reader.h"

namespace headlight::app {
namespace {

using nlohmann::json;

State read_state(const json& value) {
  const JsonReader whole(value, "");
  State state;
  for (const Field& field : state_fields()) {
    if (field.group.empty()) {
      field.read(whole, field.key.c_str(), state);
    } else if (const json* object = whole.find(field.group.c_str())) {
      field.read(JsonReader(*object, field.group), field.key.c_str(), state);
    }
  }
  return state;
}

}  // namespace

json to_json(const inference::PlaygroundSettings& settings) {
  State state;
  state.playground().settings = settings;
  json value = json::object();
  for (const Field& field : state_fields()) {
    if (field.group == "playground") value[field.key] = field.write(state);
  }
  return value;
}

json to_json(const State& state) {
  json value = json::object();
  for (const Field& field : state_fields()) {
    json& object = field.group.empty() ? value : value[field.group];
    object[field.key] = field.write(state);
  }
  return value;
}

Result<State> state_from_json(const json& value) {
  try {
    return read_state(value);
  } catch (const Error& error) {
    return Failure{error.what()};
  } catch (const json::exception& error) {
    return Failure{one_line(error.what())};
  }
}

}  // namespace headlight::app
