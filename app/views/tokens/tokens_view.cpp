#include "app/views/tokens/tokens_view.h"

#include <fmt/format.h>

#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

class TokensView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    const model::TokenBatch& tokens = frame.result.input->source;
    const std::uint32_t batch = frame.state.selection.batch;
    const Ink ink(frame.ui.fonts().mono, frame.ui.theme().text);
    for (std::uint32_t token = 0; batch < tokens.batch && token < tokens.length; ++token) {
      const std::size_t at = std::size_t{batch} * tokens.length + token;
      const std::string id = at < tokens.ids.size() ? std::to_string(tokens.ids[at]) : "\u2013";
      ImGui::TextUnformatted(fmt::format("{:4}  {:>8}  {}", token, id, tokens.texts.at(batch).at(token)).c_str());
    }
  }
};

}  // namespace

std::unique_ptr<ViewPanel> open_tokens_view() { return std::make_unique<TokensView>(); }

}  // namespace headlight::app
