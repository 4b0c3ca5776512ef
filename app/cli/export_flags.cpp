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

void read_stages(const std::vector<std::string>& values, ExportOptions& options) {
  options.stages.clear();
  for (const std::string& name : split_list("--stages", values)) {
    const std::size_t choice = parse_choice("--stages", name, stage_names());
    if (choice < attention::kStages) {
      add_once(options.stages, static_cast<attention::Stage>(choice));
    } else {
      const std::vector<std::string> parameters = parameters_of_word(name);
      for (const std::string& parameter : parameters) add_once(options.parameters, parameter);
      if (parameters.empty()) (name == "hidden" ? options.hidden : options.logits) = true;
    }
  }
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (std::size_t format = 0; format < kExportFormats; ++format)
    names.emplace_back(to_string(static_cast<ExportFormat>(format)));
  return names;
}

void read_formats(const std::vector<std::string>& values, ExportOptions& options) {
  options.formats.clear();
  for (const std::string& name : split_list("--format", values)) {
    const Result<ExportFormat> format = parse_format(name);
    if (!format) throw UsageError("--format: {}", format.error());
    add_once(options.formats, *format);
  }
}

std::vector<std::string> view_names() {
  std::vector<std::string> names;
  for (const FigureKind* kind : figure_kinds()) names.emplace_back(kind->id);
  return names;
}

void read_views(const std::vector<std::string>& values, ExportOptions& options) {
  options.views.clear();
  for (const std::string& name : split_list("--views", values))
    add_once(options.views, figure_kinds()[parse_choice("--views", name, view_names())]);
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

void add_selection_flags(CLI::App& app, ExportOptions& options) {
  const FlagGroup group(app, "Selection");
  const auto add_set = [&](const std::string& flag, const std::string& help, std::optional<IndexSet>& set) {
    group.add(flag, "LIST", help, [flag, &set](const std::string& text) { set = parse_axis(flag, text); });
  };
  add_set("--layer", "only these layers, from 0, as 5 or 0-3,7 (default: all); of a model --layers is the same",
          options.layers);
  add_set("--head", "only these heads, likewise (default: all); of a model --heads is the same", options.heads);
  group.take_count("--batch", "N", "only this batch item, from 0 (default: all)", options.batch, 0, kLargestIndex);
  add_set("--queries", "only these rows of every map; 0:4 is 0-3 (default: all)", options.queries);
  group.add_repeatable("--tokens", "TEXT", "the rows whose tokens make this text, in addition; may be given several times",
                       [&options](const std::vector<std::string>& texts) { options.tokens = texts; });
  group.add("--keys", "LIST", "only these columns of every map, side by side (default: all)",
            [&options](const std::string& text) {
              const std::optional<IndexSet> keys = parse_axis("--keys", text);
              if (keys && keys->ranges().size() != 1) throw UsageError("--keys: {} isn't one range", text);
              options.keys = keys ? std::optional(keys->ranges().front()) : std::nullopt;
            });
  group.take_choice("--mean", "layer|all",
                    "weights as the mean of each layer's heads, or of all heads of a kind of attention", options.mean,
                    {{"layer", HeadMean::Layer}, {"all", HeadMean::Kind}});
  group.turn("--norms",
             "weights as the norms of what they add to the residual stream, ‖weight·v·W_O‖ (Kobayashi et al. 2020)",
             options.weighs_values);
  group.take_choice("--block", "KIND", "only this kind of attention: encoder, decoder or cross (default: all there are)",
                    options.kind,
                    {{"encoder", model::BlockKind::EncoderSelf},
                     {"decoder", model::BlockKind::DecoderSelf},
                     {"cross", model::BlockKind::Cross}});
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

void add_output_flags(CLI::App& app, ExportFlags& flags) {
  ExportOptions& options = flags.options;
  const FlagGroup group(app, "Output");
  group.turn("--dry-run", "say which files would be written and how large they are, about; nothing is computed",
             flags.is_dry_run);
  group.take("-o,--out", "PATH",
             "folder to write into, made when it isn't there; or one file, by the ending of its format: .png, .pdf, .csv, "
             ".npz and so on; "
             "or - for standard output, with --format; needed",
             options.directory);
  group.add_repeatable(
      "--format", "LIST",
      "any of png, svg, pdf, csv, npy, npz, safetensors, html, tiles, joined by commas (default png, or what "
      "--out ends in)",
      [&](const std::vector<std::string>& values) { read_formats(values, options); });
  offer_words(app, "--format", format_names(), Offer::List);
  group.add_repeatable("--stages", "LIST",
                       "what to write, joined by commas: x, q, k, v, scores, scaled, masked, weights, heads, merged, "
                       "output, hidden, logits, or weights of the network: w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o, ffn_*, "
                       "norm_*, embedding, positions (default weights)",
                       [&](const std::vector<std::string>& values) { read_stages(values, options); });
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

/// Millimetres, at most 1000. A number alone has them too.
float parse_length(const std::string& flag, const std::string& text, float least) {
  struct Unit {
    std::string_view name;
    float millimetres;
  };
  constexpr float kInch = 25.4F;
  constexpr std::array kUnits = {Unit{"mm", 1.0F}, Unit{"cm", 10.0F}, Unit{"in", kInch},
                                 Unit{"pt", kInch / 72.27F},  // LaTeX's, in which it prints lengths
                                 Unit{"px", kInch / 96.0F}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const std::string number = text.substr(0, text.size() - unit.name.size());
    return unit.millimetres * parse_number(flag, number, least / unit.millimetres, kMaxMapEdge_mm / unit.millimetres);
  }
  return parse_number(flag, text, least, kMaxMapEdge_mm);
}

std::vector<std::string> part_names() { return {"title", "settings", "labels", "bar", "legend", "numbers", "marks"}; }

void hide_parts(const std::vector<std::string>& values, exporting::FigureParts& parts) {
  const std::array<bool*, 7> shown = {&parts.title,  &parts.settings, &parts.labels,    &parts.bar,
                                      &parts.legend, &parts.numbers,  &parts.word_marks};
  for (const std::string& name : split_list("--hide", values)) *shown[parse_choice("--hide", name, part_names())] = false;
}

void add_figure_flags(CLI::App& app, ExportFlags& flags) {
  ExportOptions& options = flags.options;
  const FlagGroup group(app, "Figures");
  group.add_repeatable("--views", "LIST",
                       fmt::format("figures of these views, joined by commas (default head,heads): {}", views_in_words()),
                       [&](const std::vector<std::string>& values) { read_views(values, options); });
  offer_words(app, "--views", view_names(), Offer::List);
  group.take_number("--threshold", "W", "the least weight that is drawn as a line, 0 to 1 (default 0.05)", flags.threshold,
                    0.0F, 1.0F);
  for (const Field& field : state_fields()) {
    constexpr std::array<std::string_view, 6> kOfViews = {"--prompts", "--experiment", "--patch",
                                                          "--lens",    "--curves",     "--log-steps"};
    if (std::ranges::find(kOfViews, field.flag.name) == kOfViews.end()) continue;
    group.add(field.flag.name, field.flag.value_name, field.flag.help,
              [&flags, &field](const std::string& text) { flags.edits.push_back(field.flag.parse(field.flag.name, text)); });
  }
  std::vector<std::pair<std::string, std::string>> color_maps;
  for (const std::string& name : color_map_names()) color_maps.emplace_back(name, name);
  group.take_choice("--color-map", "NAME",
                    fmt::format("colours of the figures: {} (default viridis)", fmt::join(color_map_names(), ", ")),
                    options.color_map, color_maps);
  group.take_choice("--theme", "dark|light", "ground of the figures (default light)", options.is_dark,
                    {{"dark", true}, {"light", false}});
  group.take("--title", "TEXT", "title of every figure (default: which matrix it shows)", options.title);
  group.add(
      "--width", "LENGTH",
      "width of the whole figure, as a column of a paper has: 84mm, 8.4cm, 3.3in, 239pt (LaTeX's) or 317px, from 30 to "
      "1000 mm; letters keep their size, maps are as large as fits",
      [&](const std::string& text) { options.width_mm = parse_length("--width", text, kMinWidth_mm); });
  group.add("--size", "LENGTH",
            "instead of a width, the longer side of a map on paper, likewise, from 10 mm on (default: as its cells need)",
            [&](const std::string& text) { options.map_edge_mm = parse_length("--size", text, kMinMapEdge_mm); });
  group.turn("--transparent", "figures without a ground, in the inks of --theme", options.is_transparent);
  group.take_choice("--font", "sans|serif",
                    "letters of the figures; serif is LaTeX's, Latin Modern, which must be installed", options.font,
                    {{"sans", exporting::FigureFont::Sans}, {"serif", exporting::FigureFont::Serif}});
  group.add_repeatable("--hide", "LIST",
                       "parts that figures leave out, joined by commas: title, settings, labels, bar, legend, numbers, "
                       "marks (the \u00B7 of tokens that begin a word)",
                       [&](const std::vector<std::string>& values) { hide_parts(values, options.parts); });
  offer_words(app, "--hide", part_names(), Offer::List);
  FlagGroup(app, "").add("--from", "FIGURE", "as --session",
                         [&](const std::string& path) { flags.model.use_session(path); });
  group.turn("--without-session", "figures don't carry the texts and settings that they are made from", flags.has_session,
             false);
  group.take_count("--dpi", "N", "dots per inch of PNGs, 48 to 960 (default 192)", options.dpi, kMinDpi, kMaxDpi);
  group.take_choice(
      "--rows", "read|written",
      "how figures name a decoder's rows: by the token that it reads there, or the next, which it writes (default read)",
      options.row_names, {{"read", RowNames::Read}, {"written", RowNames::Written}});
  group.turn("--row-normalised,--row-normalized",
             "colour each row by its own largest weight instead of one scale for the whole map", options.is_row_normalized);
  group.add("--range", "LOW,HIGH",
            "values at the ends of the figures' colour bars (default: what fits each matrix); of signed stages the larger "
            "magnitude counts at both ends",
            [&](const std::string& text) { flags.range = parse_limits("--range", text); });
  group.take_choice(
      "--color-scale", "linear|sqrt|log",
      "colours spread evenly over the weights, their square roots or their logarithms (default linear)",
      options.color_spread,
      {{"linear", chart::ScaleSpread::Linear}, {"sqrt", chart::ScaleSpread::Root}, {"log", chart::ScaleSpread::Log}});
}

}  // namespace

void add_export_flags(CLI::App& app, ExportFlags& flags) {
  flags.options.formats.clear();
  add_output_flags(app, flags);
  add_figure_flags(app, flags);
  const FlagGroup record(app, "Record");
  record.turn(
      "--check-record",
      "compute the session that --session names anew, and compare it with the numbers that its file keeps (exit status 1 "
      "where they differ by more than rounding explains); without --out nothing else is done",
      flags.checks_record);
  record.turn("--record", "the same, and write the computed numbers into the file, as its record", flags.writes_record);
  add_selection_flags(app, flags.options);
  add_comparison_flags(app, flags.comparisons);
  add_text_list_flags(app, flags);
  flags.model.let_select([options = &flags.options](const std::string& flag, const std::string& text) {
    (flag == "--layers" ? options->layers : options->heads) = parse_axis(flag, text);
  });
}

}  // namespace headlight::app
