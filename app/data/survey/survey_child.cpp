#include "app/data/survey/survey_child.h"

#include <chrono>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/data/survey/survey_settings.h"
#include "app/models/starter_view.h"
#include "app/state/setting_text.h"
#include "app/state/settings.h"
#include "app/state/version.h"
#include "core/error.h"
#include "core/json.h"
#include "evaluation/head_metric.h"
#include "platform/process.h"

namespace headlight::app {

SurveyOrder example_survey(const std::string& model) {
  const std::filesystem::path folder = cache_directory() / "surveys";
  std::filesystem::create_directories(folder);
  return {.corpus = shared_folder() / "examples" / "corpus.txt",
          .folder = folder / (utf8(std::filesystem::path(model).filename()) + "-captions"),
          .model = model};
}

SurveyChild::SurveyChild(SurveyOrder order, std::function<void()> wake)
    : order_(std::move(order)), wake_(std::move(wake)), thread_([this](const std::stop_token& stops) { run(stops); }) {}

SurveyChild::View SurveyChild::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

void SurveyChild::run(const std::stop_token& stops) {
  std::vector<std::string> words{utf8(headlight_program()),
                                 "survey",
                                 "--json",
                                 "--metrics",
                                 fmt::format("{}", fmt::join(evaluation::metric_names(), ",")),
                                 "--out",
                                 utf8(order_.folder),
                                 "--model",
                                 order_.model};
  for (const SettingGroup* group : kSurveySettings) {
    for (const AnySetting* setting : group->settings) {
      if (order_.choices.value(*setting) == setting->usual) continue;
      words.emplace_back(setting->text.flag);
      if (!setting->text.flag_is_plain) words.push_back(flag_text(*setting, order_.choices));
    }
  }
  words.push_back(utf8(order_.corpus));
  std::error_code failure;
  platform::ChildProgram child(words, fmt::format("{}=1", kSurveyChild), failure);
  constexpr std::chrono::milliseconds kMoment{100};
  constexpr int kPatience = 50;  // moments until one that was asked to end is killed
  int asked = 0;
  while (!failure && !child.has_ended() && asked < kPatience) {
    if (const std::optional<std::string> line = child.read_line(kMoment)) take(*line);
    if (stops.stop_requested() && asked++ == 0) child.ask_to_end();
  }
  if (asked == kPatience) child.kill();
  const std::string end =
      failure ? fmt::format("the program can't be started a second time: {}", failure.message()) : child.end();
  {
    const std::scoped_lock lock(mutex_);
    view_.has_ended = true;
    if (!view_.is_whole && asked == 0 && view_.error.empty()) view_.error = fmt::format("the survey ended with {}", end);
  }
  if (wake_) wake_();
}

void SurveyChild::take(const std::string& line) {
  const Result<nlohmann::json> json = parse_json(line, {.bytes = std::size_t{1} << 20});
  if (!json || !json->is_object()) return;  // a driver that writes to standard output
  const std::scoped_lock lock(mutex_);
  try {
    if (json->contains("error")) view_.error = one_line(json->at("error").get<std::string>());
    if (json->contains("report")) view_.is_whole = true;
    if (!json->contains("shards")) return;
    view_.done = json->at("done").get<std::uint64_t>();
    view_.shards = json->at("shards").get<std::uint64_t>();
    view_.texts = json->at("texts").get<std::uint64_t>();
  } catch (const nlohmann::json::exception&) {
    return;
  }
  if (wake_) wake_();
}

}  // namespace headlight::app
