#include "export/lesson_page.h"

#include "core/json.h"
#include "export/markup.h"
#include "export/page_template.h"

namespace headlight::exporting {

std::string encode_page(const LessonPage& page) {
  Json data = page.data;
  data["colors"] = color_bytes(chart::ColorMap::Viridis);
  return filled(kLessonHtml, {{"LANGUAGE", markup_text(page.language)},
                              {"KIND", markup_text(page.kind)},
                              {"TITLE", markup_text(page.title)},
                              {"STYLE", std::string(kLessonStyle)},
                              {"DATA", json_in_markup(to_text(data, -1))},
                              {"SCRIPT", closed(kLessonScript)}});
}

}  // namespace headlight::exporting
