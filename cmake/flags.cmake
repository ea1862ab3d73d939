# tilecheck_flags: how everything here is compiled. Results must have the same bits everywhere, so the baseline is fixed
# (x86-64-v3) and no multiply and add is fused unless the source says so.
add_library(tilecheck_flags INTERFACE)
target_compile_features(tilecheck_flags INTERFACE cxx_std_20)
target_compile_options(tilecheck_flags INTERFACE $<BUILD_INTERFACE:
  -march=x86-64-v3 -ffp-contract=off -fno-math-errno
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns falsely on "text" + std::string (GCC bug 105651).
  target_compile_options(tilecheck_flags INTERFACE "$<BUILD_INTERFACE:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tilecheck_flags INTERFACE $<BUILD_INTERFACE:-Wno-c99-extensions -Wno-unknown-pragmas>)  # its own f16c intrinsics need it
endif()
target_include_directories(tilecheck_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/tilecheck>)

if(TILECHECK_SANITIZE)
  target_compile_options(tilecheck_flags INTERFACE $<BUILD_INTERFACE:
    -fsanitize=${TILECHECK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(tilecheck_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=${TILECHECK_SANITIZE}>)
endif()
if(TILECHECK_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "TILECHECK_FUZZ needs clang (libFuzzer): use the fuzz preset")
  endif()
  target_compile_options(tilecheck_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link>)
endif()
