#include "app/widgets/copy_button.h"

#include <utility>

#include "app/widgets/ink.h"
#include "app/widgets/line_layout.h"

namespace headlight::app {

bool draw_copy_button(Frame& frame, std::string name, const char* explanation) {
  const float width = button_width(kCopyCsv);
  const float at = ImGui::GetContentRegionMax().x - width;
  if (ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + kCopyGap <= at) ImGui::SameLine(at);
  return draw_button(frame, kCopyCsv, std::move(name), explanation);
}

}  // namespace headlight::app
