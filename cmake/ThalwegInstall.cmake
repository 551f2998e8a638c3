# SPDX-License-Identifier: Apache-2.0
#
# Install rules: the library, its headers, and a package for find_package(thalweg). The component
# `contract` is the contract suite, which authors of backends build against the rest.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/thalweg")
set(contract_dir "${CMAKE_INSTALL_DATADIR}/thalweg/contract")

install(TARGETS thalweg EXPORT thalweg-targets)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/thalweg"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING
  PATTERN "*.hpp"
)
install(EXPORT thalweg-targets NAMESPACE thalweg:: DESTINATION "${package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/thalweg-config.cmake.in"
  "${PROJECT_BINARY_DIR}/thalweg-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS contract_dir
)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/thalweg-config-version.cmake"
  COMPATIBILITY SameMinorVersion
)
install(
  FILES "${PROJECT_BINARY_DIR}/thalweg-config.cmake"
        "${PROJECT_BINARY_DIR}/thalweg-config-version.cmake"
  DESTINATION "${package_dir}"
)

install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/tests/contract/"
  DESTINATION "${contract_dir}"
  COMPONENT contract
  FILES_MATCHING
  PATTERN "*.hpp"
  PATTERN "*.cpp"
  PATTERN "*.cmake"
  PATTERN "README.md"
)

if(TARGET thalweg_tool)
  install(TARGETS thalweg_tool)
endif()
