# Compile options of everything built here. They are private to this build: a user's program needs none of them.
# Contraction stays off everywhere, because equal bits under recomputation are a promise of the library.

option(ANEW_WERROR "Treat warnings as errors" ON)
set(ANEW_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, such as address,undefined or thread")

add_library(anew_flags INTERFACE)
target_compile_features(anew_flags INTERFACE cxx_std_20)
target_compile_options(anew_flags INTERFACE -Wall -Wextra -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(anew_flags INTERFACE -Wno-restrict)  # a false alarm on every "text" + std::string(...)
endif()
if(ANEW_WERROR)
  target_compile_options(anew_flags INTERFACE -Werror)
endif()
if(ANEW_SANITIZE)
  target_compile_options(anew_flags INTERFACE -fsanitize=${ANEW_SANITIZE} -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
  target_link_options(anew_flags INTERFACE -fsanitize=${ANEW_SANITIZE})
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
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-march=x86-64-v4;-mprefer-vector-width=512")
      else()
        list(REMOVE_ITEM sources ${source})
      endif()
    endif()
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
