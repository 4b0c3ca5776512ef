# `cmake --install build/release [--prefix …]`: the programs, the bundled models, lessons and example texts, manual pages, completions, the menu
# entry, icons and types of files, the licence. Shaders are inside the program, which finds the models relative to its path (app/models/starter_view.cpp).
include(GNUInstallDirs)
install(TARGETS headlight headlight-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES assets/headlight.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
install(FILES assets/icon/headlight.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
foreach(size 16 32 48 64 128 256)
  install(FILES assets/icon/headlight-${size}.png
    DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/${size}x${size}/apps RENAME headlight.png)
endforeach()
foreach(folder models examples lessons)
  install(DIRECTORY assets/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/headlight)
endforeach()
install(FILES assets/headlight-mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages RENAME headlight.xml)
# Manual pages and completions are each program's own, written when it is installed.
foreach(program headlight headlight-bench)
  install(CODE "
    execute_process(COMMAND \"$<TARGET_FILE:${program}>\" manual --out \"${CMAKE_CURRENT_BINARY_DIR}/share\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)")
endforeach()
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
