# LLVM 19, linked dynamically. Its own CMake package looks for libraries that only a static link needs, so llvm-config
# is asked instead. Gives ANEW_LLVM_INCLUDE and ANEW_LLVM_LIBRARY.
find_program(ANEW_LLVM_CONFIG llvm-config-19 HINTS /usr/lib/llvm-19/bin)
if(NOT ANEW_LLVM_CONFIG)
  message(FATAL_ERROR "llvm-config-19 is missing: install llvm-19-dev, or configure with -DANEW_LLVM=OFF")
endif()
foreach(part include lib)
  execute_process(COMMAND ${ANEW_LLVM_CONFIG} --${part}dir OUTPUT_VARIABLE ANEW_LLVM_${part}
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(ANEW_LLVM_INCLUDE ${ANEW_LLVM_include})
find_library(ANEW_LLVM_LIBRARY LLVM-19 PATHS ${ANEW_LLVM_lib} REQUIRED NO_DEFAULT_PATH)
