#include "app/views/head/head_about.h"

#include <array>

#include <fmt/format.h>

namespace headlight::app {

std::string HeadAbout::text() const {
  std::string all = kind;
  for (const std::string* part : {&sizes, &line, &grouping}) {
    if (!part->empty()) all += fmt::format(" · {}", *part);
  }
  return all;
}

std::string fit_about(const HeadAbout& about, float room, const view::MeasureText& measure) {
  const std::string whole = about.text();
  if (measure(whole) <= room) return whole;
  HeadAbout left = about;
  left.grouping = about.brief_grouping;
  if (const std::string brief = left.text(); measure(brief) <= room) return brief;
  for (std::string* part : std::array{&left.sizes, &left.grouping, &left.line}) {
    if (part->empty()) continue;
    part->clear();
    const std::string text = left.text() + " …";
    if (measure(text) <= room) return text;
  }
  return view::shorten(about.kind, room, measure);
}

}  // namespace headlight::app
