# Finds Leakline and puts it into a project's tests:
#
#   execute_process(COMMAND leakline integrate cmake
#                   OUTPUT_VARIABLE leakline_modules OUTPUT_STRIP_TRAILING_WHITESPACE)
#   list(APPEND CMAKE_MODULE_PATH "${leakline_modules}")
#   find_package(Leakline REQUIRED)
#   include(CTest)     # after find_package: `ctest -T memcheck` then uses Leakline
#
# Sets Leakline_FOUND, Leakline_EXECUTABLE, Leakline_VALGRIND and Leakline_VERSION.
# Defines leakline_add_test and leakline_add_check.

find_program(Leakline_EXECUTABLE leakline)
find_program(Leakline_VALGRIND leakline-valgrind)
mark_as_advanced(Leakline_EXECUTABLE Leakline_VALGRIND)
if(Leakline_EXECUTABLE)
  execute_process(COMMAND "${Leakline_EXECUTABLE}" --version
    OUTPUT_VARIABLE Leakline_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^leakline " "" Leakline_VERSION "${Leakline_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Leakline
  REQUIRED_VARS Leakline_EXECUTABLE Leakline_VALGRIND VERSION_VAR Leakline_VERSION)

# CTest takes what is set here when `include(CTest)` follows.
if(Leakline_FOUND AND NOT MEMORYCHECK_COMMAND)
  set(MEMORYCHECK_COMMAND "${Leakline_VALGRIND}" CACHE FILEPATH
    "Stands in for Valgrind in ctest -T memcheck")
endif()

# leakline_add_test(NAME name COMMAND program [argument ...]
#                   [LENS lens[,lens]] [SUPPRESSIONS file] [BASELINE file])
# Adds a test that fails when the program fails or leaks.
function(leakline_add_test)
  cmake_parse_arguments(arg "" "NAME;LENS;SUPPRESSIONS;BASELINE" "COMMAND" ${ARGN})
  if(NOT arg_NAME OR NOT arg_COMMAND OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "leakline_add_test needs NAME and COMMAND")
  endif()
  set(options)
  if(arg_LENS)
    list(APPEND options "--lens=${arg_LENS}")
  endif()
  foreach(file SUPPRESSIONS BASELINE)
    if(arg_${file})
      get_filename_component(path "${arg_${file}}" ABSOLUTE)
      string(TOLOWER ${file} option)
      list(APPEND options "--${option}=${path}")
    endif()
  endforeach()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()
  add_test(NAME ${arg_NAME} COMMAND "${Leakline_EXECUTABLE}" run ${options} --
    "${program}" ${arg_COMMAND})
endfunction()

# leakline_add_check(target) adds a target that checks the sources of the build; it needs
# CMAKE_EXPORT_COMPILE_COMMANDS.
function(leakline_add_check target)
  add_custom_target(${target}
    COMMAND "${Leakline_EXECUTABLE}" check "${CMAKE_BINARY_DIR}"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" VERBATIM)
endfunction()
