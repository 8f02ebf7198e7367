# Warnings and sanitizers for our own code; every target gets them.
add_library(corgi_flags INTERFACE)
target_compile_options(corgi_flags INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wduplicated-cond
    -Wlogical-op -fno-common)
target_compile_definitions(corgi_flags INTERFACE _GNU_SOURCE CORGI_VERSION="${PROJECT_VERSION}")
target_include_directories(corgi_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(CORGI_WERROR)
    target_compile_options(corgi_flags INTERFACE -Werror)
endif()
if(CORGI_SANITIZE)
    target_compile_options(corgi_flags INTERFACE
        -fsanitize=${CORGI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(corgi_flags INTERFACE -fsanitize=${CORGI_SANITIZE})
endif()
# Of the libraries too: libFuzzer goes by the branches it has seen in them.
option(CORGI_FUZZ "Build the fuzz targets with libFuzzer (clang)" OFF)
if(CORGI_FUZZ)
    target_compile_options(corgi_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
