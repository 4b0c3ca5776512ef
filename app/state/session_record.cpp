#include "app/state/session_record.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestRecordName = 256;

double difference(float a, float b) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return 0.0;
  const double off = std::abs(double{a} - double{b});
  return std::isfinite(off) ? off : std::numeric_limits<double>::infinity();
}

/// Adds the numbers to the agreement, returns their largest difference.
double compare_numbers(std::span<const float> saved, std::span<const float> computed, RecordAgreement& agreement) {
  double largest = 0.0;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const double off = difference(saved[i], computed[i]);
    ++agreement.numbers;
    if (off == 0.0) ++agreement.equal;
    largest = std::max(largest, off);
  }
  return largest;
}

std::string read_name(const json& value, const char* member) {
  if (!value.contains(member) || !value.at(member).is_string()) throw Error("record.{}: expected a text", member);
  auto name = value.at(member).get<std::string>();
  if (name.size() > kLongestRecordName) throw Error("record.{}: longer than {} bytes", member, kLongestRecordName);
  return name;
}

std::vector<float> read_numbers(const json& value, const char* member) {
  if (!value.contains(member) || !value.at(member).is_array()) throw Error("record.{}: expected a list of numbers", member);
  const json& list = value.at(member);
  if (list.size() > kMaxRecordedNumbers) {
    throw Error("record.{}: {} numbers, but at most {} are read", member, list.size(), kMaxRecordedNumbers);
  }
  std::vector<float> numbers;
  for (const json& number : list) {
    if (!number.is_number() && !number.is_null()) {
      throw Error("record.{}: expected a number, found {}", member, shown(number));
    }
    // JSON has no NaN and no infinity: they are null.
    numbers.push_back(number.is_null() ? std::numeric_limits<float>::quiet_NaN() : number.get<float>());
  }
  return numbers;
}

/// Reads the recorded ids; older files have none.
std::vector<std::uint32_t> read_recorded_ids(const json& value) {
  if (!value.contains("ids")) return {};
  const json& list = value.at("ids");
  if (!list.is_array() || list.size() > kMaxRecordedNumbers) {
    throw Error("record.ids: expected a list of at most {} ids", kMaxRecordedNumbers);
  }
  std::vector<std::uint32_t> ids;
  for (const json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error("record.ids: expected an id, found {}", shown(id));
    }
    ids.push_back(id.get<std::uint32_t>());
  }
  return ids;
}

json list_of(std::span<const float> numbers) {
  json list = json::array();
  for (const float number : numbers) {
    // The shortest decimal that is this float: a double would be written with twice the digits.
    list.push_back(std::isfinite(number) ? parse_json(fmt::format("{}", number)).value() : json(nullptr));
  }
  return list;
}

}  // namespace

RecordAgreement compare(const SessionRecord& saved, const SessionRecord& computed) {
  RecordAgreement agreement;
  agreement.is_same_model = saved.weights_crc == computed.weights_crc;
  agreement.is_same_text = saved.ids.empty() || saved.ids == computed.ids;
  agreement.is_comparable = saved.weights.size() == computed.weights.size() && saved.logits.size() == computed.logits.size();
  if (!agreement.is_comparable) return agreement;
  agreement.weights_off = compare_numbers(saved.weights, computed.weights, agreement);
  const double logits_off = compare_numbers(saved.logits, computed.logits, agreement);
  double largest = 0.0;
  for (const float logit : saved.logits) largest = std::max(largest, double{std::abs(logit)});
  agreement.logits_off = logits_off == 0.0 ? 0.0 : logits_off / std::max(largest, 1e-30);
  return agreement;
}

bool agrees(const RecordAgreement& agreement) {
  return agreement.is_comparable && agreement.is_same_text && agreement.weights_off <= kRecordTolerance &&
         agreement.logits_off <= kRecordTolerance;
}

std::string describe(const RecordAgreement& agreement, const SessionRecord& saved) {
  std::string others = agreement.is_same_text ? "" : "; its tokens are not those it was saved with";
  if (!agreement.is_same_model) others += "; the model's weights are not those it was saved with";
  if (!agreement.is_comparable) return "its shapes are not those it was saved with" + others;
  if (agreement.equal == agreement.numbers) {
    return fmt::format("all {} compared numbers are as saved, bit for bit{}", agreement.numbers, others);
  }
  std::string text =
      fmt::format("{} of {} compared numbers differ from those saved on {}: weights by at most {:.1e}",
                  agreement.numbers - agreement.equal, agreement.numbers, saved.device, agreement.weights_off);
  if (!saved.logits.empty()) text += fmt::format(", logits by {:.1e} of the largest", agreement.logits_off);
  return text + others;
}

json to_json(const SessionRecord& record) {
  return {{"program", record.program},          {"device", record.device},          {"weights_crc", record.weights_crc},
          {"weights", list_of(record.weights)}, {"logits", list_of(record.logits)}, {"ids", record.ids}};
}

SessionRecord record_from_json(const json& value) {
  if (!value.is_object()) throw Error("record: expected an object, found {}", shown(value));
  if (!value.contains("weights_crc") || !value.at("weights_crc").is_number_unsigned() ||
      value.at("weights_crc").get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("record.weights_crc: expected a whole number of 32 bits");
  }
  return {.program = read_name(value, "program"),
          .device = read_name(value, "device"),
          .weights_crc = value.at("weights_crc").get<std::uint32_t>(),
          .weights = read_numbers(value, "weights"),
          .logits = read_numbers(value, "logits"),
          .ids = read_recorded_ids(value)};
}

}  // namespace headlight::app
