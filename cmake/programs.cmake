# Programs: main.c and wiring only.
file(GLOB corgi_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/corgi/*.c)
add_executable(corgi ${corgi_sources})
target_link_libraries(corgi PRIVATE corgi_bench corgi_eval corgi_sim)
