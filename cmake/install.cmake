# Install: the command, every library and header, and what find_package(tilecheck) reads. A user's project links
# tilecheck::tilecheck and includes headers as this repository does ("sim/machine/core.h").
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(folders GLOBAL PROPERTY TILECHECK_FOLDERS)
add_library(tilecheck INTERFACE)
target_link_libraries(tilecheck INTERFACE ${folders})
add_library(tilecheck::tilecheck ALIAS tilecheck)

install(TARGETS tilecheck tilecheck_flags ${folders} EXPORT tilecheckTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilecheck)
install(TARGETS tilecheck_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(folder sim reference harness kernels)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilecheck FILES_MATCHING PATTERN "*.h")
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tilecheck)
install(EXPORT tilecheckTargets NAMESPACE tilecheck:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilecheckConfig.cmake.in ${CMAKE_BINARY_DIR}/tilecheckConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tilecheckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tilecheckConfig.cmake ${CMAKE_BINARY_DIR}/tilecheckConfigVersion.cmake ${PROJECT_SOURCE_DIR}/cmake/deps.cmake
        DESTINATION ${package_dir})
