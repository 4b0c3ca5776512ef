#include "app/state/session_record.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "app/state/session_file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace session_record_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;

namespace {

SessionRecord record() {
  return {.program = "headlight 1.0",
          .device = "a device",
          .weights_crc = 0xFEDCBA98U,
          .weights = {0.1F, 0.25F, 1.0F / 3.0F, 0.0F, 1e-30F},
          .logits = {-12.5F, 3.14159274F},
          .ids = {7, 0, 4'294'967'295U}};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a record survives its JSON to the last bit, also what isn't finite") {
    CHECK(record_from_json(json::parse(to_json(record()).dump())) == record());
    SessionRecord odd = record();
    odd.weights[1] = std::numeric_limits<float>::quiet_NaN();
    const SessionRecord read = record_from_json(json::parse(to_json(odd).dump()));
    CHECK(std::isnan(read.weights[1]));
    CHECK(read.weights[2] == odd.weights[2]);
  }

  TEST_CASE("equal numbers agree bit for bit; rounding agrees and is told; more doesn't") {
    const RecordAgreement same = compare(record(), record());
    CHECK(agrees(same));
    CHECK(same.is_same_model);
    CHECK(describe(same, record()) == "all 7 compared numbers are as saved, bit for bit");

    SessionRecord rounded = record();
    rounded.weights[2] += 3e-8F;
    rounded.logits[0] += 1e-3F;
    rounded.device = "another device";
    const RecordAgreement near = compare(record(), rounded);
    CHECK(agrees(near));
    CHECK(near.equal == 5);
    CHECK(near.weights_off == doctest::Approx(3e-8).epsilon(0.01));
    CHECK(near.logits_off == doctest::Approx(1e-3 / 12.5).epsilon(0.01));
    const std::string text = describe(near, record());
    CHECK(text.find("2 of 7 compared numbers differ from those saved on a device") == 0);
    CHECK(text.find("weights by at most 3.0e-08") != std::string::npos);

    rounded.weights[0] = 0.2F;
    CHECK_FALSE(agrees(compare(record(), rounded)));
  }

  TEST_CASE("a number that isn't finite agrees with itself alone") {
    SessionRecord odd = record();
    odd.weights[0] = std::numeric_limits<float>::quiet_NaN();
    CHECK(agrees(compare(odd, odd)));
    CHECK_FALSE(agrees(compare(record(), odd)));
    CHECK_FALSE(agrees(compare(odd, record())));
  }

  TEST_CASE("other tokens are told, and agree with a record of an older version alone") {
    SessionRecord other = record();
    other.ids[1] = 1;
    CHECK_FALSE(agrees(compare(record(), other)));
    CHECK(describe(compare(record(), other), record()) ==
          "all 7 compared numbers are as saved, bit for bit; its tokens are not those it was saved with");
    json older = to_json(record());
    older.erase("ids");
    CHECK(record_from_json(older).ids.empty());
    CHECK(agrees(compare(record_from_json(older), other)));
  }

  TEST_CASE("another model and other shapes are told") {
    SessionRecord other = record();
    other.weights_crc = 1;
    CHECK(describe(compare(record(), other), record()).find("the model's weights are not those") != std::string::npos);
    other.weights.pop_back();
    CHECK_FALSE(agrees(compare(record(), other)));
    CHECK(describe(compare(record(), other), record()).find("its shapes are not those") == 0);
  }

  TEST_CASE("a session file has its record, and a broken one is refused with the member's name") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "notes.headlight.json";
    save_session(path, State{});
    CHECK_FALSE(load_record(path).has_value());
    const SessionRecord saved = record();
    save_session(path, State{}, &saved);
    REQUIRE(load_session(path));
    CHECK(load_record(path) == saved);

    const auto refusal = [&](const char* member, const json& value) {
      json session = {{"headlight", 1}, {"version", 1}, {"state", json::object()}, {"record", to_json(record())}};
      session["record"][member] = value;
      std::ofstream(path) << session.dump();
      const Result<State> loaded = load_session(path);
      REQUIRE_FALSE(loaded);
      CHECK(loaded.error().find('\n') == std::string::npos);
      return loaded.error();
    };
    CHECK(refusal("weights", "x").find("record.weights: expected a list of numbers") != std::string::npos);
    CHECK(refusal("weights", json::array({1, "x"})).find("record.weights: expected a number") != std::string::npos);
    CHECK(refusal("logits", json(std::vector<int>(5'000, 1))).find("at most 4096") != std::string::npos);
    CHECK(refusal("weights_crc", -1).find("record.weights_crc") != std::string::npos);
    CHECK(refusal("weights_crc", std::uint64_t{1} << 40U).find("record.weights_crc") != std::string::npos);
    CHECK(refusal("ids", json::array({1, -1})).find("record.ids: expected an id") != std::string::npos);
    CHECK(refusal("ids", json(std::vector<int>(5'000, 1))).find("at most 4096") != std::string::npos);
    CHECK(refusal("device", 7).find("record.device: expected a text") != std::string::npos);
    CHECK(refusal("program", std::string(300, 'x')).find("longer than") != std::string::npos);
  }
}

}  // namespace session_record_test
