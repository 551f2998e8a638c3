# SPDX-License-Identifier: Apache-2.0
#
# Compiles through ccache where it is installed and the user has chosen no launcher.

find_program(THALWEG_CCACHE ccache)
mark_as_advanced(THALWEG_CCACHE)
if(THALWEG_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${THALWEG_CCACHE}")
endif()
