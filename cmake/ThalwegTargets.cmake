# SPDX-License-Identifier: Apache-2.0
#
# What the folders src, examples, tools, tests and bench share. Sources are globbed by folder with
# CONFIGURE_DEPENDS, so that a new file needs no edit of a list.

# Compiles `target` as code of this project.
function(thalweg_own_code target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:thalweg_warnings>)
endfunction()

# Compiles `target`, which takes longer to build than to run, as THALWEG_TEST_FLAGS says.
function(thalweg_build_quickly target)
  separate_arguments(flags UNIX_COMMAND "${THALWEG_TEST_FLAGS}")
  target_compile_options(${target} PRIVATE ${flags})
endfunction()

# Gives `target`, a test or a benchmark, the private headers, and the library with its private
# symbols: a shared library hides them, so its sources are then linked a second time, as an archive.
function(thalweg_use_internals target)
  if(NOT TARGET thalweg_internals)
    add_library(thalweg_internals INTERFACE)
    get_target_property(type thalweg TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
      get_target_property(sources thalweg SOURCES)
      add_library(thalweg_archive STATIC EXCLUDE_FROM_ALL ${sources})
      thalweg_library_properties(thalweg_archive)
      target_link_libraries(thalweg_internals INTERFACE thalweg_archive)
    else()
      target_link_libraries(thalweg_internals INTERFACE thalweg)
    endif()
    target_include_directories(thalweg_internals INTERFACE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(thalweg_internals INTERFACE fmt::fmt Threads::Threads)
    if(THALWEG_TEST_HOOKS)
      target_compile_definitions(thalweg_internals INTERFACE THALWEG_TEST_HOOKS=1)
    endif()
  endif()
  target_link_libraries(${target} PUBLIC thalweg_internals)
endfunction()

# Sets `out` to the folders under the current one that hold a file that matches `pattern`.
function(thalweg_folders_with pattern out)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/${pattern}")
  set(names "")
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME name)
    list(APPEND names "${name}")
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()
