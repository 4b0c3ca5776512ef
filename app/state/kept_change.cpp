#include "app/state/kept_change.h"

#include "app/state/field_values.h"
#include "app/state/json_reader.h"
#include "app/state/mask_json.h"
#include "app/state/state_names.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::uint32_t kLastIndex = 1U << 24;
constexpr std::size_t kMaxNumbers = std::size_t{1} << 24;  // of all changes of a file

enum class Kind : std::uint8_t { Add, Replace, Average, Pattern };
constexpr std::array<EnumName<Kind>, 4> kOperations = {
    {{Kind::Add, "add"}, {Kind::Replace, "replace"}, {Kind::Average, "average"}, {Kind::Pattern, "pattern"}}};
constexpr std::array<EnumName<model::Site>, 8> kSites = {{{model::Site::Residual, "residual"},
                                                          {model::Site::AttentionOutput, "attention"},
                                                          {model::Site::FeedForward, "feed-forward"},
                                                          {model::Site::HeadOutput, "head"},
                                                          {model::Site::Query, "queries"},
                                                          {model::Site::Key, "keys"},
                                                          {model::Site::Value, "values"},
                                                          {model::Site::Weights, "weights"}}};

std::vector<float> read_numbers(const JsonReader& reader) {
  std::vector<float> numbers;
  const json* found = reader.find("numbers");
  if (!found) throw Error("{}: expected a list of numbers, found none", reader.path("numbers"));
  if (!found->is_array() || found->empty() || found->size() > kMaxNumbers)
    reader.fail("numbers", "a list of numbers", *found);
  numbers.reserve(found->size());
  for (const json& number : *found) {
    if (!number.is_number() || !std::isfinite(number.get<float>())) reader.fail("numbers", "finite numbers", number);
    numbers.push_back(number.get<float>());
  }
  return numbers;
}

KeptChange read_change(const JsonReader& reader) {
  KeptChange change;
  inference::Intervention one{.site = model::Site::Residual, .scope = {}, .operation = {}};
  model::BlockRef block;
  std::uint32_t head = 0;
  Kind kind = Kind::Add;
  reader.read("name", change.name);
  reader.read_enum("operation", kind, kOperations);
  reader.read_enum("site", one.site, kSites);
  reader.read_enum("kind", block.kind, kKinds);
  reader.read("layer", block.layer.value, 0U, kLastIndex);
  reader.read("head", head, 0U, kLastIndex);
  reader.read("strength", change.strength, -kMaxStrength, kMaxStrength);
  one.scope = inference::scope_of(block, head);
  if (kind == Kind::Pattern) {
    std::size_t left = kMaxPaintedNumbers;
    const json* weights = reader.find("weights");
    if (!weights) throw Error("{}: expected the weights of a pattern, found none", reader.path("weights"));
    one.operation = inference::ReplacePattern{
        {attention::FixedPattern::Painted,
         numbers_from_json(*weights, reader.path("weights"), 0.0F, attention::kMaxPatternWeight, left)}};
  } else if (kind == Kind::Average) {
    one.operation = inference::Average{};
  } else if (kind == Kind::Add) {
    one.operation = inference::Add{read_numbers(reader)};
  } else {
    inference::Replace replace;
    reader.read("item", replace.item, 0U, kLastIndex);
    reader.read("first", replace.first, 0U, kLastIndex);
    replace.rows = read_numbers(reader);
    one.operation = std::move(replace);
  }
  change.intervention = std::move(one);
  return change;
}

}  // namespace

inference::Intervention intervention_of(const KeptChange& change) {
  inference::Intervention one = *change.intervention;
  if (auto* add = std::get_if<inference::Add>(&one.operation)) {
    for (float& number : add->vector) number *= change.strength;
  }
  return one;
}

json write_changes(const KeptChanges& changes) {
  json list = json::array();
  for (const KeptChange& change : changes) {
    const inference::Intervention& one = *change.intervention;
    const auto* replace = std::get_if<inference::Replace>(&one.operation);
    const auto* add = std::get_if<inference::Add>(&one.operation);
    const auto* pattern = std::get_if<inference::ReplacePattern>(&one.operation);
    json about = {{"name", change.name},
                  {"operation", replace   ? "replace"
                                : add     ? "add"
                                : pattern ? "pattern"
                                          : "average"},
                  {"site", enum_name(kSites, one.site)},
                  {"kind", enum_name(kKinds, *one.scope.kind)},
                  {"layer", *one.scope.layer},
                  {"head", *one.scope.head},
                  {"strength", change.strength}};
    if (replace) {
      about["item"] = replace->item;
      about["first"] = replace->first;
    }
    if (replace || add) about["numbers"] = replace ? replace->rows : add->vector;
    if (pattern) about["weights"] = numbers_to_json(pattern->pattern.weights);
    list.push_back(std::move(about));
  }
  return list;
}

void read_changes(const JsonReader& object, const char* key, KeptChanges& value) {
  const json* found = object.find(key);
  if (!found) return;
  if (!found->is_array() || found->size() > kMaxKeptChanges) {
    object.fail(key, fmt::format("a list of at most {} changes", kMaxKeptChanges), *found);
  }
  KeptChanges changes;
  for (const json& change : *found) changes.push_back(read_change(JsonReader(change, object.path(key))));
  value = std::move(changes);
}

}  // namespace headlight::app
