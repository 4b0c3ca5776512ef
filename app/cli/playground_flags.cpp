#include <string>

#include <fmt/format.h>

#include "app/cli/flags.h"
#include "app/cli/model_flags.h"
#include "app/cli/state_flags.h"
#include "app/figures/index_set.h"
#include "app/state/field.h"
#include "app/state/usage.h"

namespace headlight::app {

void ModelFlags::add_playground_flags(CLI::App& app, const std::string& score_scale) {
  for (const Field& field : state_fields()) {
    if (field.group != "playground") continue;
    const std::string names = field.key == "scale" ? score_scale : field.flag.name;
    const std::string flag = names.substr(0, names.find(','));
    if (select_ && (flag == "--layers" || flag == "--heads")) {
      add_size_or_selection(app, field);
      continue;
    }
    FlagGroup(app, "Playground")
        .add(names, field.flag.value_name, field.flag.help, [this, flag, &field](const std::string& text) {
          if (first_playground_flag_.empty()) first_playground_flag_ = flag;
          playground_edits_.push_back(field.flag.parse(flag, text));
        });
  }
}

void ModelFlags::add_size_or_selection(CLI::App& app, const Field& field) {
  FlagGroup(app, "Playground")
      .add(
          field.flag.name, field.flag.value_name,
          field.flag.help + fmt::format(", beside another flag of the playground; of a model, and as a list, the same as {}",
                                        field.flag.name.substr(0, field.flag.name.size() - 1)),
          [this, &field](const std::string& text) {
            if (is_index_list(text)) {
              select_(field.flag.name, text);
            } else {
              sizes_.emplace_back(&field, text);
            }
          });
}

void ModelFlags::add_mask_flags(CLI::App& app) {
  const FlagGroup group(app, "Mask");
  group.add("--mask", "RULE",
            "none, causal, window:N (N tokens to each side, itself included), prefix:N, or several joined by +, as "
            "causal+window:4; replaces a preset's own mask; of a model, none switches the causal rule off, and others are "
            "added to it "
            "(default: the own one)",
            [this](const std::string& text) {
              const Result<attention::MaskRule> rule = attention::parse_rule(text);
              if (!rule) throw UsageError("--mask: {}", rule.error());
              joins_trained_mask_ = *rule != attention::MaskRule();
              mask_edits_.push_back([rule = *rule](attention::MaskSpec& mask) {
                const bool key_padding = mask.rule.key_padding;
                mask.rule = rule;
                mask.rule.key_padding = key_padding;
                mask.matrix.reset();
                mask.painted.clear();
              });
            });
  group.add("--padding", "on|off", "mask padded keys (default on)", [this](const std::string& text) {
    const bool is_on = parse_switch("--padding", text);
    mask_edits_.push_back([is_on](attention::MaskSpec& mask) { mask.rule.key_padding = is_on; });
  });
  group.add("--fill", "VALUE",
            "what a masked score becomes: -inf, -1e9 or -1e10; a fully masked row has no weights under -inf and is uniform "
            "under the others, as in PyTorch (default -inf)",
            [this](const std::string& text) {
              const Result<attention::MaskFill> fill = attention::parse_fill(text);
              if (!fill) throw UsageError("--fill: {}", fill.error());
              mask_edits_.push_back([fill = *fill](attention::MaskSpec& mask) { mask.fill = fill; });
            });
  group.take("--mask-file", "FILE",
             "a boolean matrix from a .json (nested lists) or .npy file, true keeps: [queries, keys], [batch, queries, "
             "keys] or [batch, heads, queries, keys]; combined with the rule",
             mask_file_);
  expressions_.add_to(app);
  for (const Field& field : state_fields()) {
    const bool is_change = (field.key == "patterns" && field.group.empty()) || field.changes_pass;
    if (!is_change) continue;
    take_field(group, field, change_edits_);
  }
}

}  // namespace headlight::app
