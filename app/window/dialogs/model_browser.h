#pragma once

#include "app/models/model_finder.h"
#include "app/widgets/folder_list.h"

namespace headlight::app {

/// The contents of the browser.
struct ModelBrowserContext {
  const std::vector<ListedModel>& models;
  bool is_looking = false;  ///< more may come
  std::string opening;      ///< the path being looked into; empty: none
  std::string shown;        ///< the path of the model on screen; empty: none
};

/// The user's choice in the browser.
struct ModelBrowserChoice {
  std::optional<std::string> path;  ///< to open
};

/// Models on this computer, by where they were found, and a field that finds them by name, or names the path of any other,
/// which can be browsed for. In the field, arrows choose from the list.
class ModelBrowser {
 public:
  void open();
  void close() {
    is_open_ = false;
    files_.close();
  }
  bool is_open() const { return is_open_; }
  /// Says why the model that was chosen can't be opened, while the dialog is open.
  void refuse(std::string trouble) {
    trouble_ = std::move(trouble);
    focus_ = shell::FieldFocus::AtEnd;  // to mend the path
  }

  ModelBrowserChoice draw(Frame& frame, const ModelBrowserContext& context);

 private:
  /// `shown`: the models that what is typed finds.
  void draw_path(Frame& frame, const ModelBrowserContext& context, const std::vector<std::size_t>& shown,
                 ModelBrowserChoice& choice);
  void draw_list(Frame& frame, const ModelBrowserContext& context, const std::vector<std::size_t>& shown,
                 ModelBrowserChoice& choice);

  bool is_open_ = false;
  std::string typed_;
  std::string trouble_;
  std::optional<std::size_t> marked_;  ///< of what is shown: Enter opens it
  bool follows_mark_ = false;
  FolderList files_{{".gguf", ".safetensors", ".bin", ".pt", ".pth"}};
  std::vector<std::filesystem::path> recent_folders_;  ///< of recent models
  shell::FieldFocus focus_ = shell::FieldFocus::None;  ///< of the path's field, in the next frame
};

}  // namespace headlight::app
