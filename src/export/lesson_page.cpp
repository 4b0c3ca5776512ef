#include "export/lesson_page.h"

#include "export/page_template.h"

namespace headlight::exporting {

std::string encode_page(const LessonPage& page) {
  Json data = page.data;
  data["colors"] = color_bytes(chart::ColorMap::Viridis);
  return filled({kLessonHtml, kLessonStyle, kLessonScript},
                {.language = page.language, .kind = page.kind, .title = page.title}, data);
}

}  // namespace headlight::exporting
