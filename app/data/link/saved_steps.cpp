#include "app/data/link/saved_steps.h"

#include <nlohmann/json.hpp>

#include "app/state/source.h"
#include "capture/capture_file.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "export/file_array.h"
#include "model/zip_file.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSummary = "steps.json";
constexpr std::size_t kMaxSavedSteps = 10'000;
constexpr std::uint64_t kMaxStepBytes = std::uint64_t{256} << 20, kMaxAllBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxSummaryBytes = std::uint64_t{64} << 20;

std::string member_name(std::int64_t step) { return fmt::format("step-{}.safetensors", step); }

/// Returns a member's bytes, compared with its checksum.
std::vector<std::byte> bytes_of(const model::ZipFile& zip, const model::ZipMember& member) {
  if (member.is_compressed) return zip.unpacked(member);
  zip.expect_saved(member);
  return {member.bytes.begin(), member.bytes.end()};
}

std::int64_t read_step(const json& value) {
  if (!value.is_number_integer() || value < 0 || value > kMaxLinkStep)
    throw Error("a step is a whole number from 0 to {}, not {}", kMaxLinkStep, shown(value));
  return value.get<std::int64_t>();
}

ScalarCurves read_curves(const json& object) {
  ScalarCurves curves;
  if (!object.is_object()) throw Error("'scalars' is no object but {}", shown(object));
  for (const auto& [name, points] : object.items()) {
    if (!points.is_array()) throw Error("scalars '{}' are no list but {}", name, shown(points));
    for (const json& point : points) {
      if (!point.is_array() || point.size() != 2) throw Error("a scalar is [step, value], not {}", shown(point));
      const std::int64_t step = read_step(point[0]);
      add_scalars(curves, step, read_scalars(to_text(json{{name, point[1]}}, -1)));  // which checks names and numbers
    }
  }
  return curves;
}

}  // namespace

bool is_steps_path(const fs::path& path) { return path.extension() == ".zip"; }

void save_steps(const fs::path& file, const LinkSnapshot& steps) {
  json numbers = json::array(), scalars = json::object();
  for (const LinkedStep& step : steps.steps) numbers.push_back(step.step);
  for (const auto& [name, curve] : *steps.scalars) scalars[name] = curve;
  std::vector<exporting::StoredFile> members;
  for (const LinkedStep& step : steps.steps) members.push_back({.name = member_name(step.step), .path = step.file});
  const json summary = {{"headlight_steps", 1}, {"name", steps.name}, {"steps", numbers}, {"scalars", scalars}};
  exporting::write_zip(file, members, {{kSummary, to_text(summary)}});
}

SavedSteps::SavedSteps(const fs::path& file) {
  try {
    unpack(file);
  } catch (const std::exception& error) {
    throw Error("{} can't be opened as steps of a training: {}", utf8(file), error.what());
  }
}

void SavedSteps::unpack(const fs::path& file) {
  const model::ZipFile zip(file, {.kind = ".zip", .advice = "save the steps again", .part = "step"});
  const model::ZipMember* about = zip.find(kSummary);
  if (about == nullptr || about->size > kMaxSummaryBytes) throw Error("it has no {}, which Save all steps writes", kSummary);
  const std::vector<std::byte> text = bytes_of(zip, *about);
  const Result<json> summary = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, {.depth = 6});
  if (!summary) throw Error("{}: {}", kSummary, summary.error());
  if (!summary->is_object() || summary->value("headlight_steps", json()) != 1 || !summary->contains("steps") ||
      !(*summary)["steps"].is_array())
    throw Error("{} is of another version, or has no steps", kSummary);
  const json& numbers = (*summary)["steps"];
  if (numbers.empty() || numbers.size() > kMaxSavedSteps)
    throw Error("it has {} steps; 1 to {} can be opened", numbers.size(), kMaxSavedSteps);
  snapshot_.name = one_line(utf8(file.filename()));
  if (summary->contains("scalars")) {
    snapshot_.scalars = std::make_shared<const ScalarCurves>(read_curves((*summary)["scalars"]));
  }
  const fs::path folder = linked_steps_folder(folder_.path() / "saved");
  make_directories(folder);
  for (const json& number : numbers) {
    const std::int64_t step = read_step(number);
    if (!snapshot_.steps.empty() && step <= snapshot_.steps.back().step) throw Error("its steps aren't in ascending order");
    const model::ZipMember* member = zip.find(member_name(step));
    if (member == nullptr) throw Error("it has no {}", member_name(step));
    snapshot_.bytes += member->size;
    if (member->size > kMaxStepBytes || snapshot_.bytes > kMaxAllBytes)
      throw Error("step {} has {} bytes, all up to it {}: more than is opened", step, member->size, snapshot_.bytes);
    // The archive's names are compared, and never are paths.
    const fs::path to = linked_step_path(folder, step, snapshot_.steps.size());
    write_file_atomically(to, bytes_of(zip, *member));
    try {
      static_cast<void>(capture::CaptureFile(to, false));
    } catch (const Error& error) {
      std::string why = error.what();
      if (const std::size_t at = why.find(utf8(to)); at != std::string::npos) why.replace(at, utf8(to).size(), "it");
      throw Error("step {}: {}", step, why);
    }
    snapshot_.steps.push_back({.step = step, .file = to, .bytes = member->size});
  }
  snapshot_.newest = snapshot_.steps.back().step;
}

}  // namespace headlight::app
