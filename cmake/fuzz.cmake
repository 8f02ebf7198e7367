# One program a fuzz target: tests/fuzz/fuzz_<parser>.c with its seeds in corpus/<parser>/.
# With clang and -DCORGI_FUZZ=ON they are libFuzzer programs; else standalone.c runs the
# seeds and some mutations of them, which ctest does too.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(source ${fuzz_sources})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE "fuzz_" "" parser ${name})
    file(GLOB seeds CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${parser}/*)
    if(NOT seeds)
        message(FATAL_ERROR "tests/fuzz/corpus/${parser} has no seeds, so ${name} tests nothing")
    endif()
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE
        corgi_lab corgi_submit_rules)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    if(CORGI_FUZZ)
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/standalone.c)
        set(mutations 2000)
        if(parser STREQUAL "learned") # each makes a whole model, ten milliseconds
            set(mutations 300)
        endif()
        add_test(NAME ${name} COMMAND ${name} -n ${mutations} ${seeds})
        set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 600)
    endif()
endforeach()
