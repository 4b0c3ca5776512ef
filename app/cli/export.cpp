#include "app/cli/subcommands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "app/cli/model_flags.h"
#include "app/cli/progress_bar.h"
#include "app/cli/state_flags.h"
#include "app/exports/job.h"
#include "app/exports/plan.h"
#include "app/state/comparison.h"
#include "app/state/field.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

constexpr const char* kExportOutput = "Output";
constexpr const char* kFigures = "Figures";
constexpr const char* kSelection = "Selection";
constexpr std::uint64_t kLargestIndex = 1'000'000;

constexpr const char* kExportDescription =
    "Write attention as figures and numbers\n\n"
    "Computes a text (with a trained model, the playground or a notebook's preset) and writes the asked stages,\n"
    "one file a map (png, svg, csv, json, tiles) or one a stage (npy: float32, row-major), and run.json with tokens, masks "
    "and\n"
    "settings beside them. Maps of any size pass through in strips. As tiles a map becomes a folder of PNGs with a pixel "
    "for\n"
    "each cell, 1,024 x 1,024 each, and index.json with their places and the range of the colours.";

constexpr const char* kExportFooter =
    "Stages, in the order of the calculation:\n"
    "  x          [layer, batch, token, d_model]       the layer's input\n"
    "  q k v      [layer, batch, head, token, d]       projected queries, keys and values\n"
    "  scores     [layer, batch, head, query, key]     q.k\n"
    "  scaled     [layer, batch, head, query, key]     scores times the scale\n"
    "  masked     [layer, batch, head, query, key]     masked cells replaced by the fill\n"
    "  weights    [layer, batch, head, query, key]     softmax over the keys\n"
    "  heads      [layer, batch, head, token, d_v]     weights times v\n"
    "  merged     [layer, batch, token, heads * d_v]   all heads side by side\n"
    "  output     [layer, batch, token, d_model]       after W_O\n"
    "  hidden     [layer + 1, batch, token, d_model]   npy only: the token vectors, then what each layer returns, the last\n"
    "             one after the final norm; of the playground encoder_output.npy [batch, token, d_model]\n"
    "  logits     [batch, token, vocabulary]           npy only\n"
    "k and v have a head for each head of keys. A selection keeps its axes, with size 1; hidden and logits are always "
    "whole.\n"
    "Several kinds of attention (encoder-decoders, notebook-002) are told apart by encoder_, decoder_ and cross_ before "
    "the\n"
    "names. A stage that a network doesn't have is left out and noted in run.json. Rows of padding mean nothing.\n\n"
    "Examples:\n"
    "  headlight export --text \"the cat sat on the mat\" --mask causal --format png,svg --out figures\n"
    "  headlight export --text \"one line\" --text \"and a longer one\" --layer 0 --head 3 --format csv --out numbers\n"
    "  headlight export --model bert-folder --text \"one sentence\" --pair \"and another\" --stages weights,hidden --format "
    "npy "
    "--out numbers\n"
    "  headlight export --model marian-folder --text \"a text\" --target \"ein Text\" --format png --out figures\n"
    "  headlight export --model captions-gpt2 --text-file long.txt --join-lines on --stretch-positions on --layer 0 --head "
    "3 "
    "--queries 0:4096 --keys 0:4096 --format tiles --out map\n"
    "  headlight export --text \"the cat sat\" --compare-text \"the dog sat\" --model captions-gpt2 --format svg,csv --out "
    "changed\n"
    "  headlight export --session notes.headlight.json --format svg --out figures\n"
    "  headlight export --preset notebook-004 --stages x,q,k,v,scores,weights,merged --format npy --out notebook-004\n"
    "  headlight export --text \"a b c\" --mask-file mask.json --fill -1e9 --format json --out masked";

struct ExportFlags {
  ModelFlags model;
  ExportOptions options;
  std::optional<view::ValueLimits> range;  ///< of every figure
  std::vector<StateEdit> comparisons;      ///< each freezes what is subtracted; one at most
  std::string device;
};

/// What every number is a difference from: one of these flags.
void add_comparison_flags(CLI::App& app, ExportFlags* flags) {
  constexpr const char* kComparison = "Comparison";
  add_flag(
      app, "--compare-with", "FILE|trained",
      "write the run minus a saved session's, of a text with as many tokens, or minus the same text with the model as it "
      "was trained",
      kComparison, [=](const std::string& text) { flags->comparisons.push_back(parse_comparison("--compare-with", text)); });
  add_flag(app, "--compare-text", "TEXT", "write the run minus the same with another text of as many tokens", kComparison,
           [=](const std::string& text) {
             flags->comparisons.emplace_back([text](State& state) {
               State other = state;
               other.text() = text;
               if (is_model(other.source)) other.model().ids.clear();
               state.compare.frozen = freeze(other);
             });
           });
  add_flag(app, "--compare-mask", "RULE",
           "write the run minus the same with another mask rule, as --mask takes it: none, causal, window:3, \u2026",
           kComparison, [=](const std::string& text) {
             const Result<attention::MaskRule> rule = attention::parse_rule(text);
             if (!rule) throw UsageError("--compare-mask: {}", rule.error());
             flags->comparisons.emplace_back([rule = *rule](State& state) {
               State other = state;
               for (attention::MaskSpec& mask : other.masks.by_kind) {
                 const bool pads = mask.rule.key_padding;
                 mask.rule = rule;
                 mask.rule.key_padding = pads;
               }
               state.compare.frozen = freeze(other);
             });
           });
}

template <typename Item>
void add_once(std::vector<Item>& items, Item item) {
  if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
}

void read_stages(const std::vector<std::string>& values, ExportOptions& options) {
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage < attention::kStages; ++stage) {
    names.emplace_back(attention::to_string(static_cast<attention::Stage>(stage)));
  }
  names.emplace_back("hidden");
  names.emplace_back("logits");
  options.stages.clear();
  for (const std::string& name : split_list("--stages", values)) {
    const std::size_t choice = parse_choice("--stages", name, names);
    if (choice < attention::kStages) {
      add_once(options.stages, static_cast<attention::Stage>(choice));
    } else {
      (name == "hidden" ? options.hidden : options.logits) = true;
    }
  }
}

void read_formats(const std::vector<std::string>& values, ExportOptions& options) {
  options.formats.clear();
  for (const std::string& name : split_list("--format", values)) {
    const Result<ExportFormat> format = parse_format(name);
    if (!format) throw UsageError("--format: {}", format.error());
    add_once(options.formats, *format);
  }
}

void add_selection_flags(CLI::App& app, ExportOptions* options) {
  const auto add_index = [&](const std::string& flag, const std::string& help, std::optional<std::uint32_t>* index) {
    add_flag(app, flag, "N", help, kSelection, [=](const std::string& text) {
      *index = static_cast<std::uint32_t>(parse_integer(flag, text, 0, kLargestIndex));
    });
  };
  add_index("--layer", "only this layer, from 0 (default: all)", &options->layer);
  add_index("--head", "only this head, from 0 (default: all)", &options->head);
  add_index("--batch", "only this batch item, from 0 (default: all)", &options->batch);
  const auto add_part = [&](const std::string& flag, const std::string& help, std::optional<IndexRange>* part) {
    add_flag(app, flag, "FIRST:END", help, kSelection,
             [=](const std::string& text) { *part = parse_index_range(flag, text); });
  };
  add_part("--queries", "only these rows of every map, from FIRST up to END, which is not written (default: all)",
           &options->queries);
  add_part("--keys", "only these columns of every map, likewise (default: all)", &options->keys);
  add_flag(app, "--mean", "layer|all", "weights as the mean of each layer's heads, or of all heads of a kind of attention",
           kSelection, [=](const std::string& text) {
             static const std::vector<std::string> kNames = {"layer", "all"};
             options->mean = parse_choice("--mean", text, kNames) == 0 ? HeadMean::Layer : HeadMean::Kind;
           });
  add_plain_flag(app, "--norms",
                 "weights as the norms of what they add to the residual stream, ‖weight·v·W_O‖ (Kobayashi et al. 2020)",
                 kSelection, [=] { options->weighs_values = true; });
  add_flag(app, "--block", "KIND", "only this kind of attention: encoder, decoder or cross (default: all there are)",
           kSelection, [=](const std::string& text) {
             static const std::vector<std::string> kNames = {"encoder", "decoder", "cross"};
             options->kind = static_cast<model::BlockKind>(parse_choice("--block", text, kNames));
           });
}

void add_output_flags(CLI::App& app, ExportOptions* options) {
  add_flag(app, "--out", "DIR", "folder to write into; made when it isn't there; needed", kExportOutput,
           [=](const std::string& text) { options->directory = text; });
  add_repeatable_flag(app, "--format", "LIST", "any of png, svg, csv, npy, json, tiles, joined by commas (default png)",
                      kExportOutput, [=](const std::vector<std::string>& values) { read_formats(values, *options); });
  add_repeatable_flag(app, "--stages", "LIST",
                      "what to write, joined by commas: x, q, k, v, scores, scaled, masked, weights, heads, merged, output, "
                      "hidden, logits (default weights)",
                      kExportOutput, [=](const std::vector<std::string>& values) { read_stages(values, *options); });
}

void add_figure_flags(CLI::App& app, ExportFlags* flags) {
  ExportOptions* options = &flags->options;
  add_flag(app, "--color-map", "NAME",
           fmt::format("colours of the figures: {} (default viridis)", fmt::join(color_map_names(), ", ")), kFigures,
           [=](const std::string& text) {
             const std::vector<std::string> names = color_map_names();
             options->color_map = names[parse_choice("--color-map", text, names)];
           });
  add_flag(app, "--theme", "dark|light", "ground of the figures (default light)", kFigures, [=](const std::string& text) {
    static const std::vector<std::string> kNames = {"dark", "light"};
    options->is_dark = parse_choice("--theme", text, kNames) == 0;
  });
  add_flag(app, "--title", "TEXT", "title of every figure (default: which matrix it shows)", kFigures,
           [=](const std::string& text) { options->title = text; });
  add_flag(app, "--size", "MM", "longer side of a map on paper in millimetres, 10 to 1000 (default: as its cells need)",
           kFigures, [=](const std::string& text) {
             options->map_edge_mm = parse_number("--size", text, kLeastMapEdge_mm, kMostMapEdge_mm);
           });
  add_flag(app, "--dpi", "N", "dots per inch of PNGs, 48 to 960 (default 192)", kFigures, [=](const std::string& text) {
    options->dpi = static_cast<std::uint32_t>(parse_integer("--dpi", text, kLeastDpi, kMostDpi));
  });
  add_flag(
      app, "--rows", "read|written",
      "how figures name a decoder's rows: by the token that it reads there, or the next, which it writes (default read)",
      kFigures, [=](const std::string& text) {
        static const std::vector<std::string> kNames = {"read", "written"};
        options->row_names = parse_choice("--rows", text, kNames) == 0 ? RowNames::Read : RowNames::Written;
      });
  add_plain_flag(app, "--row-normalised,--row-normalized",
                 "colour each row by its own largest weight instead of one scale for the whole map", kFigures,
                 [=] { options->is_row_normalized = true; });
  add_flag(app, "--range", "LOW,HIGH",
           "values at the ends of the figures' colour bars (default: what fits each matrix); of signed stages the larger "
           "magnitude counts at both ends",
           kFigures, [=](const std::string& text) { flags->range = parse_limits("--range", text); });
  add_flag(app, "--color-scale", "linear|sqrt|log",
           "colours spread evenly over the weights, their square roots or their logarithms (default linear)", kFigures,
           [=](const std::string& text) {
             static const std::vector<std::string> kSpreads = {"linear", "sqrt", "log"};
             options->color_spread = static_cast<view::ScaleSpread>(parse_choice("--color-scale", text, kSpreads));
           });
}

/// On a terminal, standard error shows the progress of loading and writing.
ExportReport export_with_progress(Runner& runner, const ExportOptions& options) {
  ProgressBar bar = ProgressBar::on_terminal("MiB of weights");
  bool counts_files = false;
  std::string file;
  return run_export(runner, options, [&](const ExportProgress& progress) {
    if (progress.total == 0) {
      bar.show(progress.loaded_bytes >> 20, progress.bytes_to_load >> 20);
    } else {
      constexpr std::size_t kFew = 8;  // of few files each takes long
      const bool is_next = !std::exchange(counts_files, true) || file != progress.file;
      file = progress.file;
      if (progress.total > kFew) {
        if (is_next && progress.done == 0) bar.begin("files");
        bar.show(progress.done, progress.total);
      } else {
        if (is_next) bar.begin("% of " + file);
        bar.show(static_cast<std::size_t>(progress.share * 100.0), 100);
      }
    }
    return true;
  });
}

int run_command(ExportFlags& flags) {
  ExportOptions options = flags.options;
  if (!flags.model.has_input()) {
    throw UsageError("--text or {} is missing: say what to compute", flags.model.names_model() ? "--ids" : "--preset");
  }
  if (options.directory.empty()) throw UsageError("--out is missing: name the folder to write into");
  if (flags.range) {
    for (const attention::Stage stage : options.stages) options.color_limits[stage] = *flags.range;
  }
  State state;
  flags.model.apply(state);
  options.inputs = run_inputs(state);
  if (flags.comparisons.size() > 1) throw UsageError("--compare-with, --compare-text and --compare-mask exclude each other");
  if (!flags.comparisons.empty()) {
    flags.comparisons.front()(state);
    options.reference = *state.compare.frozen;
  }
  options.models = flags.model.models();
  const std::unique_ptr<Runner> runner = open_gpu_runner(flags.device);
  runner->watch_compiling(compile_bar());
  const ExportReport report = export_with_progress(*runner, options);
  for (const std::string& note : report.notes) std::cerr << "headlight: note: " << note << '\n';
  std::cout << fmt::format("{} files in {}\n", report.files.size(), options.directory.string());
  return 0;
}

}  // namespace

Subcommand add_export_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "export", kExportDescription);
  const auto flags = std::make_shared<ExportFlags>();
  add_output_flags(*command, &flags->options);
  add_figure_flags(*command, flags.get());
  add_selection_flags(*command, &flags->options);
  add_comparison_flags(*command, flags.get());
  flags->model.add_to(*command, "--scale,--score-scale", "the playground's seeded weights");
  add_device_flag(*command, flags->device);
  set_footer(*command, kExportFooter);
  return {.app = command, .run = [flags] { return run_command(*flags); }};
}

}  // namespace headlight::app
