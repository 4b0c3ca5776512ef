#include "app/state/run_interventions.h"

#include <iterator>

#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

/// Returns which part of an intervention the run leaves out, and why; empty where it applies all.
std::string why_left_out(const inference::Intervention& one, const model::Network& network, const model::ModelInput& input) {
  try {
    inference::check(network, std::span(&one, 1));
  } catch (const Error& error) {
    const std::string_view what = error.what();  // "intervention 1 on the …: why"
    return fmt::format("isn't applied: {}", what.substr(std::min(what.find(": "), what.size() - 2) + 2));
  }
  const auto* replace = std::get_if<inference::Replace>(&one.operation);
  const model::BlockKind kind = one.scope.kind.value_or(model::BlockKind::EncoderSelf);
  if (replace == nullptr || (kind != model::BlockKind::EncoderSelf && !input.target)) return "";
  const model::TokenBatch& tokens = input.tokens(kind, one.site);
  if (replace->item >= tokens.batch) {
    return fmt::format("isn't applied: it is of line {}, and there are {}", replace->item + 1, tokens.batch);
  }
  const std::uint32_t end =
      tokens.lengths.empty() ? tokens.length : tokens.start(replace->item) + tokens.lengths[replace->item];
  if (replace->first >= end)
    return fmt::format("isn't applied: it is of token {}, and the line has {}", replace->first, end);
  const std::uint32_t width = inference::site_width(network, one);
  const std::size_t rows = width == 0 ? 0 : replace->rows.size() / width;
  if (replace->first + rows <= end) return "";
  return fmt::format("is applied to {} of its {} tokens: the line ends before the others", end - replace->first, rows);
}

}  // namespace

inference::Interventions interventions_of(const RunInputs& inputs, const model::Network& network) {
  inference::Interventions all = inference::interventions_of(inputs.patterns, network);
  for (const KeptChange& change : inputs.changes) {
    inference::Intervention one = intervention_of(change);
    if (inference::fits(network, one)) all.push_back(std::move(one));
  }
  std::ranges::move(inference::interventions_of(inputs.gains, network), std::back_inserter(all));
  for (const SettingGroup* group : effective_groups(inputs.settings)) group->add(inputs.settings, network, all);
  return all;
}

std::vector<std::string> changes_left_out(const RunInputs& inputs, const model::Network& network,
                                          const model::ModelInput& input) {
  std::vector<std::string> lines;
  for (const KeptChange& change : inputs.changes) {
    const std::string why = why_left_out(*change.intervention, network, input);
    if (!why.empty()) lines.push_back(fmt::format("the kept change \u201C{}\u201D {}", one_line(change.name, 120), why));
  }
  return lines;
}

}  // namespace headlight::app
