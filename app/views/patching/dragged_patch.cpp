#include "app/views/patching/dragged_patch.h"

#include <cstring>

#include <imgui.h>

namespace headlight::app {
namespace {

constexpr const char* kPayload = "patch";

}  // namespace

void begin_drag(const PatchCell& cell, const std::string& words) {
  if (!ImGui::BeginDragDropSource()) return;
  ImGui::SetDragDropPayload(kPayload, &cell, sizeof(cell));
  ImGui::TextUnformatted(words.c_str());
  ImGui::EndDragDropSource();
}

std::optional<PatchCell> dropped_on_last_item() {
  if (!ImGui::BeginDragDropTarget()) return std::nullopt;
  const ImGuiPayload* payload = ImGui::AcceptDragDropPayload(kPayload);
  std::optional<PatchCell> cell;
  if (payload != nullptr) std::memcpy(&cell.emplace(), payload->Data, sizeof(PatchCell));
  ImGui::EndDragDropTarget();
  return cell;
}

}  // namespace headlight::app
