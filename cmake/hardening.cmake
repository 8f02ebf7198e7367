# What makes a memory error an end of the program instead of somebody's tool, for all of our
# code: checked string functions, guarded stacks, no jump into the middle of a function,
# random addresses, no table of pointers that stays writable.  tests/e2e/hardening.bats reads
# them back from the programs.
include(CheckCCompilerFlag)
# Not CMake's own property: it makes static libraries for shared ones (-fPIC), whose functions
# are not inlined.
set(type $<TARGET_PROPERTY:TYPE>)
target_compile_options(corgi_flags INTERFACE
    $<$<NOT:$<OR:$<STREQUAL:${type},SHARED_LIBRARY>,$<STREQUAL:${type},MODULE_LIBRARY>>>:-fPIE>)
target_link_options(corgi_flags INTERFACE $<$<STREQUAL:${type},EXECUTABLE>:-pie>)
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "corgi_has${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
        target_compile_options(corgi_flags INTERFACE ${flag})
    endif()
endforeach()
target_link_options(corgi_flags INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
# Sanitizers bring checks of their own in place of these, and without optimization there are
# none.
if(NOT CORGI_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(corgi_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
