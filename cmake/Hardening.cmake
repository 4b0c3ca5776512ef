# Hardening of release builds: a memory error that the tests missed ends the program where it happens, so that a file can't
# exploit it. tests/cli checks the built program. Not with sanitizers, which find more.
if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$" AND NOT HEADLIGHT_SANITIZE AND NOT HEADLIGHT_FUZZ)
  # Indices of vectors, spans and strings. Loops over weights use pointers.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(WIN32)
    return()  # MinGW's linker has what Windows offers on by default
  endif()
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
    add_compile_options(-fcf-protection=full)
  endif()
  # Checked sizes in the C library's functions; level 3, where compiler and library have it, also those found at run time.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)

  set(is_shared $<OR:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>>)
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  add_compile_options($<$<NOT:${is_shared}>:-fPIE>)
  add_link_options($<${is_program}:-pie>)
  # All symbols are bound before main(), and their table is read-only from then on.
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
