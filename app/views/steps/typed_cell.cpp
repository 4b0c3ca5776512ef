#include "app/views/steps/steps_view.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kMinFieldWidth = 104.0F;

constexpr std::array<std::pair<StepMatrix, const char*>, 6> kTypedWeights = {{{StepMatrix::Other::QueryWeight, "w_q"},
                                                                              {StepMatrix::Other::KeyWeight, "w_k"},
                                                                              {StepMatrix::Other::ValueWeight, "w_v"},
                                                                              {StepMatrix::Other::OutputWeight, "w_o"},
                                                                              {StepMatrix::Other::HiddenWeight, "ffn_in"},
                                                                              {StepMatrix::Other::FfnWeight, "ffn_out"}}};

std::string given_name(const Frame& frame, const HeadSubject& subject, Stage stage, attention::Cell cell) {
  const std::uint32_t batch = frame.state.selection.batch;
  if (const auto& given = frame.result.input->qkv) {
    if (stage < Stage::Q || stage > Stage::V) return {};
    const Tensor& tensor = stage == Stage::Q ? given->query : stage == Stage::K ? given->key : given->value;
    const std::uint32_t head = subject.geometry.shape.matrix_of(stage, subject.geometry.head);
    const std::array<std::uint32_t, 4> indices = {batch, head, cell.query, cell.key};
    return inference::cell_name(to_string(stage), tensor.shape, indices);
  }
  const Tensor& vectors = frame.result.input->source.vectors;
  const bool has_norm = subject.layer != nullptr && subject.layer->norms.before.has_value();
  const bool is_first = subject.block == model::BlockRef();
  if (vectors.is_empty() || !is_first || stage != (has_norm ? Stage::Residual : Stage::X)) return {};
  const std::array<std::uint32_t, 3> indices = {batch, cell.query, cell.key};
  return inference::cell_name("x", vectors.shape, indices);
}

}  // namespace

std::string name_to_type(const Frame& frame, const HeadSubject& subject, const StepCell& cell) {
  const bool is_shown = is_notebook(frame.state.source) && frame.result.input && frame.result.network;
  if (!is_shown) return {};
  if (cell.matrix.is_stage()) return given_name(frame, subject, cell.matrix.stage(), cell.cell);
  const auto weight = std::ranges::find(kTypedWeights, cell.matrix, &std::pair<StepMatrix, const char*>::first);
  if (weight == kTypedWeights.end()) return {};
  const model::HeadWeight columns = weight_columns(cell.matrix, subject);
  if (columns.linear == nullptr) return {};
  const std::array<std::uint32_t, 2> indices = {columns.first + cell.cell.key, cell.cell.query};  // [out, in]
  const std::string prefix = inference::block_prefix(*frame.result.network->layers, subject.block);
  return inference::cell_name(prefix + weight->second, columns.linear->weight.shape(), indices);
}

void TypedCell::open(std::string name, const StepCell& where, std::optional<float> number) {
  where_ = where;
  name_ = std::move(name);
  text_ = number ? fmt::format("{}", *number) : std::string();
  error_.clear();
  takes_keys_ = true;
  was_active_ = false;
}

void TypedCell::draw(Frame& frame, const chart::Rect& cell) {
  const float height = ImGui::GetFrameHeight();
  const float top = std::max(cell.center().y - height * 0.5F, ImGui::GetWindowPos().y);
  ImGui::SetCursorScreenPos({cell.origin.x, top});
  const shell::FieldFocus focus = std::exchange(takes_keys_, false) ? shell::FieldFocus::SelectAll : shell::FieldFocus::None;
  const bool is_confirmed = frame.ui.text_field(
      "##typed cell", text_,
      {.width = std::max(cell.size.x, kMinFieldWidth), .focus = focus, .enter_confirms = true, .limit = 40});
  const bool is_active = ImGui::IsItemActive();
  mark_last_item(frame, "steps.typed", "Enter puts the number in, Esc leaves it as it was.");
  area_ = last_item_rect();
  if (!error_.empty()) draw_tooltip(frame, area_, error_);
  if (is_confirmed) {
    try {
      inference::NotebookEdits edits = notebook_edits(frame.state.source);
      inference::set_by_name(edits, notebook_name(frame.state.source), name_, text_);
      edit_notebook(frame.state, std::move(edits));
      close();
    } catch (const Error& error) {
      error_ = error.what();
      takes_keys_ = true;
      was_active_ = false;
    }
  } else if (was_active_ && !is_active) {
    close();
  } else {
    was_active_ = is_active;
  }
}

}  // namespace headlight::app
