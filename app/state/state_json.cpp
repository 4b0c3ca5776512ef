#include "app/state/state_json.h"

#include <array>

#include "app/state/field.h"
#include "app/state/json_reader.h"

namespace headlight::app {
namespace {

using nlohmann::json;

/// What earlier versions called a member of a group, or a value of one.
struct FormerName {
  const char *group, *member, *former, *present;
};
constexpr std::array kFormerMembers = {FormerName{"compare", "", "frozen", "baseline"},
                                       FormerName{"patching", "", "into_frozen", "into_baseline"}};
constexpr std::array kFormerValues = {FormerName{"side_by_side", "right", "frozen", "baseline"},
                                      FormerName{"what_if", "ablation", "frozen-mean", "baseline-mean"}};

json with_present_names(json value) {
  const auto group = [&](const char* name) -> json* {
    const auto found = value.is_object() ? value.find(name) : value.end();
    return found != value.end() && found->is_object() ? &*found : nullptr;
  };
  for (const FormerName& name : kFormerMembers) {
    json* object = group(name.group);
    if (object == nullptr || !object->contains(name.former) || object->contains(name.present)) continue;
    (*object)[name.present] = std::move((*object)[name.former]);
    object->erase(name.former);
  }
  for (const FormerName& name : kFormerValues) {
    json* object = group(name.group);
    if (object != nullptr && object->contains(name.member) && object->at(name.member) == name.former)
      (*object)[name.member] = name.present;
  }
  return value;
}

State read_state(const json& stored) {
  const json value = with_present_names(stored);
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
