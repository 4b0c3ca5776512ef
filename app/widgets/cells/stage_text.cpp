#include "app/widgets/cells/stage_text.h"

#include "app/engine/engine.h"

namespace headlight::app {

const char* kind_text(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "encoder self-attention";
    case model::BlockKind::DecoderSelf:
      return "decoder self-attention";
    case model::BlockKind::Cross:
      return "cross-attention";
  }
  return "";
}

const char* kind_name(const EngineResult& result, model::BlockKind kind) {
  const bool has_one_stack = result.model ? !result.model->description.is_encoder_decoder
                                          : std::ranges::all_of(result.shapes, [](const auto& shape) {
                                              return shape.first.kind == model::BlockKind::EncoderSelf;
                                            });
  return has_one_stack ? "self-attention" : kind_text(kind);
}

std::string head_title(const EngineResult& result, model::BlockRef block, std::uint32_t head) {
  return fmt::format("Layer {} · head {} · {}", block.layer.value, head, kind_name(result, block.kind));
}

shell::Color role_color(Role role, const shell::Theme& theme) {
  switch (role) {
    case Role::Input:
      return theme.text;
    case Role::Query:
      return theme.query;
    case Role::Key:
      return theme.key;
    case Role::Value:
      return theme.value;
    case Role::Output:
      break;
  }
  return theme.output;
}

const char* fill_text(attention::MaskFill fill) {
  switch (fill) {
    case attention::MaskFill::NegativeInfinity:
      return "−∞";
    case attention::MaskFill::MinusOneBillion:
      return "−10⁹";
    case attention::MaskFill::MinusTenBillion:
      return "−10¹⁰";
  }
  return "";
}

std::string subscript(std::uint32_t number) {
  std::string text;
  for (const char digit : fmt::format("{}", number)) {
    text += "\xE2\x82";  // U+2080 … U+2089
    text += static_cast<char>(0x80 + (digit - '0'));
  }
  return text;
}

}  // namespace headlight::app
