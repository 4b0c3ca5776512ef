#include "app/cli/model_flags.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/text_lines.h"
#include "app/lessons/lesson.h"
#include "app/models/starter_view.h"
#include "app/state/mask_file.h"
#include "app/state/opened_file.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "capture/capture_file.h"
#include "core/line_reader.h"
#include "core/utf8.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

constexpr std::size_t kLargestText = std::size_t{16} << 20;  // bytes of --text-file

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "\n")); }

const std::vector<std::string>& expect_utf8(const std::string& flag, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t broken = find_invalid_utf8(text);
    if (broken != std::string::npos) throw Error("{}: byte {} of the text is not UTF-8", flag, broken);
  }
  return texts;
}

bool has_line_feed(const std::string& text) { return text.find('\n') != std::string::npos; }

constexpr const char* kPlayground = "playground";

std::vector<std::uint32_t> read_ids(const std::string& flag, const std::string& text) {
  try {
    return parse_ids(text);
  } catch (const Error& error) {
    throw UsageError("{}: {}", flag, error.what());
  }
}

}  // namespace

void ModelFlags::add_to(CLI::App& app, const std::string& score_scale, const std::string& default_model) {
  add_text_flags(app);
  add_model_flags(app, default_model);
  add_playground_flags(app, score_scale);
  add_mask_flags(app);
}

void ModelFlags::add_text_flags(CLI::App& app) {
  const FlagGroup group(app, "Text");
  group.add_repeatable(
      "--text", "TEXT",
      "the text, line feeds and all; given several times a batch, padded to the longest; - is all of standard input",
      [this](const std::vector<std::string>& texts) { use_texts("--text", texts); });
  group.add(
      "--text-file", "FILE",
      "the same from a file, plain or .gz, one batch item a line (or a JSON object, where its name ends in .jsonl); - reads "
      "standard input",
      [this](const std::string& path) { use_texts("--text-file", {read_text_file(path, kLargestText)}); });
  group.add_repeatable("--key-text", "TEXT",
                       "a second text to attend to: the first one's tokens become queries, this one's keys and values",
                       [this](const std::vector<std::string>& texts) {
                         key_texts_ = expect_utf8("--key-text", texts);
                         if (first_playground_flag_.empty()) first_playground_flag_ = "--key-text";
                       });
  group.take(
      "--session", "FILE",
      "a session that the window saved (File, Save session), or a figure that carries one, which export makes again; other "
      "flags change it",
      session_file_);
  std::vector<std::string> presets{kPlayground};
  for (const std::string_view name : inference::notebook_names()) presets.emplace_back(name);
  group.add(
      "--preset", "NAME",
      fmt::format("playground, a small network with random weights for --text, or a notebook's exact computation instead "
                  "of text and model: {}",
                  fmt::join(presets.begin() + 1, presets.end(), ", ")),
      [this, presets](const std::string& name) {
        preset_ = presets[parse_choice("--preset", name, presets)];
        if (preset_ != kPlayground) return;
        preset_.clear();
        if (first_playground_flag_.empty()) first_playground_flag_ = "--preset playground";
      });
  offer_words(app, "--preset", presets);
  group.add_repeatable(
      "--set", "NAME=VALUE",
      "changes a notebook: a matrix by a file with its numbers, as v=v.txt (what numpy and PyTorch print, nested "
      "lists, rows), a cell, as v[2,1]=0.5, or sentence, d_model, heads, d_k, d_v, seed; indices from 0",
      [this](const std::vector<std::string>& edits) { preset_edits_ = expect_utf8("--set", edits); });
  group.take("--capture", "FILE",
             "attention that was saved from a network, in a .safetensors or .npz file, instead of text and model", capture_);
}

void ModelFlags::add_text_argument(CLI::App& app) {
  FlagGroup(app, "Text")
      .add_argument("typed", "[TEXT]", "the text, as --text takes it, in quotes", [this](const std::string& text) {
        expect_no_file(text);
        use_texts("--text", {text});
      });
}

void ModelFlags::use_texts(const std::string& flag, const std::vector<std::string>& texts) {
  if (!text_flag_.empty()) throw UsageError("the text is given twice: once behind {}", text_flag_);
  text_flag_ = flag;
  const bool is_input = flag == "--text" && texts == std::vector<std::string>{std::string(kStandardInput)};
  texts_ = is_input ? std::vector{read_text(kStandardInput)} : expect_utf8(flag, texts);
}

void ModelFlags::add_model_flags(CLI::App& app, const std::string& default_model) {
  const FlagGroup group(app, "Model");
  const auto note = [this](const char* flag) {
    if (first_model_flag_.empty()) first_model_flag_ = flag;
  };
  add_model_flag(group, "a trained model", fmt::format(" (default: {})", default_model), model_);
  const auto add_texts = [&](const char* flag, const char* help, std::vector<std::string>* into) {
    group.add_repeatable(flag, "TEXT", help, [note, flag, into](const std::vector<std::string>& texts) {
      note(flag);
      *into = expect_utf8(flag, texts);
    });
  };
  const auto add_ids = [&](const char* flag, const char* help, std::vector<std::vector<std::uint32_t>>* into) {
    group.add_repeatable(flag, "LIST", help, [note, flag, into](const std::vector<std::string>& lists) {
      note(flag);
      for (const std::string& list : lists) into->push_back(read_ids(flag, list));
    });
  };
  add_ids("--ids", "token ids instead of a text, as 464,3797; given several times a batch; no special tokens are added",
          &ids_);
  add_texts("--pair", "second sentence of a pair (BERT), one for each text or one for all", &pairs_);
  add_texts("--target",
            "what an encoder-decoder has written so far, one for each text or one for all; its start token comes before it "
            "(default: the start token alone)",
            &targets_);
  add_ids("--target-ids", "the same as token ids, as they are: with the start token", &target_ids_);
  for (const Field& field : state_fields()) {
    if (field.group != "model" || field.flag.name.empty()) continue;
    const auto use = [this, note, &field](const std::string& text) {
      note(field.flag.name.c_str());
      model_edits_.push_back(field.flag.parse(field.flag.name, text));
    };
    if (field.flag.value_name.empty()) {
      group.add_plain(field.flag.name, field.flag.help, [use] { use(""); });
    } else {
      group.add(field.flag.name, field.flag.value_name, field.flag.help, use);
    }
  }
}

void ModelFlags::refuse_with_capture() const {
  const std::string other = !text_flag_.empty()               ? text_flag_
                            : !ids_.empty()                   ? "--ids"
                            : !preset_.empty()                ? "--preset"
                            : !model_.empty()                 ? "--model"
                            : !first_model_flag_.empty()      ? first_model_flag_
                            : !first_playground_flag_.empty() ? first_playground_flag_
                                                              : "";
  if (!other.empty()) throw UsageError("{} and --capture exclude each other: a capture brings its own tokens", other);
  if (!mask_edits_.empty() || !mask_file_.empty() || !change_edits_.empty() || !expressions_.empty()) {
    throw UsageError("--capture: its weights are as they were saved; masks and heads are changed in a network (--model)");
  }
}

void ModelFlags::refuse_contradictions() const {
  if (!capture_.empty()) refuse_with_capture();
  const std::string own = !text_flag_.empty() ? text_flag_ : first_playground_flag_;
  if (!preset_.empty() && !own.empty()) {
    throw UsageError("{} and --preset exclude each other: {} brings its own text and model", own, preset_);
  }
  if (!preset_.empty() && (!model_.empty() || !first_model_flag_.empty())) {
    throw UsageError("{} and --preset exclude each other: {} brings its own text and model",
                     model_.empty() ? first_model_flag_ : "--model", preset_);
  }
  if (!model_.empty() && !first_playground_flag_.empty()) {
    throw UsageError("{} and --model exclude each other: {} belongs to the playground", first_playground_flag_,
                     first_playground_flag_);
  }
  if (texts_.size() > 1 && std::ranges::any_of(texts_, has_line_feed)) {
    throw UsageError(
        "--text: texts with line feeds make no batch: give one, or each on a line of a .jsonl file with --texts");
  }
  if (!ids_.empty() && !text_flag_.empty()) throw UsageError("{} and --ids exclude each other: give either", text_flag_);
  if (!ids_.empty() && !pairs_.empty()) throw UsageError("--pair and --ids exclude each other: a pair is made of texts");
  if (!target_ids_.empty() && !targets_.empty()) {
    throw UsageError("--target and --target-ids exclude each other: give either");
  }
}

void ModelFlags::add_lesson_flags(CLI::App& app) {
  constexpr std::uint64_t kLastCard = 100;
  const FlagGroup group(app, "What is shown");
  group.add("--lesson", "FILE", "a lesson to play, as docs/LESSONS.md describes it", [this](const std::string& text) {
    read_lesson(text);
    lesson_ = text;
  });
  group.add("--card", "N", "the lesson's card to begin with, from 1 (default 1)",
            [this](const std::string& text) { lesson_card_ = parse_integer("--card", text, 1, kLastCard) - 1; });
}

void ModelFlags::open_file(const std::string& file) {
  const std::filesystem::path path = expand_home(file);
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) {
    const char* hint = path.has_extension() ? "" : "; a model is named by --model, a text is given by --text";
    throw Error("{}: there is no such file or folder{}", file, hint);
  }
  const auto take = [&](std::string& chosen, std::string_view flag) {
    if (!chosen.empty()) throw UsageError("{} and {} exclude each other: give either", flag, file);
    chosen = utf8(path);
  };
  switch (kind_of_file(path)) {
    case FileKind::Model:
      return take(model_, "--model");
    case FileKind::Capture:
      return take(capture_, "--capture");
    case FileKind::Steps:
      steps_ = utf8(path);
      return;
    case FileKind::Session:
      return take(session_file_, "--session");
    case FileKind::Lesson:
      read_lesson(path);
      return take(lesson_, "--lesson");
    case FileKind::Layout:
      layout_ = utf8(path);
      return;
    case FileKind::Survey:
      survey_ = utf8(survey_folder(path));
      return;
    case FileKind::Text:
      take(text_flag_, text_flag_);
      texts_ = {read_text(path)};
      if (texts_.front().empty()) throw Error("{} has no text", file);
      // The edit comes before the flags, of which --join-lines may want a batch.
      model_edits_.insert(model_edits_.begin(), [](State& state) { state.model().joins_lines = true; });
      return;
  }
}

void ModelFlags::apply_model(State& state) {
  if (!model_.empty()) {
    const std::filesystem::path path = std::filesystem::absolute(inference::find_model(model_)).lexically_normal();
    opened_ = models_->open(path);
    find_at(state, utf8(path));  // a figure may name its model without its folder
    if (model_path(state.source) != path) {
      select_model(state, utf8(path), opened_->masks);
      select_first_head(state, *opened_);
      const StarterView* starter = find_starter_view(*opened_);
      if (starter != nullptr && text_flag_.empty() && state.text() == State{}.text()) state.text() = starter->text;
    }
  }
  if (!first_model_flag_.empty() && !is_model(state.source)) {
    throw UsageError("{} is for trained models: name one with --model", first_model_flag_);
  }
  if (!text_flag_.empty() && is_model(state.source)) {
    state.model().joins_lines = text_flag_ == "--text" && texts_.size() == 1 && has_line_feed(texts_.front());
  }
  for (const StateEdit& edit : model_edits_) edit(state);
  if (!text_flag_.empty()) state.model().ids.clear();
  if (!ids_.empty()) state.model().ids = ids_;
  if (!pairs_.empty()) state.model().pair_text = joined(pairs_);
  if (!targets_.empty()) {
    state.model().target_text = joined(targets_);
    state.model().target_ids.clear();
  }
  if (!target_ids_.empty()) state.model().target_ids = target_ids_;
  if (!opened_) return;
  const model::ModelDescription& description = opened_->description;
  if (!description.is_encoder_decoder && (!targets_.empty() || !target_ids_.empty())) {
    throw UsageError("{}: {} has no decoder beside an encoder", targets_.empty() ? "--target-ids" : "--target",
                     description.family);
  }
  if (!inference::takes_pairs(description) && !pairs_.empty()) {
    throw UsageError("--pair: {} isn't trained on pairs of sentences", description.family);
  }
}

void ModelFlags::apply_masks(State& state) const {
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind) {
    attention::MaskSpec& mask = state.masks.by_kind[kind];
    for (const MaskEdit& edit : mask_edits_) edit(mask);
    expressions_.apply(mask);
    const bool is_trained_causal = is_model(state.source) && state.model().trained_masks.by_kind[kind].rule.causal;
    if (is_trained_causal && joins_trained_mask_) mask.rule.causal = true;
  }
  if (mask_file_.empty()) return;
  const SharedValue<attention::BooleanMask> matrix = load_mask(mask_file_);
  for (attention::MaskSpec& mask : state.masks.by_kind) mask.matrix = matrix;
}

/// Settles the sizes: a number selects unless it is the playground's; a list has selected already.
void ModelFlags::settle_sizes() {
  const bool is_selection = !model_.empty() || !preset_.empty() || !capture_.empty() ||
                            (!default_model_.empty() && first_playground_flag_.empty());
  for (const auto& [field, text] : std::exchange(sizes_, {})) {
    if (is_selection) {
      select_(field->flag.name, text);
    } else {
      if (first_playground_flag_.empty()) first_playground_flag_ = field->flag.name;
      playground_edits_.push_back(field->flag.parse(field->flag.name, text));
    }
  }
}

void ModelFlags::apply_preset_edits(State& state) const {
  if (preset_edits_.empty()) return;
  const std::string& name = notebook_name(state.source);
  if (name.empty()) throw UsageError("--set changes a notebook: name one with --preset notebook-...");
  constexpr std::uint64_t kLargestMatrix = 1U << 24U;
  inference::NotebookEdits edits = notebook_edits(state.source);
  for (const std::string& edit : preset_edits_) {
    const std::size_t equals = edit.find('=');
    if (equals == std::string::npos) throw UsageError("--set {}: expected NAME=VALUE", edit);
    const std::string key = edit.substr(0, equals), value = edit.substr(equals + 1);
    try {
      const bool is_file = inference::names_matrix(key);
      inference::set_by_name(edits, name, key, is_file ? read_text_file(value, kLargestMatrix) : value);
    } catch (const Error& error) {
      throw Error("--set {}: {}", edit, error.what());
    }
  }
  (void)inference::make_notebook(name, edits);  // what can't be made is reported before anything is computed
  edit_notebook(state, std::move(edits));
}

void ModelFlags::apply(State& state) {
  settle_sizes();
  const bool names_other =
      !session_file_.empty() || !preset_.empty() || !capture_.empty() || !first_playground_flag_.empty();
  if (model_.empty() && !names_other && !default_model_.empty()) model_ = utf8(chosen_model("", default_model_));
  refuse_contradictions();
  if (!session_file_.empty()) {
    const Result<State> loaded = load_session(session_file_);
    if (!loaded) throw Error("{}", loaded.error());
    state = *loaded;
    find_moved_model(state);
    if (!is_figure_path(session_file_)) {
      session_ = OpenSession{.path = std::filesystem::absolute(session_file_), .saved = state};
    }
  }
  if (!preset_.empty()) select_preset(state, preset_);
  apply_preset_edits(state);
  if (!capture_.empty()) {
    const std::filesystem::path path = std::filesystem::absolute(capture_).lexically_normal();
    find_at(state, utf8(path));                    // a figure may name its capture without its folder
    const capture::CaptureFile file(path, false);  // what is wrong with it is reported before anything is computed
    select_capture(state, utf8(path));
  }
  // A text applies to everything but a preset; the playground's flags apply to the playground.
  const bool leaves_preset = !text_flag_.empty() && (is_notebook(state.source) || is_capture(state.source));
  if (leaves_preset || !first_playground_flag_.empty()) select_preset(state, "");
  if (!text_flag_.empty()) state.text() = joined(texts_);
  if (!key_texts_.empty()) {
    state.playground().key_text = joined(key_texts_);
    state.playground().cross = true;
  }
  for (const StateEdit& edit : playground_edits_) edit(state);
  apply_model(state);
  apply_masks(state);
  for (const StateEdit& edit : change_edits_) edit(state);
  if (is_figure_path(session_file_)) expect_found(state);
}

void ModelFlags::expect_found(const State& state) const {
  const std::string& name = is_model(state.source) ? model_path(state.source) : capture_path(state.source);
  std::error_code failure;
  if (name.empty() || std::filesystem::path(name).is_absolute() || std::filesystem::exists(name, failure)) return;
  throw Error("{} names {}, which isn't beside it: say where it is with {}", session_file_, name,
              is_model(state.source) ? "--model" : "--capture");
}

}  // namespace headlight::app
