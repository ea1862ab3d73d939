# What Tilecheck stands on; all of it comes from Debian 12's packages (tools/install-deps).
# Installed with the library too: tilecheckConfig.cmake includes it to find the same packages again.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(PkgConfig REQUIRED)
if(NOT TARGET hwy::hwy)
  pkg_check_modules(hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
  add_library(hwy::hwy ALIAS PkgConfig::hwy)
endif()
