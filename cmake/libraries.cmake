# One static library a folder of src/.  The order is the only direction includes may point:
# each library sees itself and those it names.  tools/check-includes enforces the same.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(SMARTCOLS REQUIRED IMPORTED_TARGET smartcols)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(CLP REQUIRED IMPORTED_TARGET clp)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET
    libevent libevent_openssl libevent_pthreads openssl)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(NCURSES REQUIRED IMPORTED_TARGET ncursesw) # of corgi top alone

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
    PkgConfig::ZLIB
    Threads::Threads m)
corgi_library(corgi_world world corgi_base)
corgi_library(corgi_nn nn corgi_base PkgConfig::OPENBLAS)
corgi_library(corgi_model model corgi_world corgi_nn corgi_base)
corgi_library(corgi_loop loop corgi_model)
corgi_library(corgi_gpu gpu corgi_world corgi_base ${CMAKE_DL_LIBS})
corgi_library(corgi_store store corgi_loop PkgConfig::SQLITE PkgConfig::CRYPTO)
corgi_library(corgi_http http corgi_base PkgConfig::EVENT PkgConfig::CURL)
corgi_library(corgi_probe probe corgi_gpu)
corgi_library(corgi_engine engine corgi_loop corgi_probe corgi_gpu)
corgi_library(corgi_service service corgi_engine corgi_http corgi_store)
# What no daemon needs: simulations, policies, measuring, training.
corgi_library(corgi_lab lab corgi_service PkgConfig::CLP)
# The networks' sources twice: in float for the product, in double for checking gradients
# (only tests link that one).  Shape assertions cost one comparison an operation and stay.
file(GLOB nn_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/nn/*.c)
add_library(corgi_nn_double STATIC ${nn_sources})
target_link_libraries(corgi_nn_double PUBLIC corgi_flags corgi_base PkgConfig::OPENBLAS)
target_include_directories(corgi_nn_double PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(corgi_nn_double PUBLIC NN_DOUBLE)
set(nn_options -O3 -fno-math-errno -fno-trapping-math -fno-signed-zeros -UNDEBUG)
foreach(library corgi_nn corgi_nn_double)
    target_compile_options(${library} PRIVATE ${nn_options})
endforeach()
# The weights that ship are put into the binary by these.
file(GLOB corgi_weights CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/src/model/weights/*.bin)
set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/model/stat_network.c
    ${CMAKE_SOURCE_DIR}/src/model/p1.c
    ${CMAKE_SOURCE_DIR}/src/model/p2.c
    PROPERTIES
    COMPILE_DEFINITIONS
        CORGI_WEIGHTS_DIR="${CMAKE_SOURCE_DIR}/src/model/weights"
    OBJECT_DEPENDS "${corgi_weights}")
# So is the page that report_page.c fills.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/lab/report/report_page.c PROPERTIES
    COMPILE_DEFINITIONS
        CORGI_REPORT_TEMPLATE="${CMAKE_SOURCE_DIR}/src/lab/report/report_template.html"
    OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/src/lab/report/report_template.html)
# And the scripts that complete commands.
set(completion ${CMAKE_SOURCE_DIR}/src/base/completion)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/command_completion.c PROPERTIES
    COMPILE_DEFINITIONS CORGI_COMPLETION="${completion}"
    OBJECT_DEPENDS "${completion}.bash;${completion}.zsh;${completion}.fish")
# And the tables of the store, which migrations.c makes.
file(GLOB store_schema CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/store/schema/*.sql)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/store/migrations.c PROPERTIES
    COMPILE_DEFINITIONS CORGI_SCHEMA_DIR="${CMAKE_SOURCE_DIR}/src/store/schema"
    OBJECT_DEPENDS "${store_schema}")
# And the dashboard, as it is and compressed.
set(dashboard_files)
foreach(file index.html app.js app.css icon.svg)
    set(compressed ${CMAKE_BINARY_DIR}/dashboard/${file}.gz)
    add_custom_command(OUTPUT ${compressed}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/dashboard
        COMMAND gzip -9 -n -c ${CMAKE_SOURCE_DIR}/web/dist/${file} > ${compressed}
        DEPENDS ${CMAKE_SOURCE_DIR}/web/dist/${file} VERBATIM)
    list(APPEND dashboard_files ${CMAKE_SOURCE_DIR}/web/dist/${file} ${compressed})
    target_sources(corgi_service PRIVATE ${compressed})
endforeach()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/service/handle_dashboard.c PROPERTIES
    COMPILE_DEFINITIONS
        "CORGI_DASHBOARD=\"${CMAKE_SOURCE_DIR}/web/dist\";CORGI_DASHBOARD_GZ=\"${CMAKE_BINARY_DIR}/dashboard\""
    OBJECT_DEPENDS "${dashboard_files}")
# Inner loops of estimates; nothing here relies on the sign of zero or on traps.
set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/model/dense.c
    ${CMAKE_SOURCE_DIR}/src/model/gp.c
    ${CMAKE_SOURCE_DIR}/src/model/pair_stats.c
    PROPERTIES COMPILE_OPTIONS
        "-O3;-fno-math-errno;-fno-trapping-math;-fno-signed-zeros")
