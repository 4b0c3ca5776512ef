#include "app/window/sidebar/panels.h"

#include "app/state/source.h"
#include "app/widgets/controls.h"
#include "app/widgets/examples.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

/// Draws how many layers and heads of each kind of attention there are.
void draw_sizes(Form& form, const BlockShapes& shapes) {
  std::map<model::BlockKind, std::uint32_t> layers;
  for (const auto& [block, shape] : shapes) ++layers[block.kind];
  for (const auto& [kind, count] : layers) {
    const inference::BlockShape& first = shapes.lower_bound({.kind = kind, .layer = {}})->second;
    const char* label = layers.size() == 1                      ? "Layers"
                        : kind == model::BlockKind::EncoderSelf ? "Encoder"
                        : kind == model::BlockKind::DecoderSelf ? "Decoder"
                                                                : "Cross";
    form.value(label, fmt::format("{} \u00D7 {} heads", count, first.heads));
  }
}

/// Returns what scores of queries and keys have beside scale and mask in some layer: "soft cap, window, bias, sinks"; may be
/// empty.
std::string parts_of_scores(const capture::CaptureFile& file) {
  using Block = capture::CapturedBlock;
  constexpr std::array<std::pair<const char*, bool (*)(const Block&)>, 4> kParts = {
      {{"soft cap", [](const Block& block) { return block.score.softcap > 0.0F; }},
       {"window", [](const Block& block) { return block.mask.window > 0; }},
       {"bias", [](const Block& block) { return block.score.bias != nullptr; }},
       {"sinks", [](const Block& block) { return block.score.sinks != nullptr; }}}};
  std::string text;
  for (const auto& [name, has] : kParts)
    if (std::ranges::any_of(file.blocks(), has)) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

void draw_facts_of_capture(Form& form, const EngineResult& result) {
  draw_sizes(form, result.shapes);
  const inference::BlockShape& shape = result.shapes.begin()->second;
  if (shape.batch > 1) form.value("Lines", std::to_string(shape.batch), "Of the batch; each has maps of its own.");
  form.value("Weights", shape.only_weights ? "as saved" : "of q and k",
             "As they were saved; or the softmax of the queries and keys that were saved.");
  if (const std::string parts = parts_of_scores(*result.capture); !parts.empty())
    form.value("Scores", parts, "What scores of some layers have beside scale and mask, as the file says.");
  for (const bool is_source : {true, false}) {
    const std::vector<capture::PatchImage>& images = result.capture->images(is_source, 0).images;
    if (images.empty()) continue;
    form.value("Patches",
               images.size() > 1 ? fmt::format("of {} images", images.size())
                                 : fmt::format("{} \u00D7 {}", images.front().grid.rows, images.front().grid.columns),
               "Rows and columns of an image's patches, which are tokens. The view Text shows weights on the image.");
    break;
  }
  if (result.capture->is_causal()) form.value("Mask", "causal", "As the file says: no query sees a later key.");
}

constexpr std::array<const char*, 2> kPrecisions = {"exact", "float16"};
constexpr std::array<const char*, 2> kSides = {"right", "left"};

/// Returns "GPT-2 · 4 layers × 8 heads".
std::string in_short(const model::ModelDescription& about) {
  const std::string encoder = fmt::format("{} layers × {} heads", about.layers, about.heads);
  if (!about.is_encoder_decoder) return fmt::format("{} · {}", about.family, encoder);
  return fmt::format("{} · encoder {}, decoder {} layers × {} heads", about.family, encoder, about.decoder_layers,
                     about.decoder_heads);
}

void draw_facts(Form& form, const inference::LanguageModel& model) {
  const model::ModelDescription& about = model.description;
  if (about.kv_heads != 0 && about.kv_heads != about.heads) {
    form.value("Key heads", std::to_string(about.kv_heads), "Several heads share the keys and values of one of these.");
  }
  const std::string_view texts = trained_on(utf8(model.path.filename()));
  if (!texts.empty()) form.value("Trained on", texts, "All that the model has read; in other texts its heads look random.");
  form.value("Width", fmt::format("{}, heads {}", about.d_model, about.d_k), "d_model, and d_k of each head.");
  if (about.experts > 0) {
    form.value("Experts",
               fmt::format("{} of {}{}", about.experts_per_token, about.experts, about.has_shared_expert ? " + 1" : ""),
               "Of a layer that has some: as many are computed for each token. + 1: and one that all tokens share.");
  }
  form.value("Parameters", short_count(about.parameter_count), "Weights and biases; shared ones count once.");
  form.value("Vocabulary", std::to_string(about.vocabulary));
  if (about.max_length > 0) {
    form.value(
        "Longest text", fmt::format("{} tokens", about.max_length),
        about.is_length_limited ? "No token beyond it has a position." : "What it was trained on; longer texts run too.");
  }
  if (about.window > 0) {
    form.value("Window", fmt::format("{} tokens", about.window), "Of its layers with sliding-window attention.");
  }
  if (!about.has_logits) form.value("Predictions", "none", "The files have no head over the vocabulary.");
}

/// Are its positions learned, a row for each?
bool has_position_table(const inference::LanguageModel& model) {
  return !model.network->source_embedding->positions.is_empty();
}

void draw_stretch(Form& form, Model& choice) {
  form.toggle("stretch", "Longer texts", choice.stretches_positions, {},
              "Takes texts that are longer than the model's table of positions, by interpolating the table (stretched "
              "positions). The model wasn't trained for that.");
}

void draw_adapter(Frame& frame, Form& form) {
  form.toggle("adapter", "LoRA adapter", frame.state.model().applies_adapter, {},
              "Adds the adapter's low-rank matrices to the model's weights; off, the model is as it was before that "
              "training.");
  if (form.button("compare_adapter", "Compare with the model alone")) frame.start_command("compare.adapter");
}

/// Draws what the section is about: its name, with the path as tooltip, a remark, and why it can't be shown.
void draw_name(Frame& frame, Form& form, const char* mark, const std::string& name, const std::string& path,
               const std::string& remark, const std::string& error) {
  frame.ui.ensure_glyphs(name);
  ImGui::PushTextWrapPos(0.0F);
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, name);
  frame.mark(mark, last_item_rect());
  explain_last_item(frame, path.c_str());
  if (!remark.empty()) form.note(remark);
  ImGui::PopTextWrapPos();
  if (!error.empty()) form.warning(error);
  ImGui::Spacing();
}

/// Returns whether another one is to be opened.
template <typename Close>
bool draw_ending(Form& form, const Close& close) {
  ImGui::Spacing();
  const float half = half_width();
  const bool opens_another = form.button("open", "Open another\u2026", half);
  ImGui::SameLine();
  if (form.button("close", "Close", half)) close();
  return opens_another;
}

}  // namespace

float half_width() { return (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) * 0.5F; }

std::string model_name(const inference::LanguageModel* model, const std::string& path) {
  if (model && utf8(model->path) == path && !model->description.name.empty()) return model->description.name;
  const std::filesystem::path folder(path);
  return utf8((folder.has_filename() ? folder : folder.parent_path()).filename());
}

bool draw_language_model_panel(Frame& frame, NumberBeingTyped& typed, const inference::LanguageModel* model,
                               const std::string& error, bool& shows_details) {
  Form form(frame, typed, "model");
  Model& choice = frame.state.model();
  const std::string name = model_name(model, choice.path);
  draw_name(frame, form, "model.name", name, choice.path, model ? in_short(model->description) : std::string(), error);
  if (model && model->without_adapter) draw_adapter(frame, form);
  // The remedy is in sight where a text is too long for the table of positions.
  const bool may_stretch = model ? has_position_table(*model) : !error.empty();
  const bool is_wanted = choice.stretches_positions || !error.empty() || !frame.result.error.empty();
  if (may_stretch && is_wanted) draw_stretch(form, choice);
  if (form.fold("details", "Sizes and precision", shows_details)) {
    if (model) draw_facts(form, *model);
    int precision = static_cast<int>(choice.precision);
    if (form.segments(
            "precision", "Weights", kPrecisions, precision,
            "How weights are kept on the device: exactly as the file has them, or rounded to float16, which takes half "
            "of the memory where the file has 32 bits. Sums are float32 with either.")) {
      choice.precision = static_cast<inference::Precision>(precision);
    }
    if (may_stretch && !is_wanted) draw_stretch(form, choice);
  }
  if (frame.result.input && frame.result.input->source.batch > 1) {
    int side = static_cast<int>(choice.padding);
    if (form.segments("padding", "Padding", kSides, side, "Where shorter lines of a batch are filled up.")) {
      choice.padding = static_cast<inference::PaddingSide>(side);
    }
  }
  return draw_ending(form, [&] { select_model(frame.state, "", {}); });
}

bool draw_capture_panel(Frame& frame, NumberBeingTyped& typed, const std::string& error) {
  Form form(frame, typed, "capture");
  const std::string& path = capture_path(frame.state.source);
  const std::string name = utf8(std::filesystem::path(path).filename());
  draw_name(frame, form, "capture.name", name, path, {}, error);
  const EngineResult& result = frame.result;
  const bool is_shown = result.capture && (result.capture->path() == path || are_linked_steps(result.capture->path(), path));
  if (is_shown && !result.shapes.empty()) draw_facts_of_capture(form, result);
  if (is_shown && !result.capture->note().empty()) {
    form.warning(result.capture->note());
    frame.mark("capture.note", last_item_rect());
  }
  if (is_shown && !result.capture_warning.empty()) {
    form.warning(fmt::format("Of the rows read so far: {}.", result.capture_warning));
    frame.mark("capture.warning", last_item_rect());
  }
  return draw_ending(form, [&] { select_capture(frame.state, ""); });
}

}  // namespace headlight::app
