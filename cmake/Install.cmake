# `cmake --install build/release [--prefix …] [--component …]`, in components:
#   runtime        the programs, menu entry, icons, types of files, lessons, sets of prompts, texts to try
#   models         the bundled models, which HEADLIGHT_BUNDLED_MODELS=OFF leaves out
#   fonts          those of HEADLIGHT_BUNDLED_FONTS, for systems without any
#   documentation  manual pages, completions of shells, README, changelog, licence
# Shaders are inside the program, which finds the rest relative to its own path (app/models/starter_view.h).
include(GNUInstallDirs)
option(HEADLIGHT_BUNDLED_MODELS "Install the trained models; the training text of two states no licence (assets/models/*/README.md)" ON)
set(HEADLIGHT_BUNDLED_FONTS "" CACHE STRING "Files of fonts to install, for systems without fonts; separated by semicolons")

install(TARGETS headlight headlight-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(FILES assets/headlight.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT runtime)
install(FILES assets/headlight.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo RENAME localhost.headlight.Headlight.metainfo.xml
  COMPONENT runtime)
install(FILES assets/icon/headlight.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT runtime)
foreach(size 16 32 48 64 128 256)
  install(FILES assets/icon/headlight-${size}.png
    DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/${size}x${size}/apps RENAME headlight.png COMPONENT runtime)
endforeach()
install(DIRECTORY assets/examples assets/lessons assets/prompts DESTINATION ${CMAKE_INSTALL_DATADIR}/headlight COMPONENT runtime)
install(FILES assets/headlight-mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages RENAME headlight.xml COMPONENT runtime)
if(HEADLIGHT_BUNDLED_MODELS)
  install(DIRECTORY assets/models DESTINATION ${CMAKE_INSTALL_DATADIR}/headlight COMPONENT models)
endif()
if(HEADLIGHT_BUNDLED_FONTS)  # app/cli/command_line.cpp names the first to fontconfig
  install(FILES assets/fonts.conf ${HEADLIGHT_BUNDLED_FONTS} DESTINATION ${CMAKE_INSTALL_DATADIR}/headlight/fonts COMPONENT fonts)
endif()
# Manual pages and completions are written by tools/manual.
set(manual ${CMAKE_CURRENT_BINARY_DIR}/manual)
install(CODE "
  file(REMOVE_RECURSE \"${manual}\")
  execute_process(COMMAND \"$<TARGET_FILE:headlight-manual>\" \"${manual}\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages \"${manual}/man/man1/*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT documentation)
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT documentation)
install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT documentation PATTERN man EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
