# What files need: libzip for .npz, found by itself because its CMake package asks for programs that Debian packages apart;
# JSON, headers only, for .safetensors. Gives ANEW_ZIP_INCLUDE and ANEW_ZIP_LIBRARY.
find_path(ANEW_ZIP_INCLUDE zip.h)
find_library(ANEW_ZIP_LIBRARY zip)
if(NOT ANEW_ZIP_INCLUDE OR NOT ANEW_ZIP_LIBRARY)
  message(FATAL_ERROR "libzip is missing: install libzip-dev")
endif()
find_package(nlohmann_json QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "nlohmann/json.hpp is missing: install nlohmann-json3-dev")
endif()
