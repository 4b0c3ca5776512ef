#include "app/prompts/prompt_experiments.h"
#include "app/state/state_names.h"

namespace headlight::app {

Task<PromptFindings> measure_found_paths(PromptQuestion question, PromptFindings findings, TellPrompts tell) {
  constexpr std::size_t kLogit = 0, kTriedReceivers = 3;
  constexpr double kVisibleShare = 0.05;  // of what the receiver's own output changes
  const auto measured = [&](const PromptQuestion& part, const std::string& what) {
    return measure_set(part, findings, [&findings, &tell, what](const PromptFindings& found) {
      findings.search = fmt::format("{}: {} of {} prompts\u2026", what, found.measured(), found.included());
      tell(findings);
    });
  };
  PromptQuestion heads = question;
  heads.experiment = PromptExperiment::Patching;
  heads.patching.map = PatchMap::Heads;
  heads.patching.part = model::Site::HeadOutput;
  const PromptFindings alone =
      co_await measured(heads, "Patching heads by themselves, to find those in which paths can end");
  const std::size_t columns = findings.columns.size(), cells = findings.layers.size() * columns;
  std::vector<std::pair<double, std::size_t>> candidates;   // size of the mean, below 0, and cell
  for (std::size_t cell = columns; cell < cells; ++cell) {  // none comes before a head of the first layer
    if (const PromptSpread spread = spread_of(alone, kLogit, cell); spread.count > 0)
      candidates.emplace_back(-std::abs(spread.mean), cell);
  }
  std::ranges::sort(candidates);
  if (candidates.empty()) candidates.emplace_back(0.0, cells - columns);
  PromptFindings best;
  double strongest = -1.0;
  for (std::size_t i = 0; i < std::min(candidates.size(), kTriedReceivers); ++i) {
    if (strongest > kVisibleShare * -candidates.front().first) break;
    PathReceiver receiver = question.patching.receiver;
    receiver.layer = findings.layers[candidates[i].second / columns];
    receiver.head = static_cast<std::uint32_t>(candidates[i].second % columns);
    for (const PathInput input : {PathInput::Value, PathInput::Key, PathInput::Query}) {
      receiver.input = input;
      PromptQuestion paths = question;
      paths.patching.receiver = receiver;
      const std::string what = fmt::format("Paths into the {} of L{} H{}", enum_name<PathInput>(kPathInputs, input),
                                           receiver.layer, receiver.head);
      PromptFindings found = co_await measured(paths, what);
      const std::optional<std::size_t> cell = strongest_cell(found, kLogit);
      const double size = cell ? std::abs(spread_of(found, kLogit, *cell).mean) : 0.0;
      if (size <= strongest) continue;
      strongest = size;
      best = std::move(found);
      best.receiver = receiver;
    }
  }
  best.search.clear();
  co_return best;
}

}  // namespace headlight::app
