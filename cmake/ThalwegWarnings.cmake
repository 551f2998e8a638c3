# SPDX-License-Identifier: Apache-2.0
#
# The warnings of our own code, in one target. What makes them errors is the presets.

add_library(thalweg_warnings INTERFACE)
target_compile_options(
  thalweg_warnings
  INTERFACE
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wextra-semi
    # An options struct is filled by naming what differs from the defaults.
    -Wno-missing-field-initializers
    # GCC 12 reports std::string concatenation as overlapping copies (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # std::stable_sort of GCC 12's library uses what that library deprecates, which Clang reports at our
    # call. GCC reports what we use ourselves.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
)
