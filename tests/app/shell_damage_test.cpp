// Only what changed is redrawn, and the image is the same as if everything were.
#include "app/shell_stage.h"

#include <random>
#include <vector>

#include "app/shell/frame_tiles.h"

namespace shell_damage_test {

using namespace headlight::shell;

namespace {

using Random = std::mt19937;

int number(Random& random, int first, int last) { return std::uniform_int_distribution<int>(first, last)(random); }
float coordinate(Random& random, float most) { return std::uniform_real_distribution<float>(-30.0F, most)(random); }

/// Something that a frame may show at any position, of any size.
struct Item {
  int kind = 0;
  headlight::chart::Rect rect;
  Color color = 0;
  float rounding = 0.0F;
  std::uint64_t revision = 0;
  std::optional<headlight::chart::Rect> clip;
};

Item random_item(Random& random) {
  Item item;
  item.kind = number(random, 0, 6);
  item.rect.origin = {coordinate(random, 600.0F), coordinate(random, 440.0F)};
  item.rect.size = {coordinate(random, 260.0F) + 34.0F, coordinate(random, 200.0F) + 34.0F};
  item.color =
      with_alpha(rgb(static_cast<std::uint32_t>(number(random, 0, 0xFFFFFF))), number(random, 0, 2) == 0 ? 0x70U : 0xFFU);
  item.rounding = number(random, 0, 2) == 0 ? 7.0F : 0.0F;
  item.revision = static_cast<std::uint64_t>(number(random, 1, 1000));
  if (number(random, 0, 2) == 0)
    item.clip = headlight::chart::Rect{{coordinate(random, 500.0F), coordinate(random, 400.0F)}, {90.3F, 70.6F}};
  return item;
}

void draw_map(Ui& ui, const Item& item, std::uint64_t key) {
  Random random(static_cast<std::uint32_t>(item.revision));
  HeatmapImage image;
  use_theme(image, ui.theme());
  image.key = key;
  image.revision = item.revision;
  image.rows = static_cast<std::uint32_t>(number(random, 1, 40));
  image.columns = static_cast<std::uint32_t>(number(random, 1, 40));
  std::vector<float> values(std::size_t{image.rows} * image.columns);
  std::vector<std::uint8_t> masked(values.size());
  for (float& value : values) value = std::uniform_real_distribution<float>(0.0F, 1.0F)(random);
  for (std::uint8_t& cell : masked) cell = number(random, 0, 3) == 0 ? 1 : 0;
  const auto table = ramp();
  image.values = values;
  if (number(random, 0, 1) == 0) image.masked = masked;
  image.color_map = table;
  image.area = item.rect;
  image.rounding = item.rounding;
  if (item.rounding > 0.0F) image.crosshair_row = 0;
  ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
}

void draw_item(Ui& ui, const Item& item, std::uint64_t key) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 low = headlight::to_imgui(item.rect.origin), high = headlight::to_imgui(item.rect.end());
  if (item.clip) list->PushClipRect(headlight::to_imgui(item.clip->origin), headlight::to_imgui(item.clip->end()), true);
  switch (item.kind) {
    case 0:
      list->AddRectFilled(low, high, item.color, item.rounding);
      break;
    case 1:
      list->AddRect(low, high, item.color, item.rounding, 0, 1.5F);
      break;
    case 2:
      list->AddLine(low, high, item.color, 2.3F);
      break;
    case 3:
      list->AddText(low, item.color, "The animal didn’t cross the street");
      break;
    case 4:
      list->AddCircleFilled(low, item.rect.size.x / 3.0F, item.color);
      break;
    case 5:
      draw_map(ui, item, key);
      break;
    default:
      if (item.rounding > 0.0F) ui.paint_ground(item.rect, item.color);
      list->AddTriangleFilled(low, high, {low.x, high.y}, item.color);
  }
  if (item.clip) list->PopClipRect();
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("rectangles hold every tile that changed, few others, and no pixel twice") {
  constexpr std::int32_t kEdge = FrameTiles::kEdge;
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const glm::uvec2 size{static_cast<std::uint32_t>(number(random, 1, 1200)),
                          static_cast<std::uint32_t>(number(random, 1, 900))};
    FrameTiles before(size, 1);
    FrameTiles after(size, 1);
    before.add({.left = -50, .top = 3, .right = 4000, .bottom = 90}, 7);
    after.add({.left = -50, .top = 3, .right = 4000, .bottom = 90}, 7);
    std::vector<PixelRect> changes;
    for (int i = number(random, 0, 6); i > 0; --i) {
      const PixelRect change{.left = number(random, -40, 1100), .top = number(random, -40, 800)};
      changes.push_back(
          {change.left, change.top, change.left + number(random, 1, 200), change.top + number(random, 1, 200)});
      after.add(changes.back(), 8);
    }
    const std::vector<PixelRect> rects = after.changed_since(before);
    CHECK(rects.size() <= FrameTiles::kMaxRects);
    std::vector<int> covered(std::size_t{size.x} * size.y);
    for (const PixelRect& rect : rects) {
      CHECK(rect.left % kEdge == 0);
      CHECK(rect.top % kEdge == 0);
      REQUIRE(PixelRect{.right = static_cast<int>(size.x), .bottom = static_cast<int>(size.y)}.contains(rect));
      for (int y = rect.top; y < rect.bottom; ++y) {
        for (int x = rect.left; x < rect.right; ++x)
          ++covered[static_cast<std::size_t>(y) * size.x + static_cast<std::size_t>(x)];
      }
    }
    bool is_once = true;
    for (const int count : covered) is_once = is_once && count <= 1;
    CHECK(is_once);
    bool is_all = true;
    for (const PixelRect& change : changes) {
      const PixelRect inside = intersection(change, {.right = static_cast<int>(size.x), .bottom = static_cast<int>(size.y)});
      for (int y = inside.top; y < inside.bottom; ++y) {
        for (int x = inside.left; x < inside.right; ++x) {
          is_all = is_all && covered[static_cast<std::size_t>(y) * size.x + static_cast<std::size_t>(x)] == 1;
        }
      }
    }
    CHECK(is_all);
  }
}

TEST_CASE("equal frames differ nowhere; order, size and what the whole image depends on count") {
  const glm::uvec2 size{300, 200};
  const PixelRect here{.left = 10, .top = 10, .right = 20, .bottom = 20};
  FrameTiles one(size, 1);
  one.add(here, 5);
  one.add(here, 6);
  CHECK(one.changed_since(one).empty());
  FrameTiles other(size, 1);
  other.add(here, 6);
  other.add(here, 5);
  CHECK(other.changed_since(one) == std::vector{PixelRect{.right = 64, .bottom = 64}});
  const PixelRect all{.right = 300, .bottom = 200};
  CHECK(FrameTiles(size, 2).changed_since(FrameTiles(size, 1)) == std::vector{all});
  CHECK(FrameTiles(size, 1).changed_since(FrameTiles({301, 200}, 1)) == std::vector{all});
  CHECK(FrameTiles(size, 1).changed_since(FrameTiles()) == std::vector{all});
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("gpu");

TEST_CASE("random frames have the pixels that a redraw of everything gives") {
  Stage stage;
  Random random(11);
  std::vector<Item> items;
  bool is_causal = true;
  const auto content = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) draw_item(stage.ui, items[i], i);
    ImGui::Button("a button");
    ImGui::Checkbox("Causal", &is_causal);
  };
  std::uint64_t partly = 0;
  for (int step = 0; step < 60; ++step) {
    CAPTURE(step);
    if (step % 20 == 0) {
      stage.scale = std::array{1.0F, 1.25F, 2.0F}[static_cast<std::size_t>(step / 20)];
      stage.size = {static_cast<std::uint32_t>(number(random, 500, 700)),
                    static_cast<std::uint32_t>(number(random, 380, 500))};
      items.clear();
      for (int i = 0; i < 24; ++i) items.push_back(random_item(random));
    }
    if (step == 30) stage.ui.set_theme(ThemeKind::Dark);
    for (int i = number(random, 0, 2); i > 0; --i)
      items[static_cast<std::size_t>(number(random, 0, 23))] = random_item(random);
    if (number(random, 0, 5) == 0) std::swap(items[3], items[4]);
    stage.ui.feed(MouseMove{{static_cast<float>(number(random, 0, 200)), static_cast<float>(number(random, 0, 90))}});
    const std::uint64_t before = stage.ui.pixels_drawn();
    const std::uint64_t frames = stage.ui.frames_drawn();
    const PixelImage kept = stage.draw(content);
    const std::uint64_t all = (stage.ui.frames_drawn() - frames) * stage.size.x * stage.size.y;
    if (stage.ui.pixels_drawn() - before < all) ++partly;
    stage.ui.redraw_all();
    stage.frame(content);
    const PixelImage redrawn = stage.ui.read_pixels();
    REQUIRE(kept.rgba.size() == redrawn.rgba.size());
    CHECK(kept.rgba == redrawn.rgba);
  }
  CHECK(partly > 30);
}

TEST_CASE("a typed character redraws its field, and a frame in which nothing changed nothing") {
  Stage stage;
  std::string text = "the cat sat on the";
  const auto content = [&] {
    stage.ui.text_field("##text", text, {.width = 200});
    ImGui::GetWindowDrawList()->AddRectFilled({250, 100}, {600, 400}, rgb(0x4080C0));
  };
  stage.settle(content);
  stage.ui.feed(click_at({60.0F, 18.0F}));
  stage.ui.feed(tap(Key::End));
  stage.settle(content);
  const std::uint64_t before = stage.ui.pixels_drawn();
  stage.ui.feed(TextInput{"x"});
  stage.frame(content);
  CHECK(text == "the cat sat on thex");
  const std::uint64_t typed = stage.ui.pixels_drawn() - before;
  CHECK(typed > 0);
  CHECK(typed <= 640U * 480U / 8U);
  stage.settle(content);
  const std::uint64_t rested = stage.ui.pixels_drawn();
  stage.frame(content);
  CHECK(stage.ui.pixels_drawn() == rested);
}

TEST_SUITE_END();

}  // namespace shell_damage_test
