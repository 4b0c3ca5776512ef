#include "app/window/models.h"

#include "app/models/starter_view.h"
#include "app/state/opened_file.h"
#include "capture/capture_file.h"

namespace headlight::app {

namespace fs = std::filesystem;

void Models::browse() {
  browser_.open();
  look();
}

void Models::look() {
  jobs_.look_for_models({.recent = desk_.settings.recent_models, .folder = desk_.settings.model_folder});
}

std::vector<WelcomeCard> Models::welcome_cards() {
  using Kind = WelcomeCard::Kind;
  std::vector<WelcomeCard> cards;
  const auto add_model = [&](Kind kind, const StarterView& starter, const char* title, const char* summary) {
    const std::optional<std::string> path = desk_.catalog.bundled_model(starter.model);
    if (!path) return;
    const bool is_shown = model_path(desk_.state.source) == *path && desk_.state.text() == starter.text;
    cards.push_back({.kind = kind, .title = title, .summary = summary, .is_shown = is_shown});
  };
  add_model(Kind::Captions, kCaptionsStarter, "Repeated captions", "One sentence twice: what a head finds again");
  add_model(Kind::Translator, kTranslatorStarter, "Translate German", "Which German word each English word comes from");
  cards.push_back({.kind = Kind::Lessons, .title = "Lessons", .summary = "From what a query is to induction heads"});
  WelcomeCard notebooks{.kind = Kind::Notebooks, .title = "Notebooks", .summary = "Networks of published notebooks"};
  for (const PresetInfo& preset : desk_.catalog.presets()) {
    const std::size_t split = preset.title.find(" · ");
    const bool is_numbered = split != std::string::npos;
    notebooks.list.push_back({.kind = Kind::Preset,
                              .title = is_numbered ? "Notebook " + preset.title.substr(0, split) : preset.title,
                              .summary = is_numbered ? preset.title.substr(split + 4) : preset.summary,
                              .preset = preset.name,
                              .is_shown = notebook_name(desk_.state.source) == preset.name});
    notebooks.is_shown = notebooks.is_shown || notebooks.list.back().is_shown;
  }
  cards.push_back(std::move(notebooks));
  cards.push_back(
      {.kind = Kind::Browse, .title = "Open a model\u2026", .summary = "A folder, a .gguf file, or saved attention"});
  return cards;
}

void Models::begin_with(const WelcomeCard& card) {
  if (card.kind != WelcomeCard::Kind::Browse) desk_.settings.shows_welcome = false;  // what is begun gets its room
  const auto show = [&](const StarterView& starter) {
    const std::optional<std::string> path = desk_.catalog.bundled_model(starter.model);
    if (!path) return;
    open(*path);
    text_to_show_ = starter.text;
  };
  switch (card.kind) {
    case WelcomeCard::Kind::Captions:
      return show(kCaptionsStarter);
    case WelcomeCard::Kind::Translator:
      return show(kTranslatorStarter);
    case WelcomeCard::Kind::Lessons:
      if (!lessons_.player().is_open()) lessons_.toggle();
      break;
    case WelcomeCard::Kind::Notebooks:
      break;  // one of its list is begun with
    case WelcomeCard::Kind::Preset:
      desk_.undo.seal();
      select_preset(desk_.state, card.preset);
      break;
    case WelcomeCard::Kind::Browse:
      browse();
      break;
  }
  desk_.ui.request_redraw(2);
}

void Models::open(const std::string& path) {
  text_to_show_.reset();
  desk_.attempt([&] {
    const fs::path file = expand_home(path);
    if (capture::is_capture_path(file)) return open_capture(file);
    jobs_.open(utf8(file));
  });
}

void Models::begin_frame() {
  const std::optional<ModelJobs::Opened> opened = jobs_.poll();
  if (opened) desk_.ui.request_redraw(2);
  if (opened && opened->model) return show_model(*opened);
  if (opened) text_to_show_.reset();
  if (!opened) return leave_what_cannot_be_loaded();
  if (opened->holds_models) {
    desk_.settings.model_folder = opened->path;
    return browse();
  }
  refuse(opened->error);
}

void Models::refuse(const std::string& trouble) { browser_.is_open() ? browser_.refuse(trouble) : desk_.warn(trouble); }

void Models::show_model(const ModelJobs::Opened& opened) {
  desk_.stop_generating();
  opened_ = opened.model;
  desk_.undo.seal();
  const bool is_other = model_path(desk_.state.source) != opened.path;
  if (!is_other) ++desk_.opening;
  select_model(desk_.state, opened.path, opened.model->masks);
  if (is_other) select_first_head(desk_.state, *opened.model);
  if (const std::optional<std::string> text = std::exchange(text_to_show_, std::nullopt)) {
    desk_.state.text() = *text;
    desk_.state.view.tab = kHeadView;
    desk_.state.model().ids.clear();
    desk_.state.model().target_text.clear();
    desk_.state.model().target_ids.clear();
    select_first_head(desk_.state, *opened.model);
    desk_.ui.ensure_glyphs(desk_.state.text());
  }
  remember_model(desk_.settings, opened.path);
  browser_.close();
  desk_.notice = {};
  if (!opened.model->tokenizer) {
    desk_.warn(opened.model->tokenizer_problem + "; only token ids can be given");
  } else if (!opened.model->notes.empty()) {
    desk_.warn(fmt::format("{}", fmt::join(opened.model->notes, "; ")));
  }
}

void Models::leave_what_cannot_be_loaded() {
  if (desk_.result.run != 0 && desk_.result.model == opened_) opened_.reset();
  if (!desk_.result.is_load_error || desk_.result.revision != desk_.revision) return;
  desk_.notice = {.text = is_load_cancelled_ ? "Loading was cancelled" : desk_.result.error,
                  .is_warning = !is_load_cancelled_};
  is_load_cancelled_ = false;
  go_back();
}

void Models::go_back() {
  opened_.reset();
  const std::string left = model_path(desk_.state.source);
  while (desk_.undo.can_undo() && model_path(desk_.state.source) == left) desk_.state = desk_.undo.undo();
  if (model_path(desk_.state.source) == left) select_model(desk_.state, "", {});
  desk_.ui.request_redraw(2);
}

void Models::give_up_loading() {
  if (desk_.engine->progress().load) {
    is_load_cancelled_ = true;
    desk_.engine->cancel_load();
  } else if (desk_.is_arriving()) {
    desk_.tell("Loading was cancelled");
    if (!is_model(desk_.state.source)) {
      desk_.state = desk_.held;
      desk_.ui.request_redraw(2);
    } else {
      go_back();
    }
  }
}

void Models::dialog(Frame& frame) {
  const ModelBrowserChoice choice =
      browser_.draw(frame, {.models = jobs_.found(),
                            .is_looking = jobs_.is_looking(),
                            .opening = jobs_.is_opening() ? jobs_.path_being_opened() : std::string(),
                            .shown = model_path(frame.state.source)});
  if (choice.path) open(named_model(*choice.path));
}

void Models::show_capture(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  // The engine opens its own; what is wrong with it is reported before anything changes.
  const capture::CaptureFile file(whole, false);
  desk_.stop_generating();
  desk_.undo.seal();
  select_capture(desk_.state, utf8(whole));
  desk_.tell(file.note());
}

void Models::open_capture(const fs::path& path) {
  try {
    show_capture(path);
    browser_.close();
  } catch (const std::exception& error) {
    refuse(error.what());
  }
  desk_.ui.request_redraw(2);
}

std::string Models::pending() const {
  if (jobs_.is_opening()) return "a model is opened";
  return jobs_.is_looking() ? "models are looked for" : "";
}

double Models::redraw_after_s() const {
  constexpr double kJobInterval_s = 0.05;  // jobs say that they end just before they do
  return jobs_.is_opening() || jobs_.is_looking() ? kJobInterval_s : Feature::redraw_after_s();
}

}  // namespace headlight::app
