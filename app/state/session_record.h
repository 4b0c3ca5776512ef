#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace headlight::app {

/// Some numbers of a session's run, chosen by its shapes alone, with the device and the program that computed them. Opening
/// the session compares them with those that are computed then.
struct SessionRecord {
  std::string program;              ///< "headlight 0.2.0"
  std::string device;               ///< its name and driver
  std::uint32_t weights_crc = 0;    ///< CRC-32 of rows of the attention's weights: equal when the model is
  std::vector<float> weights = {};  ///< of attention, from many heads
  std::vector<float> logits = {};   ///< of the last token; empty without an unembedding
  /// Token ids of the first line, a second text's after the first one's; empty where tokens have none, and in older files.
  std::vector<std::uint32_t> ids = {};

  bool operator==(const SessionRecord&) const = default;
};

inline constexpr std::size_t kMaxRecordedNumbers = 4'096;  ///< of each kind

/// The differences between a session's numbers and its record.
struct RecordAgreement {
  bool is_comparable = false;  ///< there are as many numbers of each kind
  bool is_same_model = false;
  bool is_same_text = false;           ///< its tokens' ids are equal, as far as they are recorded
  std::size_t numbers = 0, equal = 0;  ///< equal to the last bit
  double weights_off = 0.0;            ///< largest difference of a weight; infinite where one isn't finite
  double logits_off =
      0.0;  ///< largest difference of a logit, as a part of the largest logit's size; infinite where one isn't finite
};
RecordAgreement compare(const SessionRecord& saved, const SessionRecord& computed);

/// Largest differences that rounding explains: other devices and drivers add in another order.
inline constexpr double kRecordTolerance = 1e-3;
/// Are the tokens the saved ones, and the numbers but for rounding?
bool agrees(const RecordAgreement& agreement);
/// Describes the agreement in one line: "all 320 compared numbers are as saved, bit for bit".
std::string describe(const RecordAgreement& agreement, const SessionRecord& saved);

nlohmann::json to_json(const SessionRecord& record);
/// Throws Error in one line naming the wrong member.
SessionRecord record_from_json(const nlohmann::json& value);

}  // namespace headlight::app
