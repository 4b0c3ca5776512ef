#include "app/cli/export_flags.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "app/cli/flags.h"
#include "app/cli/state_flags.h"
#include "app/figures/arrays.h"
#include "app/figures/figure_kind.h"
#include "app/state/comparison.h"
#include "app/state/field_values.h"
#include "app/state/usage.h"
#include "export/text_metrics.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kLargestIndex = 1'000'000;

template <typename Item>
void add_once(std::vector<Item>& items, Item item) {
  if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
}

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage < attention::kStages; ++stage) {
    names.emplace_back(attention::to_string(static_cast<attention::Stage>(stage)));
  }
  names.emplace_back("hidden");
  names.emplace_back("logits");
  std::ranges::move(parameter_names(), std::back_inserter(names));
  names.emplace_back("ffn_*");
  names.emplace_back("norm_*");
  return names;
}

using Choose = std::function<void(std::function<void(ExportOptions&)>)>;

void choose_stages(const std::vector<std::string>& values, const Choose& choose) {
  ExportContents contents{.stages = {}};
  for (const std::string& name : split_list("--stages", values)) {
    const std::size_t choice = parse_choice("--stages", name, stage_names());
    if (choice < attention::kStages) {
      add_once(contents.stages, static_cast<attention::Stage>(choice));
    } else {
      const std::vector<std::string> parameters = parameters_of_word(name);
      for (const std::string& parameter : parameters) add_once(contents.parameters, parameter);
      if (parameters.empty()) (name == "hidden" ? contents.hidden : contents.logits) = true;
    }
  }
  choose([contents](ExportOptions& options) { static_cast<ExportContents&>(options) = contents; });
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (std::size_t format = 0; format < kExportFormats; ++format)
    names.emplace_back(to_string(static_cast<ExportFormat>(format)));
  return names;
}

void choose_formats(const std::vector<std::string>& values, const Choose& choose) {
  std::vector<ExportFormat> formats;
  for (const std::string& name : split_list("--format", values)) {
    const Result<ExportFormat> format = parse_format(name);
    if (!format) throw UsageError("--format: {}", format.error());
    add_once(formats, *format);
  }
  choose([formats](ExportOptions& options) { options.formats = formats; });
}

std::vector<std::string> view_names() {
  std::vector<std::string> names;
  for (const FigureKind* kind : figure_kinds()) names.emplace_back(kind->id);
  return names;
}

void choose_views(const std::vector<std::string>& values, const Choose& choose) {
  std::vector<const FigureKind*> views;
  for (const std::string& name : split_list("--views", values))
    add_once(views, figure_kinds()[parse_choice("--views", name, view_names())]);
  choose([views](ExportOptions& options) { options.views = views; });
}

/// "head (each head's matrix), …": what --views takes.
std::string views_in_words() {
  std::string text;
  for (const FigureKind* kind : figure_kinds())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", kind->id, kind->help);
  return text;
}

/// A list of indices; none: all.
std::optional<IndexSet> parse_axis(const std::string& flag, const std::string& text) {
  return text == "all" ? std::nullopt : std::optional(parse_index_set(flag, text));
}

void add_selection_flags(CLI::App& app, const Choose& choose) {
  const FlagGroup group(app, "Selection");
  const auto add_set = [&](const std::string& flag, const std::string& help, std::optional<IndexSet> ExportOptions::*set) {
    group.add(flag, "LIST", help, [=](const std::string& text) {
      choose([set, parsed = parse_axis(flag, text)](ExportOptions& options) { options.*set = parsed; });
    });
  };
  const auto add_choice = [&](const std::string& flag, const char* value, const std::string& help,
                              const std::vector<std::string>& names, auto meant, auto member) {
    group.add(flag, value, help, [=](const std::string& text) {
      const std::size_t chosen = parse_choice(flag, text, names);
      choose([=](ExportOptions& options) { options.*member = meant[chosen]; });
    });
    offer_words(app, flag, names);
  };
  add_set("--layer", "only these layers, from 0, as 5 or 0-3,7 (default: all); of a model --layers is the same",
          &ExportOptions::layers);
  add_set("--head", "only these heads, likewise (default: all); of a model --heads is the same", &ExportOptions::heads);
  group.add("--batch", "N", "only this batch item, from 0 (default: all)", [=](const std::string& text) {
    const auto item = static_cast<std::uint32_t>(parse_integer("--batch", text, 0, kLargestIndex));
    choose([item](ExportOptions& options) { options.batch = item; });
  });
  add_set("--queries", "only these rows of every map; 0:4 is 0-3 (default: all)", &ExportOptions::queries);
  group.add_repeatable(
      "--tokens", "TEXT", "the rows whose tokens make this text, in addition; may be given several times",
      [=](const std::vector<std::string>& texts) { choose([texts](ExportOptions& options) { options.tokens = texts; }); });
  group.add("--keys", "LIST", "only these columns of every map, side by side (default: all)", [=](const std::string& text) {
    const std::optional<IndexSet> keys = parse_axis("--keys", text);
    if (keys && keys->ranges().size() != 1) throw UsageError("--keys: {} isn't one range", text);
    choose([keys](ExportOptions& options) { options.keys = keys ? std::optional(keys->ranges().front()) : std::nullopt; });
  });
  add_choice("--mean", "layer|all", "weights as the mean of each layer's heads, or of all heads of a kind of attention",
             {"layer", "all"}, std::array{HeadMean::Layer, HeadMean::Kind}, &ExportOptions::mean);
  group.add_plain("--norms",
                  "weights as the norms of what they add to the residual stream, ‖weight·v·W_O‖ (Kobayashi et al. 2020)",
                  [=] { choose([](ExportOptions& options) { options.weighs_values = true; }); });
  add_choice("--block", "KIND", "only this kind of attention: encoder, decoder or cross (default: all there are)",
             {"encoder", "decoder", "cross"},
             std::array{model::BlockKind::EncoderSelf, model::BlockKind::DecoderSelf, model::BlockKind::Cross},
             &ExportOptions::kind);
}

void keep_as_baseline(const State& other, std::string name, State& state) {
  BaselineRun baseline = make_baseline(other);
  baseline.name = std::move(name);
  state.compare.baseline = std::move(baseline);
}

/// What every number is a difference from: one of these flags.
void add_comparison_flags(CLI::App& app, std::vector<StateEdit>& comparisons) {
  const FlagGroup group(app, "Comparison");
  group.add("--compare-with", "FILE|trained",
            "write the run minus a saved session's, or minus the same text with the model as it was trained",
            [&](const std::string& text) { comparisons.push_back(parse_comparison("--compare-with", text)); });
  group.add(
      "--compare-text", "TEXT", "write the run minus the same with a second text, of any length",
      [&](const std::string& text) { comparisons.emplace_back([text](State& state) { compare_with_text(state, text); }); });
  group.add("--compare-mask", "RULE",
            "write the run minus the same with another mask rule, as --mask takes it: none, causal, window:3, \u2026",
            [&](const std::string& text) {
              const Result<attention::MaskRule> rule = attention::parse_rule(text);
              if (!rule) throw UsageError("--compare-mask: {}", rule.error());
              comparisons.emplace_back([rule = *rule](State& state) {
                State other = state;
                for (attention::MaskSpec& mask : other.masks.by_kind) {
                  const bool pads = mask.rule.key_padding;
                  mask.rule = rule;
                  mask.rule.key_padding = pads;
                }
                keep_as_baseline(other, "mask " + attention::to_string(rule), state);
              });
            });
}

void add_output_flags(CLI::App& app, ExportFlags& flags, const Choose& choose) {
  const FlagGroup group(app, "Output");
  group.turn("--dry-run", "say which files would be written and how large they are, about; nothing is computed",
             flags.is_dry_run);
  group.take("-o,--out", "PATH",
             "folder to write into, made when it isn't there; or one file, by the ending of its format: .png, .pdf, .csv, "
             ".npz and so on; "
             "or - for standard output, with --format; needed",
             flags.out);
  group.add_repeatable(
      "--format", "LIST",
      "any of png, svg, pdf, csv, npy, npz, safetensors, html, tiles, joined by commas (default png, or what "
      "--out ends in)",
      [=](const std::vector<std::string>& values) { choose_formats(values, choose); });
  offer_words(app, "--format", format_names(), Offer::List);
  group.add_repeatable("--stages", "LIST",
                       "what to write, joined by commas: x, q, k, v, scores, scaled, masked, weights, heads, merged, "
                       "output, hidden, logits, or weights of the network: w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o, ffn_*, "
                       "norm_*, embedding, positions (default weights)",
                       [=](const std::vector<std::string>& values) { choose_stages(values, choose); });
  offer_words(app, "--stages", stage_names(), Offer::List);
}

void add_text_list_flags(CLI::App& app, ExportFlags& flags) {
  const FlagGroup group(app, "Output");
  group.take("--texts", "FILE",
             "a text a line, plain or .gz, each into a folder of its own; - reads standard input; the same call goes on "
             "where it was interrupted",
             flags.texts);
  group.turn("--jsonl",
             "lines of --texts are objects: text, id, pair, target (default: where the file's name ends in .jsonl, "
             ".ndjson or .json, .gz aside)",
             flags.is_jsonl);
  add_field_flag(group, flags.field);
}

void add_figure_flags(CLI::App& app, ExportFlags& flags, const Choose& choose) {
  const FlagGroup group(app, "Figures");
  group.add_repeatable("--views", "LIST",
                       fmt::format("figures of these views, joined by commas (default head,heads): {}", views_in_words()),
                       [=](const std::vector<std::string>& values) { choose_views(values, choose); });
  offer_words(app, "--views", view_names(), Offer::List);
  group.add("--threshold", "W", "the least weight that is drawn as a line, 0 to 1 (default 0.05)",
            [&flags](const std::string& text) {
              flags.edits.emplace_back([least = parse_number("--threshold", text, 0.0F, 1.0F)](State& state) {
                state.view.lines.threshold = least;
              });
            });
  for (const Field& field : state_fields()) {
    constexpr std::array<std::string_view, 6> kOfViews = {"--prompts", "--experiment", "--patch",
                                                          "--lens",    "--curves",     "--log-steps"};
    if (std::ranges::find(kOfViews, field.flag.name) == kOfViews.end()) continue;
    take_field(group, field, flags.edits);
  }
  add_look_flags(group, [choose](const AnySetting& setting, const SettingValue& value) {
    choose([&setting, value](ExportOptions& options) { options.put(setting, value); });
  });
  FlagGroup(app, "").add("--from", "FIGURE", "as --session",
                         [&](const std::string& path) { flags.model.use_session(path); });
  group.turn("--without-session", "figures don't carry the texts and settings that they are made from", flags.has_session,
             false);
  group.add("--range", "LOW,HIGH",
            "values at the ends of the figures' colour bars (default: what fits each matrix); of signed stages the larger "
            "magnitude counts at both ends",
            [&](const std::string& text) { flags.range = parse_limits("--range", text); });
}

std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (const AnySetting* part : kFigureParts.settings) names.emplace_back(part->text.flag);
  return names;
}

}  // namespace

void add_look_flags(const FlagGroup& group, const std::function<void(const AnySetting& setting, SettingValue value)>& use,
                    std::span<const AnySetting* const> without) {
  for (const SettingGroup* settings : kFigureStyle) {
    SettingGroup own = *settings;
    std::erase_if(own.settings, [&](const AnySetting* one) { return std::ranges::find(without, one) != without.end(); });
    add_setting_flags(group, own, use);
  }
  group.add_repeatable(
      "--hide", "LIST",
      fmt::format("parts that figures leave out, joined by commas: {} (the \u00B7 of tokens that begin a word)",
                  fmt::join(part_names(), ", ")),
      [use](const std::vector<std::string>& values) {
        for (const std::string& name : split_list("--hide", values))
          use(*kFigureParts.settings[parse_choice("--hide", name, part_names())], false);
      });
  offer_words(group.app(), "--hide", part_names(), Offer::List);
}

void check_sizes(const Choices& given) {
  if (given[kFigureLook.map_edge_mm] > 0.0F && given[kFigureDetails.width_mm] > 0.0F)
    throw UsageError("--size and --width exclude each other: the map's longer side, or the whole figure's width");
}

void check_font(const Choices& look) {
  if (!exporting::has_font(look[kFigureDetails.font]))
    throw Error("--font serif: Latin Modern isn't installed (Debian: fonts-lmodern); install it, or choose --font sans");
}

void add_export_flags(CLI::App& app, ExportFlags& flags) {
  const Choose choose = [&flags](std::function<void(ExportOptions&)> choice) { flags.choices.push_back(std::move(choice)); };
  add_output_flags(app, flags, choose);
  add_figure_flags(app, flags, choose);
  const FlagGroup record(app, "Record");
  record.turn(
      "--check-record",
      "compute the session that --session names anew, and compare it with the numbers that its file keeps (exit status 1 "
      "where they differ by more than rounding explains); without --out nothing else is done",
      flags.checks_record);
  record.turn("--record", "the same, and write the computed numbers into the file, as its record", flags.writes_record);
  add_selection_flags(app, choose);
  add_comparison_flags(app, flags.comparisons);
  add_text_list_flags(app, flags);
  flags.model.let_select([choose](const std::string& flag, const std::string& text) {
    const auto set = flag == "--layers" ? &ExportOptions::layers : &ExportOptions::heads;
    choose([set, parsed = parse_axis(flag, text)](ExportOptions& options) { options.*set = parsed; });
  });
}

}  // namespace headlight::app
