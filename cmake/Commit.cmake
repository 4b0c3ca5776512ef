# headlight_commit(TARGET): a source of TARGET with `kCommit` of app/state/version.h, the commit that is built and its date: "9cfc9a31 2026-11-26".
# It alone is compiled again after a commit. Of an archive that git made the archive says it (.gitattributes); empty without either.
# As a script (cmake -P) it writes that source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit)
  if(commit MATCHES "Format:")
    execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} log -1 --format=%h\ %cs
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(failed)
      set(commit "")
    endif()
  endif()
  file(WRITE ${OUT} "// Made by cmake/Commit.cmake.\n#include \"app/state/version.h\"\n\nnamespace headlight::app {\n\nconst std::string_view kCommit = \"${commit}\";\n\n}  // namespace headlight::app\n")
  return()
endif()

function(headlight_commit target)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/commit.cpp)
  set(log)
  if(EXISTS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)  # changes with every commit and every checkout
    set(log ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
  endif()
  add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -DOUT=${out} -P ${CMAKE_SOURCE_DIR}/cmake/Commit.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/cmake/Commit.cmake ${CMAKE_SOURCE_DIR}/cmake/commit.txt ${log} VERBATIM)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
