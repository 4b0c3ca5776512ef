// Sessions that were damaged: refused in words, or accepted and then sound.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/state/comparison.h"
#include "app/state/mask_painting.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/state/state_json.h"
#include "core/json.h"
#include "state/unusual_state.h"
#include "support/random.h"
#include "support/sanitizers.h"
#include "support/temporary_directory.h"

namespace session_mutation_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kMutants = test::random_cases(5'000);
constexpr double kLongest_s = 20.0;  // observed 0.02 s for a file, 1 s on two processors that compiled for eight

SessionRecord record_of_mutants() {
  return {.program = "headlight 1.0",
          .device = "a device",
          .weights_crc = 0xFEDCBA98U,
          .weights = {0.1F, 0.25F},
          .logits = {-12.5F, 3.14159274F}};
}

/// Sessions that together have a value of every setting.
std::vector<json> whole_sessions() {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "whole.headlight.json";
  std::vector<json> sessions;
  State playground = test::unusual_state();
  change_to_playground(playground);
  for (const State& state :
       {test::unusual_state(), test::unusual_notebook(), test::unusual_capture(), playground, State()}) {
    const SessionRecord record = record_of_mutants();
    save_session(path, state, &record);
    sessions.push_back(read_json(path));
  }
  return sessions;
}

/// Every value inside of another, in the order of the file.
void list_values(json& value, std::vector<json*>& found) {
  for (auto& item : value.items()) {
    found.push_back(&item.value());
    if (item.value().is_structured()) list_values(item.value(), found);
  }
}

json strange_value(test::Random& random) {
  switch (random.below(16)) {
    case 0:
      return nullptr;
    case 1:
      return random.chance(0.5);
    case 2:
      return -1;
    case 3:
      return 0;
    case 4:
      return 18446744073709551615ULL;
    case 5:
      return -9223372036854775807LL;
    case 6:
      return 1e308;
    case 7:
      return -1e-320;
    case 8:
      return 3.5;
    case 9:
      return "";
    case 10:
      return std::string(random.between(1, 3'000), 'x');
    case 11:
      return "\xff\xfe\n\x1b[31m";
    case 12:
      return json::array();
    case 13:
      return json::object();
    case 14:
      return json::array({json::array({json::array({1, 2}), "a"}), json{{"b", nullptr}}});
    default:
      return static_cast<std::int64_t>(random.below(0xffffffff));
  }
}

void damage_text(std::string& text, test::Random& random) {
  if (text.empty()) return text.push_back('?');
  const auto at = random.below(static_cast<std::uint32_t>(text.size()));
  switch (random.below(4)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      return;
    case 1:
      text.erase(at, random.between(1, 4));
      return;
    case 2:
      text.insert(at, text.substr(0, std::min<std::size_t>(text.size(), 200)));
      return;
    default:
      text.insert(text.begin() + at, random.pick({'(', ')', '[', '-', '9', ' ', '/', '\0', '\n', '*'}));
  }
}

void change_number(json& number, test::Random& random) {
  const double value = number.get<double>();
  number = random.pick({value + 1.0, value - 1.0, -value, value * 1e6, value * 1e30, 0.5 * value});
  if (random.chance(0.7) && std::abs(number.get<double>()) < 1e15) number = static_cast<std::int64_t>(number.get<double>());
}

/// One change of a value somewhere in the session.
void mutate(json& session, test::Random& random) {
  std::vector<json*> values;
  list_values(session, values);
  if (values.empty()) return;
  const auto any = [&]() -> json& { return *values[random.below(static_cast<std::uint32_t>(values.size()))]; };
  json& value = any();
  switch (random.below(6)) {
    case 0:
      value = strange_value(random);
      return;
    case 1: {  // a value from elsewhere, which may be right there
      const json other = any();
      value = other;
      return;
    }
    case 2:  // a member or an element is gone, or there many times
      if (value.is_object() && !value.empty()) {
        value.erase(std::next(value.begin(), random.below(static_cast<std::uint32_t>(value.size()))).key());
      } else if (value.is_array() && !value.empty()) {
        const json again = value.front();
        for (std::uint32_t i = random.below(40); i > 0; --i) value.push_back(again);
      }
      return;
    case 3:
      if (value.is_array() && !value.empty()) value.erase(value.size() - 1);
      return;
    default:
      break;
  }
  if (value.is_number()) return change_number(value, random);
  if (value.is_boolean()) {
    value = !value.get<bool>();
    return;
  }
  if (!value.is_string()) return;
  auto text = value.get<std::string>();
  damage_text(text, random);
  value = text;
}

/// The outcome of the mutants.
struct Outcome {
  int accepted = 0, refused = 0;
  double longest_s = 0.0;
};

/// An accepted state is used as the window uses it, and survives being saved.
void use(const State& state) {
  State shown = state;
  inference::BlockShape shape;
  shape.batch = 1;
  shape.heads = 2;
  shape.queries = shape.keys = 5;
  clamp_selection(shown, {{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, shape}});
  CHECK(shown.selection.head < 2);
  CHECK(run_inputs(state) == run_inputs(state));
  static_cast<void>(model_changes(state));
  static_cast<void>(make_baseline(state));
  if (state.compare.baseline) static_cast<void>(compared_with(state));
  static_cast<void>(can_return_to_baseline(state));
  return_to_baseline(shown);
  static_cast<void>(describe_change(State(), state));
  reset_masks(shown);
  const Result<State> again = state_from_json(json::parse(to_text(to_json(state))));
  REQUIRE_MESSAGE(again, (again ? "" : again.error()));
  CHECK(*again == state);
}

void open_mutant(const fs::path& path, const std::string& content, Outcome& outcome) {
  std::ofstream(path, std::ios::binary) << content;
  const auto start = std::chrono::steady_clock::now();
  const Result<State> loaded = load_session(path);
  if (loaded) {
    ++outcome.accepted;
    use(*loaded);
  } else {
    ++outcome.refused;
    CHECK(loaded.error().starts_with(path.string()));
    CHECK(loaded.error().size() > path.string().size() + 5);
    CHECK(std::ranges::none_of(loaded.error(), [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }));
  }
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.longest_s = std::max(outcome.longest_s, took_s);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("5,000 sessions with changed values are refused in words or accepted, and then sound") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "mutant.headlight.json";
    const std::vector<json> whole = whole_sessions();
    test::Random random(71);
    Outcome outcome;
    for (int i = 0; i < kMutants; ++i) {
      json session = whole[static_cast<std::size_t>(i) % whole.size()];
      for (std::uint32_t changes = random.between(1, 3); changes > 0; --changes) mutate(session, random);
      CAPTURE(i);
      open_mutant(path, to_text(session, -1), outcome);
    }
    MESSAGE(outcome.accepted, " accepted, ", outcome.refused, " refused, the longest took ", outcome.longest_s, " s");
    CHECK(outcome.longest_s < kLongest_s);
    CHECK(outcome.accepted > kMutants / 10);  // or the mutations are too coarse to find anything
    CHECK(outcome.refused > kMutants / 10);
  }

  TEST_CASE("5,000 sessions with damaged bytes are refused in words or accepted, and then sound") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "mutant.headlight.json";
    std::vector<std::string> whole;
    for (const json& session : whole_sessions()) whole.push_back(to_text(session, -1));
    test::Random random(72);
    Outcome outcome;
    for (int i = 0; i < kMutants; ++i) {
      std::string text = whole[static_cast<std::size_t>(i) % whole.size()];
      if (random.chance(0.1)) text.resize(random.below(static_cast<std::uint32_t>(text.size())));
      for (std::uint32_t changes = random.between(0, 2); changes > 0; --changes) damage_text(text, random);
      CAPTURE(i);
      open_mutant(path, text, outcome);
    }
    MESSAGE(outcome.accepted, " accepted, ", outcome.refused, " refused, the longest took ", outcome.longest_s, " s");
    CHECK(outcome.longest_s < kLongest_s);
    CHECK(outcome.accepted > kMutants / 10);
    CHECK(outcome.refused > kMutants / 10);
  }
}

}  // namespace session_mutation_test
