# The shared library exports what the public headers declare, as symbols of version ANEW_<n>, and hides the rest
# (tools/list_exports). Without Python it exports everything. Objects in the global property ANEW_COMPANIONS are of
# libraries that see internals; what those need is exported too. It is not linked by gold, which would export copies of
# the standard library's functions besides.
function(anew_exports target)
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    message(STATUS "no Python: the shared library exports its internals as well")
    return()
  endif()
  get_property(objects GLOBAL PROPERTY ANEW_OBJECTS)
  get_property(companions GLOBAL PROPERTY ANEW_COMPANIONS)
  set(for "")
  if(companions)
    set(for --for ${companions})
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/anew/*)
  set(script ${PROJECT_BINARY_DIR}/exports.map)
  add_custom_command(OUTPUT ${script} COMMENT "Listing what is exported" VERBATIM COMMAND_EXPAND_LISTS
                     COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/list_exports --nm ${CMAKE_NM}
                             --headers ${PROJECT_SOURCE_DIR}/include/anew --version ANEW_${PROJECT_VERSION_MAJOR}
                             --out ${script} ${objects} ${for}
                     DEPENDS ${PROJECT_SOURCE_DIR}/tools/list_exports ${headers} ${objects} ${companions})
  target_sources(${target} PRIVATE ${script})
  target_link_options(${target} PRIVATE -Wl,--version-script=${script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

get_target_property(type anew TYPE)
if(type STREQUAL "SHARED_LIBRARY")
  anew_exports(anew)
  target_link_options(anew PRIVATE -Wl,-Bsymbolic-functions -Wl,--no-undefined)
endif()
