#include "app/cli/expression_flags.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "app/state/usage.h"

namespace headlight::app {

void ExpressionFlags::add_expression(CLI::App& app, const char* flag, const char* help, attention::ExpressionUse use) {
  FlagGroup(app, "Mask").add(flag, "GLSL", help, [this, flag, use](const std::string& text) {
    auto parsed = attention::parse_expression(text, use);
    if (const auto* error = std::get_if<attention::ExpressionError>(&parsed))
      throw UsageError("{}: {}", flag, to_string(*error));
    edits_.emplace_back([use, expression = std::get<attention::Expression>(std::move(parsed))](attention::MaskSpec& mask) {
      set_expression(mask, use, expression);
    });
  });
}

void ExpressionFlags::add_to(CLI::App& app) {
  add_expression(
      app, "--mask-expr",
      "which key k a query q sees, beside the rule, as k <= q && q - k < 64; also layer, head, n_layers, n_heads, "
      "n_q, n_k, id_q, id_k, type_q, type_k, segment_q, segment_k, slider(name, from, to)",
      attention::ExpressionUse::Mask);
  add_expression(app, "--score-expr",
                 "what becomes of the scaled score before the mask, as score - 0.1 * float(q - k); with the same names",
                 attention::ExpressionUse::Score);
  FlagGroup(app, "Mask")
      .add("--slider", "NAME=VALUE", "where a slider of these two is (default: its middle, or the start that it names)",
           [this](const std::string& text) {
             const std::size_t equals = text.find('=');
             if (equals == std::string::npos) throw UsageError("--slider: '{}' isn't NAME=VALUE, as in width=8", text);
             constexpr float kMax = std::numeric_limits<float>::max();
             sliders_.emplace_back(text.substr(0, equals), parse_number("--slider", text.substr(equals + 1), -kMax, kMax));
           });
}

void ExpressionFlags::apply(attention::MaskSpec& mask) const {
  for (const auto& edit : edits_) edit(mask);
  for (const auto& named : sliders_) {
    const auto set = [&](const attention::Expression& expression) {
      const auto sliders = expression.sliders();
      const auto found = std::ranges::find(sliders, named.first, &attention::Slider::name);
      if (found == sliders.end()) return false;
      if (named.second < found->from || named.second > found->to)
        throw UsageError("--slider: {} goes from {} to {}", named.first, found->from, found->to);
      mask.sliders[named.first] = named.second;
      return true;
    };
    const bool is_of_mask = set(mask.mask_expression), is_of_score = set(mask.score_expression);
    if (!is_of_mask && !is_of_score)
      throw UsageError("--slider: no expression declares '{}', as in slider({}, 0, 1)", named.first, named.first);
  }
}

std::shared_ptr<const inference::LanguageModel> with_expressions(std::shared_ptr<const inference::LanguageModel> model,
                                                                 const ExpressionFlags& expressions) {
  if (expressions.empty()) return model;
  auto changed = std::make_shared<inference::LanguageModel>(*model);
  for (attention::MaskSpec& mask : changed->masks.by_kind) expressions.apply(mask);
  return changed;
}

}  // namespace headlight::app
