# Run by CPack before it packs: what Debian's policy asks of a package and no other installation has, a copyright file and a changelog,
# both in the folder of documents. CMake lists of this file are CPack's.
set(documents "${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/headlight")
file(COPY "${CMAKE_CURRENT_LIST_DIR}/copyright" DESTINATION "${documents}")
file(REMOVE "${documents}/LICENSE")  # repeated in the copyright file
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
file(WRITE "${documents}/changelog"
  "headlight (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
execute_process(COMMAND gzip -9nf "${documents}/changelog" "${documents}/CHANGELOG.md" COMMAND_ERROR_IS_FATAL ANY)
