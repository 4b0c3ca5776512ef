#include "app/views/patching/dragged_patch.h"

#include <cstring>

#include <imgui.h>

namespace headlight::app {
namespace {

constexpr const char* kPayload = "patch";

struct Payload {
  PatchCell cell;
  std::uint64_t map = 0;
};

}  // namespace

void begin_drag(const PatchCell& cell, std::uint64_t map, const std::string& words) {
  if (!ImGui::BeginDragDropSource()) return;
  const Payload payload{.cell = cell, .map = map};
  ImGui::SetDragDropPayload(kPayload, &payload, sizeof(payload));
  ImGui::TextUnformatted(words.c_str());
  ImGui::EndDragDropSource();
}

std::optional<PatchCell> dropped_on_last_item(std::uint64_t map) {
  if (!ImGui::BeginDragDropTarget()) return std::nullopt;
  const ImGuiPayload* payload = ImGui::AcceptDragDropPayload(kPayload);
  Payload dropped;
  if (payload != nullptr) std::memcpy(&dropped, payload->Data, sizeof(dropped));
  ImGui::EndDragDropTarget();
  return payload != nullptr && dropped.map == map ? std::optional(dropped.cell) : std::nullopt;
}

}  // namespace headlight::app
