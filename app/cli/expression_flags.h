#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/flags.h"
#include "attention/mask.h"
#include "inference/language_model.h"

namespace headlight::app {

/// The flags --mask-expr, --score-expr and --slider of all commands that compute attention.
class ExpressionFlags {
 public:
  void add_to(CLI::App& app);

  bool empty() const { return edits_.empty() && sliders_.empty(); }
  /// Throws UsageError when --slider names a slider that neither expression of the mask has.
  void apply(attention::MaskSpec& mask) const;

 private:
  void add_expression(CLI::App& app, const char* flag, const char* help, attention::ExpressionUse use);

  std::vector<std::function<void(attention::MaskSpec&)>> edits_;
  std::vector<std::pair<std::string, float>> sliders_;
};

/// Returns the model with the expressions in its masks; the same object where there are none.
std::shared_ptr<const inference::LanguageModel> with_expressions(std::shared_ptr<const inference::LanguageModel> model,
                                                                 const ExpressionFlags& expressions);

}  // namespace headlight::app
