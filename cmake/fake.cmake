# Fakes of hardware this machine may not have, for tests only: never installed, and in a
# folder of their own so that nothing finds them by accident.
set(corgi_fake_dir ${CMAKE_BINARY_DIR}/tests/fake)

add_library(fake_nvml SHARED
    tests/fake/nvml.c tests/fake/script.c tests/fake/state.c)
target_link_libraries(fake_nvml PRIVATE corgi_flags Threads::Threads m)
target_include_directories(fake_nvml PRIVATE ${CMAKE_SOURCE_DIR}/tests)
set_target_properties(fake_nvml PROPERTIES
    OUTPUT_NAME nvidia-ml SOVERSION 1 C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${corgi_fake_dir})

add_library(fake_rocm SHARED tests/fake/rocm.c)
target_link_libraries(fake_rocm PRIVATE corgi_flags)
set_target_properties(fake_rocm PROPERTIES
    OUTPUT_NAME rocm_smi64 SOVERSION 7 C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${corgi_fake_dir})
