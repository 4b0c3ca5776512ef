#include "app/widgets/arithmetic_strip.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// Returns "= q₂·k₅ = 0.31·(−0.2) + … = 0.418", with what there is of it.
std::string equation(const Arithmetic& arithmetic, bool has_numbers) {
  std::string text;
  if (!arithmetic.formula.empty()) text += " = " + arithmetic.formula;
  if (!arithmetic.numbers.empty() && has_numbers) text += " = " + arithmetic.numbers;
  if (arithmetic.result) text += " = " + write_number(double{*arithmetic.result});
  return text;
}

/// Draws the buttons at the right end of the line that is being laid out.
void draw_buttons(Frame& frame, const Arithmetic& arithmetic, const std::optional<NumberRef>& number, bool& shows_all) {
  const TextStyleScope ink(frame, frame.ui.theme().text);
  const char* expand = shows_all ? "Fewer" : "All terms";
  const float padding = 2.0F * ImGui::GetStyle().FramePadding.x;
  const float copy_width = ImGui::CalcTextSize("Copy").x + padding;
  const float expand_width = ImGui::CalcTextSize("All terms").x + padding;
  const float origin_width = ImGui::CalcTextSize("From?").x + padding;
  const bool has_terms = !arithmetic.terms.empty();
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  ImGui::SameLine(ImGui::GetContentRegionMax().x - copy_width - (has_terms ? expand_width + gap : 0.0F) -
                  (number ? origin_width + gap : 0.0F));
  if (number) {
    if (draw_button(frame, "arithmetic.origin", "From?",
                    "Where this number is from: tensors, inputs, operation, precision (O).", origin_width))
      frame.transient.asked_number = number;
    ImGui::SameLine();
  }
  if (has_terms) {
    if (draw_button(frame, "arithmetic.all", expand, "Every product of the sum, the largest first", expand_width))
      shows_all = !shows_all;
    ImGui::SameLine();
  }
  if (draw_button(frame, "arithmetic.copy", "Copy", "Copies the whole calculation with every term. Click a cell to hold it.",
                  copy_width))
    ImGui::SetClipboardText(write_all(arithmetic).c_str());
}

/// Draws every product on a line of its own.
void draw_terms(Frame& frame, const Arithmetic& arithmetic) {
  const TextStyleScope ink(frame.ui.fonts().mono, frame.ui.theme().text);
  const std::vector<std::size_t> order = largest_first(arithmetic.terms);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(order.size()));
  while (clipper.Step()) {
    for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line) {
      const std::size_t index = order[static_cast<std::size_t>(line)];
      const Product& term = arithmetic.terms[index];
      const std::string text = fmt::format("[{:>4}]  {:>10} · {:>10} = {:>11}", index, write_number(double{term.left}),
                                           write_number(double{term.right}), write_number(term.value()));
      ImGui::TextUnformatted(text.c_str());
      if (line == 0) mark_last_item(frame, "arithmetic.term.0");
    }
  }
  if (arithmetic.has_constant) {
    ImGui::TextUnformatted(fmt::format("[bias] {:>40}", write_number(double{arithmetic.constant})).c_str());
  }
}

void draw_equation(Frame& frame, const Arithmetic& arithmetic, bool has_numbers) {
  const shell::FontSet& fonts = frame.ui.fonts();
  {
    const TextStyleScope ink(fonts.mono, frame.ui.theme().text);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 1.0F));
    const float width = width_left();
    for (const std::string& line : break_lines(fonts.mono, arithmetic.cell + equation(arithmetic, has_numbers), width)) {
      ImGui::TextUnformatted(line.c_str());
    }
    ImGui::PopStyleVar();
  }
  if (arithmetic.note.empty()) return;
  write_wrapped(fonts.small, frame.ui.theme().text_dim, arithmetic.note);
}

}  // namespace

void draw_arithmetic_strip(Frame& frame, const ArithmeticStrip& strip, bool& shows_all) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.panel);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(16.0F, 10.0F));
  ImGui::BeginChild("arithmetic", ImVec2(0.0F, strip.height), false,
                    ImGuiWindowFlags_AlwaysUseWindowPadding | ImGuiWindowFlags_NoScrollbar);
  const ImVec2 low = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::PushClipRect(low, {low.x + size.x, low.y + size.y}, false);  // over the padding too
  outline_rect(to_glm(low), to_glm(low) + to_glm(size), theme.border);
  ImGui::PopClipRect();
  if (!strip.arithmetic) {
    constexpr const char* kHint =
        "Point at a cell: what made it lights up, and its arithmetic is written here. A click holds it.";
    const std::string hint =
        text_width(fonts.small, kHint) > width_left() ? "Point at a cell: its arithmetic is here." : kHint;
    write_text(fonts.small, theme.text_dim, fit_text(fonts.small, hint, width_left()));
  } else {
    const shell::Color role = strip.color;
    fill_rect({low.x, low.y + 8.0F}, {low.x + 4.0F, low.y + size.y - 8.0F}, role, 2.0F);
    constexpr float kNarrow = 460.0F;  // has no room for the tokens beside title and buttons
    const float width = width_left();
    const bool is_narrow = width < kNarrow;
    if (!is_narrow) {
      write_text(fonts.strong, role, strip.title);
      ImGui::SameLine(0.0F, 12.0F);
      write_text(fonts.body, theme.text_dim, strip.tokens);
      draw_buttons(frame, *strip.arithmetic, strip.number, shows_all);
    } else {
      ImGui::Dummy({1.0F, font_size(fonts.small)});
      draw_buttons(frame, *strip.arithmetic, strip.number, shows_all);
      write_text(fonts.small, theme.text_dim, fit_text(fonts.small, strip.tokens, width));
    }
    const bool has_list = shows_all && !strip.arithmetic->terms.empty();
    draw_equation(frame, *strip.arithmetic, !has_list);
    if (has_list) {
      // Fonts and colours must be popped in the window in which they were pushed.
      ImGui::BeginChild("terms", {0.0F, 0.0F}, false);
      draw_terms(frame, *strip.arithmetic);
      ImGui::EndChild();
    }
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

}  // namespace headlight::app
