# What Tilecheck stands on; all of it comes from Debian 12's packages (tools/install-deps).
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(xtensor REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
add_library(hwy::hwy ALIAS PkgConfig::hwy)

add_library(tilecheck_flags INTERFACE)
target_compile_options(tilecheck_flags INTERFACE
  -march=x86-64-v3 -ffp-contract=off -fno-math-errno
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror
  -Wno-restrict)  # GCC 12 warns falsely on "text" + std::string (GCC bug 105651)
target_include_directories(tilecheck_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(TILECHECK_SANITIZE)
  target_compile_options(tilecheck_flags INTERFACE -fsanitize=${TILECHECK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tilecheck_flags INTERFACE -fsanitize=${TILECHECK_SANITIZE})
endif()
