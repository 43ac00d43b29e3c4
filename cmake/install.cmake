# What `cmake --install` gives: headers, the library, `find_package(anew)` and pkg-config `anew`; in three components,
# `runtime`, `dev` and `doc`, of which cmake/package.cmake makes packages. Where there is MPI also anew_mpi, component `mpi`:
# `find_package(anew COMPONENTS mpi)` and pkg-config `anew-mpi`.
# A static library carries its need for fmt, LAPACK, libzip and LLVM on to whoever links it; a shared one keeps them to
# itself.
# The pkg-config file finds its prefix from its own place, so an installed tree can be moved.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/anew DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(TARGETS anew EXPORT anewTargets LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/anew)
install(EXPORT anewTargets NAMESPACE anew:: DESTINATION ${config_dir} COMPONENT dev)
configure_package_config_file(cmake/anewConfig.cmake.in anewConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(anewConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/anewConfig.cmake ${PROJECT_BINARY_DIR}/anewConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT dev)

get_target_property(type anew TYPE)
if(type STREQUAL "STATIC_LIBRARY")
  set(ANEW_PC_REQUIRES "fmt lapack libzip")
  if(ANEW_LLVM)
    set(ANEW_PC_LIBS " -L${ANEW_LLVM_lib} -lLLVM-19")
  endif()
endif()
file(RELATIVE_PATH ANEW_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/anew.pc.in anew.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/anew.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# Pages to read as they are, the site where `./dev docs` has made it, and the examples.
set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/anew)
install(DIRECTORY docs/ DESTINATION ${doc_dir} COMPONENT doc FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY build/site/ DESTINATION ${doc_dir}/html COMPONENT doc OPTIONAL)
install(DIRECTORY examples DESTINATION ${doc_dir} COMPONENT doc FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h"
        PATTERN acceptance EXCLUDE)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${doc_dir} COMPONENT doc)

if(ANEW_WITH_MPI)
  install(TARGETS anew_mpi EXPORT anewMpiTargets COMPONENT mpi)
  install(EXPORT anewMpiTargets NAMESPACE anew:: DESTINATION ${config_dir} COMPONENT mpi)
  list(JOIN MPI_CXX_LIBRARIES " " ANEW_PC_MPI_LIBS)
  configure_file(cmake/anew-mpi.pc.in anew-mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/anew-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT mpi)
endif()
