# `cpack --config build/release/CPackConfig.cmake`: a Debian package of what `cmake --install` installs. Its dependencies are those of the
# libraries that the program was linked with (dpkg-shlibdeps), so a package is for the release of Debian that it was built on;
# tools/try_package installs one on a bare system.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headlight)
set(CPACK_PACKAGE_CONTACT "The Headlight authors <headlight@localhost>" CACHE STRING "Who maintains the package: a name and an address")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "desktop microscope for multi-head attention")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Type a sentence and see every head of a transformer attend to it, computed
on any Vulkan device. Opens models of the Hugging Face cache, .gguf files,
and attention that other programs saved; exports figures and numbers.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Fonts are looked for by name at run time; a Vulkan device comes with a driver.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "fonts-inter, fonts-dejavu-core")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "mesa-vulkan-drivers | vulkan-icd")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, python3-numpy")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/debian/complete.cmake)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
include(CPack)
