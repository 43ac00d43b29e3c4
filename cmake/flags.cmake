# Compile options of everything built here. They are private to this build: a user's program needs none of them.
# Contraction stays off everywhere, because equal bits under recomputation are a promise of the library.

option(ANEW_WERROR "Treat warnings as errors" ON)
set(ANEW_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, such as address,undefined or thread")

add_library(anew_flags INTERFACE)
target_compile_features(anew_flags INTERFACE cxx_std_20)
target_compile_options(anew_flags INTERFACE -Wall -Wextra -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms inside "text" + std::string(...).
  target_compile_options(anew_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # std::stable_sort uses a function that is deprecated: clang says so where it comes from a precompiled header.
  target_compile_options(anew_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(ANEW_WERROR)
  target_compile_options(anew_flags INTERFACE -Werror)
endif()
if(ANEW_SANITIZE)
  target_compile_options(anew_flags INTERFACE -fsanitize=${ANEW_SANITIZE} -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(anew_flags INTERFACE -Wno-maybe-uninitialized)  # false alarms in instrumented code
  endif()
  target_link_options(anew_flags INTERFACE -fsanitize=${ANEW_SANITIZE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Most files need less than this many KiB: collecting garbage would take a twelfth of the time of the compiler.
  target_compile_options(anew_flags INTERFACE --param=ggc-min-heapsize=1000000)
endif()

# Tests, examples and programs of users, whose work is done in the library, are compiled quickly.
add_library(anew_program_flags INTERFACE)
target_link_libraries(anew_program_flags INTERFACE anew_flags)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(anew_program_flags INTERFACE -O0)
endif()

# Some fifty programs are linked here: a fast linker takes a fifth of the time of the usual one.
if(PROJECT_IS_TOP_LEVEL AND NOT ANEW_SANITIZE)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold ANEW_LINKS_WITH_GOLD)
  if(ANEW_LINKS_WITH_GOLD)
    target_link_options(anew_flags INTERFACE -fuse-ld=gold)
  endif()
endif()

# The library and what sees its internals use one instruction set, so that inline functions and vector arguments agree
# between object files. Files named *_avx512.cpp go beyond it; whoever calls them asks the processor first.
add_library(anew_internal_flags INTERFACE)
target_link_libraries(anew_internal_flags INTERFACE anew_flags)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(ANEW_X86 ON)
  target_compile_options(anew_internal_flags INTERFACE -march=x86-64-v3)
else()
  set(ANEW_X86 OFF)
endif()

# Sources of a folder: all of them, without the *_avx512.cpp where those cannot be compiled.
function(anew_sources out folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx512\\.cpp$")
      if(ANEW_X86)
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                                    COMPILE_OPTIONS "-march=x86-64-v4;-mprefer-vector-width=512")
      else()
        list(REMOVE_ITEM sources ${source})
      endif()
    endif()
  endforeach()
  # Their loops are vectors by hand or move bytes: -O3 takes a third more time to compile them than -O2 and gains nothing.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(quick ${sources})
    list(FILTER quick INCLUDE REGEX "/runtime/(fourier_(avx2|avx512|portable)|gather_scatter|sort_lines)\\.cpp$")
    set_property(SOURCE ${quick} APPEND PROPERTY COMPILE_OPTIONS -O2)
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# What nearly every file includes, parsed once. Files still include what they use: tools/check_headers reads headers by
# themselves. Standard headers and fmt never change; above `trace` come its own headers, whose change compiles everything
# above it anyway.
set(ANEW_COMMON_HEADERS <algorithm> <array> <atomic> <cmath> <cstdint> <functional> <limits> <map> <memory> <mutex> <numeric>
    <optional> <set> <span> <string> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
set(ANEW_TRACE_HEADERS <anew/ops.h> ${PROJECT_SOURCE_DIR}/src/trace/trace.h)

# precompile(<target> <first> [headers...]): the target reads these headers precompiled; all targets of one set of flags
# share what <first>, one of them, makes.
function(anew_precompile target first)
  if(ANEW_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # ccache asks for it
  endif()
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ANEW_COMMON_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# precompile_program(<target>...): programs of users, some seventy here, which include <anew/anew.h> anyway, read it precompiled:
# half of the time that each takes. Nobody else's: their flags are those of anew_program_flags.
function(anew_precompile_program)
  if(NOT TARGET anew_program_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/program_headers.cpp CONTENT "" @ONLY)
    add_library(anew_program_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/program_headers.cpp)
    set_target_properties(anew_program_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(anew_program_headers PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
    target_link_libraries(anew_program_headers PRIVATE anew::anew anew_program_flags)
    target_precompile_headers(anew_program_headers PRIVATE <anew/anew.h>)
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM anew_program_headers)
  endforeach()
endfunction()

# precompile_folder(<folder> [folders it may include]): one of two sets, that of `base` or that of `trace`. The first folder
# of its kind makes it, since ANEW_FOLDERS may leave any of them out.
function(anew_precompile_folder name)
  set(kind BASE)
  get_property(above GLOBAL PROPERTY ANEW_ABOVE_TRACE)
  foreach(folder ${name} ${ARGN})
    if(folder STREQUAL "trace" OR folder IN_LIST above)
      set(kind TRACE)
      set(headers ${ANEW_TRACE_HEADERS})
    endif()
  endforeach()
  if(kind STREQUAL "TRACE")
    set_property(GLOBAL APPEND PROPERTY ANEW_ABOVE_TRACE ${name})
  endif()
  get_property(first GLOBAL PROPERTY ANEW_FIRST_${kind})
  if(NOT first)
    set(first anew_${name})
    set_property(GLOBAL PROPERTY ANEW_FIRST_${kind} ${first})
  endif()
  anew_precompile(anew_${name} ${first} ${headers})
endfunction()

# unity(<target>): ANEW_UNITY_SIZE sources at a time, so names in unnamed namespaces differ within a folder, whatever files come
# together. Eight take some 8 s, a fifth less than four and four do; sixteen take another tenth less. Where optimizing takes
# most of the time, nothing is gained, and four are compiled beside each other. Rows, composed functions and tests
# are what is changed most: eight, so that a change of one is compiled within seconds.
function(anew_unity target)
  if(ANEW_UNITY_SIZE GREATER 1)
    set(size ${ANEW_UNITY_SIZE})
    if(target MATCHES "^anew_(loops|runtime)$" AND size GREATER 4)
      set(size 4)
    elseif(target MATCHES "^(anew_(ops|composed)|test_.*)$" AND size GREATER 8)
      set(size 8)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # of files that include a .cpp
    endif()
  endif()
endfunction()
