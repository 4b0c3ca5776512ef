#include "app/state/view_pane.h"

#include "app/state/field_values.h"
#include "app/state/json_reader.h"
#include "app/state/state_names.h"
#include "core/file.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kLayoutVersion = 1, kLastVersion = 1U << 16;
constexpr std::size_t kLargestLayout = std::size_t{1} << 16;
constexpr float kBorderReach = 4.0F;  // to either side of the line, in UI units

void place(ViewPane& pane, const chart::Rect& room, PaneLayout& layout) {
  if (pane.parts.empty()) return layout.panes.push_back({&pane, room});
  const int axis = pane.is_column ? 1 : 0;
  chart::Rect first = room, second = room, strip = room;
  first.size[axis] = std::round(room.size[axis] * pane.share);
  second.origin[axis] = first.end()[axis];
  second.size[axis] = room.size[axis] - first.size[axis];
  strip.origin[axis] = second.origin[axis] - kBorderReach;
  strip.size[axis] = 2.0F * kBorderReach;
  layout.borders.push_back({&pane, room, strip});
  place(pane.parts[0], first, layout);
  place(pane.parts[1], second, layout);
}

ViewPane* parent_of(ViewPane& root, const ViewPane& pane) {
  for (ViewPane& part : root.parts) {
    if (&part == &pane) return &root;
    if (ViewPane* parent = parent_of(part, pane)) return parent;
  }
  return nullptr;
}

nlohmann::json write_pinned(const Selection& pinned) {
  nlohmann::json written = write_head(pinned.block, pinned.head);
  written["batch"] = pinned.batch;
  return written;
}

Selection read_pinned(const JsonReader& object) {
  Selection pinned;
  read_head(object, pinned.block, pinned.head);
  object.read("batch", pinned.batch, 0U, kLastIndex);
  return pinned;
}

/// `views`: those read so far. A file's panes are nested no deeper than there may be views.
void read_pane(const JsonReader& object, ViewPane& pane, std::size_t& views, std::size_t depth) {
  const nlohmann::json* parts = object.find("parts");
  if (!parts) {
    if (++views > kMostPanes) throw Error("{}: there are more than {} panes", object.path("view"), kMostPanes);
    if (const auto* view = object.find("view"); view && !view->is_null()) read_view_id(object, "view", pane.view);
    const nlohmann::json* pinned = object.find("pinned");
    if (pinned && !pinned->is_null()) pane.pinned = read_pinned(JsonReader(*pinned, object.path("pinned")));
    return;
  }
  if (!parts->is_array() || parts->size() != 2 || depth == kMostPanes) object.fail("parts", "two panes", *parts);
  object.read("is_column", pane.is_column);
  object.read("share", pane.share, kLeastShare, 1.0F - kLeastShare);
  pane.parts.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    read_pane(JsonReader(parts->at(i), fmt::format("{}[{}]", object.path("parts"), i)), pane.parts[i], views, depth + 1);
  }
}

}  // namespace

PaneLayout lay_out_panes(ViewPane& root, const chart::Rect& room) {
  PaneLayout layout;
  place(root, room, layout);
  return layout;
}

std::vector<ViewPane*> panes_of(ViewPane& root) {
  if (root.parts.empty()) return {&root};
  std::vector<ViewPane*> panes;
  for (ViewPane& part : root.parts) std::ranges::copy(panes_of(part), std::back_inserter(panes));
  return panes;
}

ViewPane& pane_with_keys(ViewChoices& view) {
  const std::vector<ViewPane*> panes = panes_of(view.panes);
  return **std::ranges::find_if(panes, [](const ViewPane* pane) { return pane->view.empty(); });
}

bool is_on_screen(const ViewChoices& view, std::string_view id) {
  const auto shows = [&](const auto& self, const ViewPane& pane) -> bool {
    return pane.view == id || std::ranges::any_of(pane.parts, [&](const ViewPane& part) { return self(self, part); });
  };
  return view.tab == id || shows(shows, view.panes);
}

bool open_beside(ViewChoices& view, ViewPane& pane, PaneEdge edge, std::string_view id) {
  if (panes_of(view.panes).size() == kMostPanes) return false;
  give_keys(view, pane);
  const bool is_first = edge == PaneEdge::Left || edge == PaneEdge::Top;
  ViewPane kept = std::exchange(pane, {});
  kept.view = std::exchange(view.tab, id);
  pane.is_column = edge == PaneEdge::Top || edge == PaneEdge::Bottom;
  pane.parts.resize(2);
  pane.parts[is_first ? 1 : 0] = std::move(kept);
  return true;
}

void give_keys(ViewChoices& view, ViewPane& pane) {
  pane_with_keys(view).view.swap(view.tab);
  view.tab.swap(pane.view);
}

void close_pane(ViewChoices& view, ViewPane& pane) {
  ViewPane* parent = parent_of(view.panes, pane);
  if (!parent) {
    view.tab = kHeadView;
    view.panes = {};
    return;
  }
  const bool has_keys = pane.view.empty();
  ViewPane kept = std::move(parent->parts[&parent->parts[0] == &pane ? 1 : 0]);
  *parent = std::move(kept);
  if (has_keys) view.tab = std::exchange(panes_of(*parent).front()->view, {});
}

nlohmann::json write_panes(const ViewPane& root) {
  if (root == ViewPane()) return nullptr;
  nlohmann::json value = nlohmann::json::object();
  if (root.parts.empty()) {
    if (!root.view.empty()) value["view"] = root.view;
    if (root.pinned) value["pinned"] = write_pinned(*root.pinned);
    return value;
  }
  value = {{"is_column", root.is_column}, {"share", root.share}, {"parts", nlohmann::json::array()}};
  for (const ViewPane& part : root.parts) {
    nlohmann::json written = write_panes(part);
    value["parts"].push_back(written.is_null() ? nlohmann::json::object() : std::move(written));
  }
  return value;
}

void read_panes(const JsonReader& object, const char* key, ViewPane& root) {
  const nlohmann::json* found = object.find(key);
  if (!found || found->is_null()) return;
  ViewPane panes;
  std::size_t views = 0;
  read_pane(JsonReader(*found, object.path(key)), panes, views, 0);
  const auto has_keys = [](const ViewPane* pane) { return pane->view.empty(); };
  if (std::ranges::count_if(panes_of(panes), has_keys) != 1)
    throw Error("{}: exactly one pane has no view, which the tab is for", object.path(key));
  root = std::move(panes);
}

void save_layout(const std::filesystem::path& path, const ViewChoices& view) {
  const nlohmann::json file = {{"headlight_layout", kLayoutVersion}, {"tab", view.tab}, {"panes", write_panes(view.panes)}};
  write_file_atomically(path, to_text(file) + "\n");
}

void load_layout(const std::filesystem::path& path, ViewChoices& view) {
  const nlohmann::json file = read_json(path, {.bytes = kLargestLayout});
  try {
    const JsonReader reader(file, "");
    std::uint32_t version = 0;
    reader.read("headlight_layout", version, 0U, kLastVersion);
    if (version == 0) throw Error("it is no layout, which has \"headlight_layout\"");
    if (version > kLayoutVersion) throw Error("a newer Headlight has written it");
    ViewChoices found;
    read_view_id(reader, "tab", found.tab);
    read_panes(reader, "panes", found.panes);
    view.tab = found.tab;
    view.panes = std::move(found.panes);
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(path), error.what());
  }
}

}  // namespace headlight::app
