# anew_mpi: programs of several processes (anew/mpi.h), a library of its own, built where MPI is found (Open MPI or MPICH;
# MPI_EXECUTABLE_SUFFIX=.mpich or .openmpi says which where there are both).
# ANEW_MPI: AUTO, ON (an error where there is no MPI) or OFF. Gives ANEW_WITH_MPI, and `anew_mpi_test(name ranks command...)`.
set(ANEW_WITH_MPI OFF)
if(NOT ANEW_MPI STREQUAL "OFF" AND NOT ANEW_FOLDERS AND NOT ANEW_SANITIZE)  # MPI itself leaks and races
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI COMPONENTS CXX QUIET)
  if(MPI_CXX_FOUND)
    set(ANEW_WITH_MPI ON)
    message(STATUS "MPI: ${MPI_CXX_COMPILER}, ${MPIEXEC_EXECUTABLE}")
  elseif(ANEW_MPI STREQUAL "AUTO")
    message(STATUS "no MPI (libopenmpi-dev openmpi-bin): anew_mpi, its tests and examples are left out")
  else()
    message(FATAL_ERROR "MPI is missing: install libopenmpi-dev and openmpi-bin, or configure with -DANEW_MPI=OFF")
  endif()
endif()

# A companion of the library, which sees its internals: objects, of which the tests link theirs, and a library of the kind
# of `anew`.
function(anew_extension name)
  if(NOT ANEW_WITH_MPI)
    return()
  endif()
  anew_sources(sources ${PROJECT_SOURCE_DIR}/src/${name})
  add_library(anew_${name}_objects OBJECT ${sources})
  target_include_directories(anew_${name}_objects PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(anew_${name}_objects PRIVATE anew_internal_flags fmt::fmt Threads::Threads MPI::MPI_CXX)
  target_compile_options(anew_${name}_objects PRIVATE $<$<CONFIG:Release>:-O1>)
  get_property(first GLOBAL PROPERTY ANEW_FIRST_TRACE)
  anew_precompile(anew_${name}_objects ${first})
  anew_unity(anew_${name}_objects)
  set_property(GLOBAL APPEND PROPERTY ANEW_COMPANIONS $<TARGET_OBJECTS:anew_${name}_objects>)

  get_target_property(type anew TYPE)
  string(REPLACE _LIBRARY "" kind ${type})
  add_library(anew_${name} ${kind} $<TARGET_OBJECTS:anew_${name}_objects>)
  add_library(anew::${name} ALIAS anew_${name})
  target_link_libraries(anew_${name} PUBLIC anew PRIVATE MPI::MPI_CXX fmt::fmt)
  set_target_properties(anew_${name} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                                                SOVERSION ${PROJECT_VERSION_MAJOR})
endfunction()

# A test that runs a program on so many ranks. The variables let them share processors, bind none of them to one that
# others use, and let root run them, as in containers; they are Open MPI's, others need none.
function(anew_mpi_test name ranks)
  if(NOT MPIEXEC_EXECUTABLE)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no mpirun found (openmpi-bin)")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
    return()
  endif()
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(environment ANEW_VERIFY=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 PROCESSORS 1 ENVIRONMENT "${environment}")
endfunction()
