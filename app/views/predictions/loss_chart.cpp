#include "app/views/predictions/loss_chart.h"

#include "app/shapes/table.h"
#include "app/state/map_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/sentence.h"

namespace headlight::app {
namespace {

constexpr float kBars = 64.0F, kScaleLine = 16.0F;  // above the bars: what the highest is

/// "The loss is 2.31 nats a token (perplexity 10.1), over 12 tokens. In-context score …".
Sentence losses_sentence(const TokenLosses& found, std::span<const double> means) {
  const Sentence said =
      fmt::format("The loss is {} nats a token (perplexity {}), over {} tokens.", number_word(means.back(), "{:.3f}"),
                  number_word(std::exp(means.back()), "{:.4g}"), found.losses.size());
  if (found.losses.size() < found.tokens)
    return fmt::format("{} {} of {} are computed.", said, found.losses.size(), found.tokens);
  const std::optional<InContextScore> score = in_context_score(found.losses);
  if (!score) return fmt::format("{} An in-context score takes {} tokens more than the first.", said, kMinScoredLosses);
  return fmt::format("{} In-context score {} nats: {}; below 0, later tokens are predicted better.", said,
                     number_word(score->score, "{:+.3f}"),
                     score->is_of_tokens ? "the loss of token 500 less that of token 50 (Olsson et al. 2022)"
                                         : "the mean loss of the last tenth less that of the second tenth");
}

Table table_of(const Frame& frame, const PredictionPosition& position, const TokenLosses& found,
               std::span<const double> means) {
  Table table = named_columns({"position", "token", "loss (nats)", "running mean (nats)"});
  for (std::size_t i = 0; i < found.losses.size(); ++i) {
    const std::uint32_t token = found.first + static_cast<std::uint32_t>(i);
    table.put(token - position.first, predicted_token_text(frame.result, position.batch, token), found.losses[i], means[i]);
  }
  return table;
}

}  // namespace

std::optional<std::uint32_t> LossChart::draw(Frame& frame, const PredictionPosition& position) {
  kept_ = {};
  if (!predicts_next(frame.result)) return std::nullopt;
  const Analysed* answer = frame.ask(TokenLossesQuestion{.batch = position.batch});
  const auto* found = answer ? answer->as<TokenLosses>() : nullptr;
  const bool is_of_text = found && found->first == position.first + 1 && found->first + found->tokens == position.end;
  if (!is_of_text || found->losses.empty()) {
    write_missing(frame, answer);
    return std::nullopt;
  }
  const std::vector<double> means = running_means(found->losses);
  frame.says = losses_sentence(*found, means);
  copy_when_asked(frame, [&] { return csv(table_of(frame, position, *found, means)); });
  keep(frame, position, *found, means, plain_text(frame.says));
  return draw_bars(frame, position, *found, means);
}

std::optional<std::uint32_t> LossChart::draw_bars(Frame& frame, const PredictionPosition& position, const TokenLosses& found,
                                                  std::span<const double> means) const {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* small = frame.ui.fonts().small;
  const chart::Rect plot{.origin = cursor_position(), .size = {width_left(), kScaleLine + kBars}};
  const double most = std::max(*std::ranges::max_element(found.losses), 1e-9);
  if (!std::isfinite(most)) {
    write_note(frame, "A token has probability 0 or a logit that is no number: there is no chart.", theme.warning);
    return std::nullopt;
  }
  const bool is_clicked = click_area("losses", to_imgui(plot.size));
  const bool is_hovered = ImGui::IsItemHovered();
  mark_pointer_item(frame, "prediction.losses",
                    "\u2212ln p of each token by those before it, in nats (1 nat is 1.44 bits), and their running mean as a "
                    "line. A click shows "
                    "the position that predicts the token.");
  fill_rect(plot.origin, plot.end(), theme.panel, 3.0F);
  const float step = plot.size.x / static_cast<float>(found.tokens);
  const auto y_of = [&](double loss) { return plot.end().y - static_cast<float>(loss / most) * (kBars - 2.0F); };
  const auto x_of = [&](std::size_t i) { return plot.origin.x + step * static_cast<float>(i); };
  const auto under = static_cast<std::size_t>(std::max((ImGui::GetIO().MousePos.x - plot.origin.x) / step, 0.0F));
  const bool is_pointed = is_hovered && under < found.losses.size();
  for (std::size_t i = 0; i < found.losses.size(); ++i) {
    const bool is_shown = found.first + i == std::size_t{position.token} + 1 || (is_pointed && i == under);
    const float width = std::max(step - (step > 3.0F ? 1.0F : 0.0F), 1.0F);
    fill_rect({x_of(i), y_of(found.losses[i])}, {x_of(i) + width, plot.end().y}, is_shown ? theme.accent : theme.text_dim);
  }
  for (std::size_t i = 1; i < means.size(); ++i) {
    const float half = 0.5F * step;
    draw_line({x_of(i - 1) + half, y_of(means[i - 1])}, {x_of(i) + half, y_of(means[i])}, theme.value, 2.0F);
  }
  put_text(small, plot.origin + glm::vec2(4.0F, 1.0F), theme.text_dim, fmt::format("{:.2f} nats", most));
  ImGui::Spacing();
  if (!is_pointed) return std::nullopt;
  const std::uint32_t token = found.first + static_cast<std::uint32_t>(under);
  frame.says = fmt::format("The loss of {} is {} nats; the mean so far is {}.",
                           token_word(predicted_token_text(frame.result, position.batch, token)),
                           number_word(found.losses[under], "{:.3f}"), number_word(means[under], "{:.3f}"));
  return is_clicked ? std::optional(token - 1) : std::nullopt;
}

void LossChart::keep(const Frame& frame, const PredictionPosition& position, const TokenLosses& found,
                     std::span<const double> means, const std::string& subtitle) {
  kept_.title = "Loss by position";
  kept_.subtitle = subtitle;
  kept_.x_title = "token";
  kept_.y_title = "\u2212ln p, nats";
  kept_.color_title = "running mean, nats";
  kept_.has_whole_x = true;
  for (std::size_t i = 0; i < found.losses.size(); ++i) {
    const std::uint32_t token = found.first + static_cast<std::uint32_t>(i);
    if (!std::isfinite(found.losses[i])) continue;
    kept_.dots.push_back({.at = {token - position.first, found.losses[i]},
                          .color = static_cast<float>(means[i]),
                          .name = predicted_token_text(frame.result, position.batch, token)});
  }
  kept_.style.color_map = frame.state[kMapView.color_map];
}

std::unique_ptr<exporting::Drawing> LossChart::figure() const {
  return kept_.dots.empty() ? nullptr : exporting::make_drawing(kept_);
}

}  // namespace headlight::app
