#pragma once

#include "export/json.h"

namespace headlight::exporting {

/// A page about lessons: what is on it, of which its script makes the page. `kind`: "lesson", "worksheet" or "results";
/// `language`: two letters.
struct LessonPage {
  std::string kind, title, language;
  Json data;
};

/// One self-contained file, as encode_page() makes them.
std::string encode_page(const LessonPage& page);

}  // namespace headlight::exporting
