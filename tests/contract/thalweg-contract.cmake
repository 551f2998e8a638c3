# SPDX-License-Identifier: Apache-2.0
#
# Defines a function for backends that want to be tested:
#
#   thalweg_add_contract_suite(<target> <source with the backend's description>...)
#
# makes a GoogleTest program of the suite in this folder and the given sources. It is part of the
# installed package: find_package(thalweg REQUIRED COMPONENTS contract). README.md here says how to
# write a description; ${thalweg_contract_dir}/backends/ has examples.

function(thalweg_add_contract_suite target)
  find_package(GTest REQUIRED)
  find_package(Threads REQUIRED)
  set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/support/*.cpp")
  add_executable(${target} ${sources} ${ARGN})
  target_compile_features(${target} PRIVATE cxx_std_20)
  # The suite includes its own files as "contract/...".
  cmake_path(GET folder PARENT_PATH parent)
  target_include_directories(${target} PRIVATE "${parent}")
  target_link_libraries(${target} PRIVATE thalweg::thalweg GTest::gtest Threads::Threads)
endfunction()
