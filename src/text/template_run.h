#pragma once

#include <string>

#include "text/chat_json.h"
#include "text/template_syntax.h"

namespace headlight::text {

/// The text that a template makes with these variables, an object. Throws Error "line N: …" for what Python would refuse,
/// for raise_exception(), and for a template that takes too long or writes too much.
std::string run_template(const TemplateNode& parsed, const ChatJson& variables, Budget& budget);

}  // namespace headlight::text
