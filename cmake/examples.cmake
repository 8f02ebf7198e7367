# Example jobs: examples/<name>.c is the program example-<name>.
foreach(name train matrix stream filter silent serve load)
    add_executable(example-${name} ${CMAKE_SOURCE_DIR}/examples/${name}.c
        ${CMAKE_SOURCE_DIR}/examples/example.c)
    target_include_directories(example-${name} PRIVATE ${CMAKE_SOURCE_DIR}/examples)
    target_link_libraries(example-${name} PRIVATE corgi_nn corgi_base)
endforeach()
foreach(name serve load)
    target_link_libraries(example-${name} PRIVATE PkgConfig::EVENT)
endforeach()
# Loops that are the work itself: as fast as anybody would build them.
foreach(name stream filter)
    target_compile_options(example-${name} PRIVATE -O3)
endforeach()
add_custom_target(examples)
foreach(name train matrix stream filter silent serve load)
    add_dependencies(examples example-${name})
endforeach()
