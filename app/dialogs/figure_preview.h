#pragma once

#include "app/dialogs/preview_numbers.h"
#include "app/exports/figure_kind.h"

namespace headlight::app {

/// The figure of a kind that an export would write of the selected head, layer or attention: title, labels, colours and
/// parts as the options say. It is laid out anew when they or its numbers change. A click shows it in its own size, and the
/// pointer moves it then.
class FigurePreview {
 public:
  /// In an area of the current window.
  void draw(Frame& frame, const ExportOptions& options, const FigureKind& kind, glm::vec2 room);
  /// What it leaves out of large maps: a sentence and a space behind it; empty: nothing.
  std::string remark() const;

 private:
  void update(Frame& frame, const ExportOptions& options, const FigureKind& kind);
  void draw_page(Frame& frame, const ExportOptions& options, glm::vec2 corner, glm::vec2 room) const;

  std::string key_;  ///< of what is laid out
  PreviewNumbers numbers_;
  std::unique_ptr<exporting::Drawing> drawing_;
  std::string trouble_;
  bool is_enlarged_ = false;
};

}  // namespace headlight::app
