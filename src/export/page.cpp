#include "export/page.h"

#include "core/error.h"
#include "core/half.h"
#include "core/json.h"
#include "export/json.h"
#include "export/markup.h"
#include "export/page_template.h"

namespace headlight::exporting {
namespace {

/// Cells of a page with exact numbers: 5.6 MB of text; with float16 20 MB.
constexpr std::uint64_t kExactCells = std::uint64_t{1} << 20, kHalfCells = 7'000'000;

std::uint64_t cells_of(const AttentionPage& page) {
  std::uint64_t cells = 0;
  for (const PageSet& set : page.sets) cells += set.values.size();
  return cells;
}

std::string_view name_of(PageNumbers numbers) {
  return numbers == PageNumbers::F32 ? "f32" : numbers == PageNumbers::F16 ? "f16" : "u8";
}

std::string_view note_of(PageNumbers numbers) {
  if (numbers == PageNumbers::F32) return "Numbers are as they were computed or captured, in float32.";
  if (numbers == PageNumbers::F16) return "Numbers are rounded to float16, to make the page smaller: three digits count.";
  return "Numbers are rounded to 253 steps from 0 to each map's largest, to make the page smaller: two digits count.";
}

/// Returns a note with the number of magenta cells, which hold NaN or infinity; "" where there are none.
std::string note_of_odd(const AttentionPage& page) {
  std::uint64_t odd = 0;
  for (const PageSet& set : page.sets) {
    for (std::size_t cell = 0; cell < set.values.size(); ++cell) {
      const bool is_masked = !set.masked.empty() && set.masked[cell] != 0;
      odd += is_masked || std::isfinite(set.values[cell]) ? 0U : 1U;
    }
  }
  return odd == 0 ? "" : fmt::format(" {} cells are NaN or infinite: magenta.", odd);
}

template <typename Value>
std::string_view bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

/// Bytes of numbers in steps: the largest of a map, and then what isn't a number.
constexpr std::uint8_t kLastStep = 252, kMinusInfinity = 253, kInfinity = 254, kNotANumber = 255;

/// Every number in steps up to the largest finite one of its map, which is added to `most`.
std::vector<std::uint8_t> in_steps(std::span<const float> values, std::size_t cells, std::vector<float>& most) {
  std::vector<std::uint8_t> steps;
  steps.reserve(values.size());
  for (std::size_t begin = 0; begin < values.size(); begin += cells) {
    const std::span<const float> map = values.subspan(begin, cells);
    float largest = 0.0F;
    for (const float value : map) {
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    most.push_back(largest);
    for (const float value : map) {
      const float share = largest > 0.0F ? std::clamp(value / largest, 0.0F, 1.0F) : 0.0F;
      steps.push_back(std::isnan(value)   ? kNotANumber
                      : std::isinf(value) ? (value > 0.0F ? kInfinity : kMinusInfinity)
                                          : static_cast<std::uint8_t>(std::lround(share * kLastStep)));
    }
  }
  return steps;
}

/// Adds the masked cells of each map as bits: equal masks once.
void add_masks(const PageSet& set, std::size_t cells, Json& json) {
  json["masks"] = Json::array();
  json["maskOf"] = Json::array();
  std::map<std::string, std::size_t> known;
  for (std::size_t begin = 0; begin < set.masked.size(); begin += cells) {
    std::string bits((cells + 7) / 8, '\0');
    bool has_any = false;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      if (set.masked[begin + cell] == 0) continue;
      has_any = true;
      bits[cell / 8] = static_cast<char>(static_cast<unsigned char>(bits[cell / 8]) | 1U << cell % 8);
    }
    if (!has_any) {
      json["maskOf"].push_back(-1);
      continue;
    }
    const auto [found, is_new] = known.try_emplace(bits, known.size());
    if (is_new) json["masks"].push_back(base64(bits));
    json["maskOf"].push_back(found->second);
  }
}

/// Null: the side's tokens are words.
Json describe(const std::vector<PagePatches>& patches) {
  if (patches.empty()) return nullptr;
  Json list = Json::array();
  for (const PagePatches& one : patches) {
    list.push_back(
        {{"image", one.image}, {"rows", one.rows}, {"columns", one.columns}, {"first", one.first}, {"step", one.step}});
  }
  return list;
}

Json describe(const PageSet& set, PageNumbers numbers) {
  Json json = {{"title", set.title},
               {"rowTitle", set.row_title},
               {"columnTitle", set.column_title},
               {"rows", set.rows},
               {"columns", set.columns},
               {"rowPositions", set.row_positions},
               {"columnPositions", set.column_positions},
               {"rowPatches", describe(set.row_patches)},
               {"columnPatches", describe(set.column_patches)},
               {"layers", set.layers},
               {"heads", set.heads}};
  const std::size_t cells = set.rows.size() * set.columns.size();
  if (cells == 0 || set.values.size() != cells * set.layers.size() * set.heads.size()) {
    throw Error("a page's {} numbers don't fill {} layers of {} heads of {} x {} cells", set.values.size(),
                set.layers.size(), set.heads.size(), set.rows.size(), set.columns.size());
  }
  add_masks(set, cells, json);
  if (numbers == PageNumbers::F32) {
    json["data"] = base64(bytes_of(set.values));
  } else if (numbers == PageNumbers::F16) {
    std::vector<std::uint16_t> halves(set.values.size());
    std::ranges::transform(set.values, halves.begin(), [](float value) { return to_half(value); });
    json["data"] = base64(bytes_of(halves));
  } else {
    std::vector<float> most;
    json["data"] = base64(bytes_of(in_steps(set.values, cells, most)));
    json["most"] = most;
  }
  return json;
}

}  // namespace

std::string color_bytes(chart::ColorMap map) {
  std::string bytes;
  for (const std::uint32_t packed : chart::table(map)) {
    const chart::Rgb color = chart::unpack(packed);
    for (int channel = 0; channel < 3; ++channel) bytes += static_cast<char>(color[channel]);
  }
  return base64(bytes);
}

std::string filled(const PageTemplate& of, const PageHead& head, const Json& data) {
  const std::map<std::string_view, std::string> parts = {
      {"LANGUAGE", markup_text(head.language)},
      {"THEME", head.theme},
      {"KIND", head.kind},
      {"GENERATOR", markup_text(head.generator)},
      {"TITLE", markup_text(head.title)},
      {"STYLE", std::string(of.style)},
      {"DATA", json_in_markup(to_text(data, -1))},
      {"SCRIPT", fmt::format("\"use strict\";\n(() => {{\n{}}})();\n", of.script)}};
  std::string result;
  const std::string_view text = of.html;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t open = text.find("{{", begin), close = text.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos) return result.append(text.substr(begin));
    result.append(text.substr(begin, open - begin)).append(parts.at(text.substr(open + 2, close - open - 2)));
    begin = close + 2;
  }
  return result;
}

PageNumbers page_numbers(std::uint64_t cells) {
  if (cells <= kExactCells) return PageNumbers::F32;
  return cells <= kHalfCells ? PageNumbers::F16 : PageNumbers::U8;
}

std::string encode_page(const AttentionPage& page) {
  const std::uint64_t cells = cells_of(page);
  if (page.sets.empty()) throw Error("a page without attention");
  if (cells > kMaxPageCells) {
    throw Error("a page of {} cells is too large for a browser, {} fit; choose fewer layers, heads or queries", cells,
                kMaxPageCells);
  }
  const PageNumbers numbers = page_numbers(cells);
  Json colors = Json::array();
  for (std::uint32_t head = 0; head < chart::kHeadColors; ++head) {
    const chart::Rgb color = chart::head_color(head);
    colors.push_back(fmt::format("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]));
  }
  Json data = {{"title", page.title},
               {"subtitle", page.subtitle},
               {"made", page.made},
               {"note", std::string(note_of(numbers)) + note_of_odd(page)},
               {"encoding", name_of(numbers)},
               {"lastStep", kLastStep},
               {"colors", color_bytes(page.color_map)},
               {"headColors", std::move(colors)},
               {"images", Json::array()},
               {"sets", Json::array()}};
  for (const auto& image : page.images) data["images"].push_back("data:image/png;base64," + base64(encode_png(*image)));
  for (const PageSet& set : page.sets) data["sets"].push_back(describe(set, numbers));
  const char* theme = page.theme == PageTheme::Auto ? "auto" : page.theme == PageTheme::Dark ? "dark" : "light";
  return filled({kPageHtml, kPageStyle, kPageScript},
                {.theme = theme, .kind = "attention", .generator = page.made, .title = page.title}, data);
}

}  // namespace headlight::exporting
