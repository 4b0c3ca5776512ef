#include "app/cli/subcommands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/export_flags.h"
#include "app/cli/export_texts.h"
#include "app/cli/progress_bar.h"
#include "app/exports/figure_record.h"
#include "app/exports/job.h"
#include "app/models/starter_view.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "core/json.h"

namespace headlight::app {
namespace {

constexpr const char* kExportDescription =
    "Write attention as figures and numbers\n\n"
    "Computes a text (with a trained model, the playground or a notebook's preset) and writes the asked stages,\n"
    "one file a map (png, svg, pdf, csv, json, tiles), one a stage (npy: float32, row-major) or one for all (npz,\n"
    "safetensors), and run.json with tokens, masks and settings beside them; html is a page for browsers. docs/EXPORT.md "
    "has\n"
    "the layouts. Maps of any size pass through in strips. As tiles a map becomes a folder of PNGs with a pixel for each\n"
    "cell, 1,024 x 1,024 each, and index.json with their places and the range of the colours.";

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
    "  hidden     [layer + 1, batch, token, d_model]   the token vectors, then what each layer returns, the last one after\n"
    "             the final norm; npy, npz and safetensors only; of the playground encoder_output.npy [batch, token, "
    "d_model]\n"
    "  logits     [batch, token, vocabulary]           likewise\n"
    "  w_q w_k w_v w_o [layer, output, input], b_q b_k b_v b_o [layer, output], ffn_*, norm_*, embedding and positions: "
    "the\n"
    "             network's weights, as numbers (npy, npz, safetensors, csv, json); the rows of w_q, w_k and w_v are\n"
    "             [head][d]; embedding and positions are the rows of the text's tokens, line after line\n"
    "k and v have a head for each head of keys. A selection keeps its axes, with size 1; hidden and logits are always "
    "whole.\n"
    "Several kinds of attention (encoder-decoders, notebook-002) are told apart by encoder_, decoder_ and cross_ before "
    "the\n"
    "names. A stage that a network doesn't have is left out and noted in run.json. Rows of padding mean nothing.\n\n"
    "Examples:\n"
    "  headlight export --text \"a cat sits on a mat\" --format png,svg --out figures\n"
    "  headlight export --text \"a dog\" --text \"a man in a red shirt\" --layer 0 --head 3 --format csv --out numbers\n"
    "  headlight export --model bert-folder --text \"one sentence\" --pair \"and another\" --stages weights,hidden --format "
    "npy "
    "--out numbers\n"
    "  headlight export --model marian-folder --text \"a text\" --target \"ein Text\" --format png --out figures\n"
    "  headlight export --model captions-gpt2 --text-file long.txt --join-lines on --stretch-positions on --layer 0 --head "
    "3 "
    "--queries 0:4096 --keys 0:4096 --format tiles --out map\n"
    "  headlight export --model captions-gpt2 --text \"a cat and a dog\" --layers 0-1,3 --tokens cat --stages "
    "weights,q,k,hidden --out cat.safetensors\n"
    "  headlight export --model captions-gpt2 --texts captions.txt --format npz --out numbers\n"
    "  headlight export --model captions-gpt2 --text \"a cat and a dog\" --out attention.html\n"
    "  headlight export --model captions-gpt2 --text \"a cat and a dog\" --views grid,lines,text,steps,metrics --format pdf "
    "--out paper\n"
    "  headlight export --from figures/layer-00_heads.svg --font serif --hide title --out again\n"
    "  headlight export --text \"the cat sat\" --compare-text \"the dog sat\" --model captions-gpt2 --format svg,csv --out "
    "changed\n"
    "  headlight export --session notes.headlight.json --format svg --out figures\n"
    "  headlight export --preset notebook-004 --stages x,q,k,v,scores,weights,merged --format npy --out notebook-004\n"
    "  headlight export --preset playground --text \"a b c\" --mask-file mask.json --fill -1e9 --format json --out masked";

constexpr const char* kCompareFlags = "--compare-with, --compare-text and --compare-mask";

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

/// One file, where --out ends in the name of a format that holds everything.
void take_file(ExportOptions& options) {
  const std::string extension = options.directory.extension().string();
  const Result<ExportFormat> format = parse_format(extension.empty() ? extension : extension.substr(1));
  if (format && is_container(*format)) {
    if (options.formats.empty()) options.formats = {*format};
    if (options.formats != std::vector{*format}) {
      throw UsageError("--out {}: one file holds one format; leave out --format, or name a folder",
                       options.directory.filename().string());
    }
    options.file = options.directory.filename().string();
    options.directory = options.directory.has_parent_path() ? options.directory.parent_path() : ".";
  }
  if (options.formats.empty()) options.formats = {ExportFormat::Png};
}

/// The choices that made a figure, with those of the flags that were given.
ExportOptions options_from_figure(const ExportFlags& flags, const State& state) {
  const std::filesystem::path path = flags.figure;
  const std::optional<nlohmann::json> figure = load_figure(path);
  if (!figure) throw Error("{} says nothing about a figure: open it as a session (--session)", path.string());
  ExportOptions options;
  try {
    options = options_of_figure(*figure, state.compare.baseline);
  } catch (const Error& error) {
    throw Error("{}: {}", path.string(), error.what());
  }
  const ExportOptions usual, &given = flags.options;
  const auto take = [&](auto member) {
    if (given.*member != usual.*member) options.*member = given.*member;
  };
  take(&ExportOptions::views);
  take(&ExportOptions::color_map);
  take(&ExportOptions::is_row_normalized);
  take(&ExportOptions::color_spread);
  take(&ExportOptions::is_dark);
  take(&ExportOptions::is_transparent);
  take(&ExportOptions::parts);
  take(&ExportOptions::font);
  take(&ExportOptions::title);
  take(&ExportOptions::map_edge_mm);
  take(&ExportOptions::dpi);
  options.directory = given.directory;
  options.formats = given.formats;
  if (options.formats.empty()) {
    options.formats = {*parse_format(path.extension().string().substr(1))};
  }
  return options;
}

ExportOptions options_of(const ExportFlags& flags, const State& state) {
  ExportOptions options = flags.figure.empty() ? flags.options : options_from_figure(flags, state);
  if (options.directory.empty()) throw UsageError("--out is missing: name the folder to write into");
  if (flags.texts.empty()) {
    take_file(options);
  } else if (options.formats.empty()) {
    options.formats = {ExportFormat::Png};
  }
  if (flags.range) {
    for (const attention::Stage stage : options.stages) options.color_limits[stage] = *flags.range;
  }
  if (!flags.options.views.empty() && std::ranges::none_of(options.formats, is_figure)) {
    throw UsageError("--views are figures: add png, svg or pdf to --format");
  }
  options.models = flags.model.models();
  return options;
}

void check_input(ExportFlags& flags) {
  if (!flags.figure.empty()) {
    if (flags.model.has_other_input() || !flags.texts.empty()) {
      throw UsageError("--from brings its own session: leave out --text, --texts, --session and --preset");
    }
    flags.model.use_session(flags.figure);
  }
  if (flags.texts.empty()) {
    if (flags.is_jsonl) throw UsageError("--jsonl is about --texts, which is missing");
    if (flags.model.has_input()) return;
    throw UsageError("--text or {} is missing: say what to compute", flags.model.names_model() ? "--ids" : "--preset");
  }
  if (flags.model.names_text())
    throw UsageError("--texts brings the texts: leave out --text, --ids, --preset and --capture");
}

int run_command(ExportFlags& flags) {
  check_input(flags);
  State state;
  flags.model.apply(state);  // may add to the selection
  ExportOptions options = options_of(flags, state);
  options.inputs = run_inputs(state);
  if (flags.comparisons.size() > 1) throw UsageError("{} exclude each other: choose one", kCompareFlags);
  if (!flags.comparisons.empty()) {
    if (!flags.texts.empty()) throw UsageError("--texts brings texts of any length: leave out {}", kCompareFlags);
    flags.comparisons.front()(state);
    options.reference = *state.compare.baseline;
  }
  if (flags.threshold) state.view.lines.threshold = *flags.threshold;
  options.choice = figure_choice(state);
  if (flags.has_session) options.session = portable_state(state, options.directory);
  const std::unique_ptr<Runner> runner = open_gpu_runner(flags.device);
  runner->watch_compiling(compile_bar());
  if (!flags.texts.empty()) return export_texts(*runner, flags, options, state);
  const ExportReport report = export_with_progress(*runner, options);
  for (const std::string& note : report.notes) std::cerr << "headlight: note: " << one_line(note) << '\n';
  if (options.file.empty()) {
    std::cout << fmt::format("{} files in {}\n", report.files.size(), one_line(options.directory.string()));
  } else {
    std::cout << fmt::format("{}\n", one_line(report.files.front().string()));
  }
  return 0;
}

}  // namespace

Subcommand add_export_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "export", kExportDescription);
  const auto flags = std::make_shared<ExportFlags>();
  add_export_flags(*command, *flags);
  flags->model.add_to(*command, "--scale,--score-scale",
                      fmt::format("{}; any flag of the playground's computes that instead", kCaptionWriter));
  flags->model.use_default_model(kCaptionWriter);
  add_device_flag(*command, flags->device);
  set_footer(*command, kExportFooter);
  return {.app = command, .run = [flags] { return run_command(*flags); }};
}

}  // namespace headlight::app
