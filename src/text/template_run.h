#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "text/template_syntax.h"

namespace headlight::text {

/// The text that a template makes with these variables, an object. Throws Error "line N: …" for what Python would refuse,
/// for raise_exception(), and for a template that takes too long or writes too much.
std::string run_template(const TemplateNode& parsed, const nlohmann::ordered_json& variables, Budget& budget);

}  // namespace headlight::text
