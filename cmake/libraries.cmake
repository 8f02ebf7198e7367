# One static library a folder of src/.  The order is the only direction includes may point:
# each library sees itself and those it names.  tools/check-includes enforces the same.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(SMARTCOLS REQUIRED IMPORTED_TARGET smartcols)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(CLP REQUIRED IMPORTED_TARGET clp)
pkg_check_modules(CBC REQUIRED IMPORTED_TARGET cbc)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET
    libevent libevent_openssl libevent_pthreads openssl)

function(corgi_library name folder)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.c)
    if(sources)
        add_library(${name} STATIC ${sources})
        target_link_libraries(${name} PUBLIC corgi_flags ${ARGN})
    else()
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE corgi_flags ${ARGN})
    endif()
endfunction()

corgi_library(corgi_base base PkgConfig::JANSSON PkgConfig::YAML PkgConfig::SMARTCOLS
    Threads::Threads m)
corgi_library(corgi_world world corgi_base)
corgi_library(corgi_nn nn corgi_base PkgConfig::OPENBLAS)
# The networks' sources twice: in float for the product, in double for checking gradients
# (only tests link that one).  Shape assertions cost one comparison an operation and stay.
corgi_library(corgi_nn_double nn corgi_base PkgConfig::OPENBLAS)
target_compile_definitions(corgi_nn_double PUBLIC NN_DOUBLE)
foreach(library corgi_nn corgi_nn_double)
    target_compile_options(${library} PRIVATE
        -O3 -fno-math-errno -fno-trapping-math -fno-signed-zeros -UNDEBUG)
endforeach()
corgi_library(corgi_loop loop corgi_world corgi_nn corgi_base PkgConfig::CLP)
corgi_library(corgi_gpu gpu corgi_world corgi_base ${CMAKE_DL_LIBS})
corgi_library(corgi_sim sim corgi_loop)
corgi_library(corgi_store store corgi_loop PkgConfig::SQLITE PkgConfig::CRYPTO)
corgi_library(corgi_http http corgi_base PkgConfig::EVENT)
corgi_library(corgi_probe probe corgi_gpu)
corgi_library(corgi_engine engine corgi_sim corgi_probe corgi_gpu)
corgi_library(corgi_service service corgi_engine corgi_http corgi_store)
corgi_library(corgi_eval eval corgi_sim)
corgi_library(corgi_bench bench corgi_eval corgi_store PkgConfig::CBC)
# The weights that ship are put into the binary by shipped.c and seq_shipped.c.
file(GLOB corgi_weights CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/src/loop/estimate/weights/*.bin)
set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/loop/estimate/shipped.c
    ${CMAKE_SOURCE_DIR}/src/eval/seq_shipped.c
    PROPERTIES
    COMPILE_DEFINITIONS
        CORGI_WEIGHTS_DIR="${CMAKE_SOURCE_DIR}/src/loop/estimate/weights"
    OBJECT_DEPENDS "${corgi_weights}")
# Inner loops of estimates; nothing here relies on the sign of zero or on traps.
set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/loop/estimate/stats.c
    ${CMAKE_SOURCE_DIR}/src/loop/estimate/core_row.c
    ${CMAKE_SOURCE_DIR}/src/loop/estimate/dense.c
    PROPERTIES COMPILE_OPTIONS
        "-O3;-fno-math-errno;-fno-trapping-math;-fno-signed-zeros")
