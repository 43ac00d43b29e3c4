# Which build this is: a hash over all sources and what they are compiled with. Machine code that is kept on disk is
# found again by the same build only (src/codegen/identity.cpp). The hash is a file of its own, written anew when a
# source has changed; as a script (cmake -P) this file writes it.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${LIST} sources)
  set(text "${WITH}")
  foreach(source IN LISTS sources)
    file(SHA256 ${ROOT}/${source} hash)
    string(APPEND text "${source} ${hash}\n")
  endforeach()
  string(SHA256 id "${text}")
  file(WRITE ${OUT} "namespace anew::codegen {\nextern const char* const build_id;\nconst char* const build_id = \"${id}\";\n}\n")
  return()
endif()

# The source that defines `build_id`.
function(anew_build_id out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
  list(SORT sources)
  list(JOIN sources "\n" lines)
  set(list ${PROJECT_BINARY_DIR}/build_id.txt)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(with "${PROJECT_VERSION} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${ANEW_SANITIZE}")
  string(APPEND with " ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  set(${out} ${PROJECT_BINARY_DIR}/build_id.cpp)
  set_source_files_properties(${${out}} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  add_custom_command(OUTPUT ${${out}}
                     COMMAND ${CMAKE_COMMAND} -DLIST=${list} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${${out}} "-DWITH=${with}"
                             -P ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
                     DEPENDS ${sources} ${list} ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
                     COMMENT "Naming this build" VERBATIM)
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()
