# One executable a test file: tests/unit/test_<module>.c and tests/scenario/<name>.c with
# cmocka (test_nn_<module>_double.c with the networks in double), tests/e2e/<name>.bats
# with bats against the built programs, tests/browser/<name>.bats likewise where there is a
# browser.
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(NOT CMOCKA_FOUND)
    message(STATUS "cmocka is missing: building without tests")
    return()
endif()

if(DEFINED ENV{CORGI_DATA})
    set(corgi_data "$ENV{CORGI_DATA}")
else()
    set(corgi_data "${CMAKE_SOURCE_DIR}/../shared/data")
endif()
set(corgi_test_env "CORGI_DATA=${corgi_data};CORGI_OWN_DATA=${CMAKE_SOURCE_DIR}/tests/data/measured-like;CORGI_BIN=${CMAKE_BINARY_DIR}/bin;CORGI_FAKE=${corgi_fake_dir}")

# A scenario that starts or forks real processes waits for these with limits: the label
# `processes` lets ./test try it a second time, as it does with end-to-end tests.
function(corgi_mark_processes name source)
    file(STRINGS ${source} starts REGEX "fork\\(\\)|posix_spawn|CORGI_BIN|local_(bench|cases)\\.h")
    if(starts)
        set_property(TEST ${name} APPEND PROPERTY LABELS processes)
    endif()
endfunction()

function(corgi_c_tests label)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${label}/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        if(NOT label STREQUAL "unit")
            set(name "${label}_${name}")
        endif()
        add_executable(${name} ${source})
        target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
        if(name MATCHES "^test_nn_.*_double$")
            target_link_libraries(${name} PRIVATE corgi_nn_double PkgConfig::CMOCKA)
        else()
            target_link_libraries(${name} PRIVATE
                corgi_lab PkgConfig::CMOCKA)
        endif()
        set_target_properties(${name} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        if(name MATCHES "^test_submit_")
            target_link_libraries(${name} PRIVATE corgi_submit_rules)
        endif()
        if(name MATCHES "_gpu_|local_gpus")
            add_dependencies(${name} fake_nvml fake_rocm) # loaded at run time
        endif()
        if(name MATCHES "scenario_local_")
            add_dependencies(${name} corgi-probe) # started at run time
        endif()
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES
            LABELS ${label} ENVIRONMENT "${corgi_test_env}" TIMEOUT 600)
        if(label STREQUAL "scenario")
            corgi_mark_processes(${name} ${source})
        endif()
    endforeach()
endfunction()

corgi_c_tests(unit)
corgi_c_tests(scenario)

# Much arithmetic on one thread: ten minutes and more under sanitizers, and their parts are
# in other tests.  ./test leaves the label out there.  They begin first: else the end waits
# for them.
foreach(name test_eval_tables scenario_estimate_eval scenario_policies
        scenario_sim_gavel scenario_sim_synthetic scenario_lies scenario_wrong_windows)
    if(TEST ${name})
        set_property(TEST ${name} APPEND PROPERTY LABELS long)
        set_property(TEST ${name} PROPERTY COST 100)
    endif()
endforeach()

# Jobs for the end-to-end tests of the local engine.
add_executable(cpu_job ${CMAKE_SOURCE_DIR}/tests/support/cpu_job.c)
target_compile_definitions(cpu_job PRIVATE _GNU_SOURCE)
target_compile_options(cpu_job PRIVATE -O2 -Wall -Wextra) # as fast under any preset
target_link_libraries(cpu_job PRIVATE m)
set_target_properties(cpu_job PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(label e2e browser)
    file(GLOB bats_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${label}/*.bats)
    foreach(file ${bats_files})
        get_filename_component(name ${file} NAME_WE)
        add_test(NAME ${label}_${name} COMMAND bats --tap ${file})
        set_tests_properties(${label}_${name} PROPERTIES
            LABELS ${label} ENVIRONMENT "${corgi_test_env}" TIMEOUT 900)
        # Rates of real processes are measured: not beside other tests.
        if(name MATCHES "^(local|probe)")
            set_tests_properties(${label}_${name} PROPERTIES RUN_SERIAL ON)
        endif()
    endforeach()
endforeach()
# Writes the tables of tests/data anew when somebody asks for it.
add_executable(make_measured_like EXCLUDE_FROM_ALL
    ${CMAKE_SOURCE_DIR}/tests/support/make_measured_like.c)
target_link_libraries(make_measured_like PRIVATE corgi_lab)
