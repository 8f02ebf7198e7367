# What tests/chaos/run needs beside the programs: a job that keeps its own books and a world
# that misbehaves.  Two minutes of it are a test; an hour is `tests/chaos/run --minutes 60`.
add_executable(chaos_job tests/chaos/chaos_job.c)
target_compile_definitions(chaos_job PRIVATE _GNU_SOURCE)
target_compile_options(chaos_job PRIVATE -O2 -Wall -Wextra)
set_target_properties(chaos_job PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_library(chaos_preload SHARED tests/chaos/chaos_preload.c)
target_compile_definitions(chaos_preload PRIVATE _GNU_SOURCE)
target_compile_options(chaos_preload PRIVATE -O2 -Wall -Wextra)
target_link_libraries(chaos_preload PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(chaos_preload PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
