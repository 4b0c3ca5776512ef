#pragma once

#include <string>

#include "text/template_value.h"

namespace headlight::text {

/// The text that a template makes with these variables. Throws Error "line N: …" for what Python would refuse, for
/// raise_exception(), and for a template that takes too long or writes too much.
std::string run_template(const TemplateNode& parsed, const TemplateJson& variables);

}  // namespace headlight::text
