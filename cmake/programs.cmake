# Programs: main.c and wiring only.
function(corgi_program name)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    if(sources)
        add_executable(${name} ${sources})
        target_link_libraries(${name} PRIVATE ${ARGN})
        install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endfunction()

include(GNUInstallDirs)
corgi_program(corgi corgi_lab corgi_service PkgConfig::NCURSES)
corgi_program(corgid corgi_service)
corgi_program(corgi-probe corgi_probe)
corgi_program(corgi-report corgi_probe corgi_http)

# What becomes of jobs that are handed in to Slurm: in the plugin, and in its tests.
set(submit_rules_sources ${CMAKE_SOURCE_DIR}/src/corgi/job_request.c
    ${CMAKE_SOURCE_DIR}/src/job_submit_corgi/submit_rules.c
    ${CMAKE_SOURCE_DIR}/src/job_submit_corgi/submit_settings.c)
add_library(corgi_submit_rules STATIC ${submit_rules_sources})
target_link_libraries(corgi_submit_rules PUBLIC corgi_base)

# The programs with libslurm, and so the only ones under its licence.
find_path(SLURM_INCLUDE slurm/slurm.h)
find_library(SLURM_LIBRARY slurm)
set(corgi_slurm_share)
if(SLURM_INCLUDE AND SLURM_LIBRARY)
    set(corgi_slurm_share COMMAND corgi-engine-slurm --man-page
        > ${CMAKE_BINARY_DIR}/share/man/man1/corgi-engine-slurm.1)
    corgi_program(corgi-engine-slurm corgi_base ${SLURM_LIBRARY})
    target_sources(corgi-engine-slurm PRIVATE ${CMAKE_SOURCE_DIR}/src/engine/slurm/slurm_mark.c
        ${CMAKE_SOURCE_DIR}/src/engine/slurm/slurm_completions.c)
    target_include_directories(corgi-engine-slurm SYSTEM PRIVATE ${SLURM_INCLUDE})
    # Loaded by slurmctld, so its sources are built for a shared object, with what they need.
    set(slurm_plugin_parts)
    foreach(part directives err file json_out mem options parse str suggest)
        list(APPEND slurm_plugin_parts ${CMAKE_SOURCE_DIR}/src/base/${part}.c)
    endforeach()
    add_library(job_submit_corgi MODULE ${CMAKE_SOURCE_DIR}/src/job_submit_corgi/plugin.c
        ${submit_rules_sources} ${slurm_plugin_parts})
    target_include_directories(job_submit_corgi SYSTEM PRIVATE ${SLURM_INCLUDE})
    target_link_libraries(job_submit_corgi PRIVATE corgi_flags PkgConfig::CRYPTO m)
    target_link_options(job_submit_corgi PRIVATE
        LINKER:--version-script=${CMAKE_SOURCE_DIR}/src/job_submit_corgi/exported.map)
    set_target_properties(job_submit_corgi PROPERTIES PREFIX ""
        LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/job_submit_corgi/exported.map
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    install(CODE "
        set(CORGI_BIN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
        configure_file(${CMAKE_SOURCE_DIR}/packaging/corgi-engine-slurm.service.in
                       ${CMAKE_BINARY_DIR}/corgi-engine-slurm.service @ONLY)
        file(INSTALL ${CMAKE_BINARY_DIR}/corgi-engine-slurm.service
             DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")")
    # Where Debian's Slurm looks; others name the folder in PluginDir.
    install(TARGETS job_submit_corgi
        LIBRARY DESTINATION lib/${CMAKE_LIBRARY_ARCHITECTURE}/slurm-wlm)
else()
    message(STATUS "corgi-engine-slurm and job_submit_corgi are not built: there is no libslurm-dev; "
        "all else is, and `engine: slurm` needs a helper from elsewhere")
endif()

# Man pages and completion come from the command tables, so the program makes them.  Not
# from a sanitized one: those may refuse to start on a machine that only builds.
if(NOT CORGI_SANITIZE)
    set(corgi_share ${CMAKE_BINARY_DIR}/share)
    set(corgi_bash ${corgi_share}/bash-completion/completions)
    set(corgi_zsh ${corgi_share}/zsh/vendor-completions)
    set(corgi_fish ${corgi_share}/fish/vendor_completions.d)
    set(corgi_completions
        COMMAND corgi completion bash > ${corgi_bash}/corgi
        COMMAND corgi completion zsh > ${corgi_zsh}/_corgi
        COMMAND corgi completion fish > ${corgi_fish}/corgi.fish)
    foreach(program corgid corgi-probe corgi-report)
        list(APPEND corgi_completions
            COMMAND ${program} --bash-completion > ${corgi_bash}/${program}
            COMMAND ${program} --zsh-completion > ${corgi_zsh}/_${program}
            COMMAND ${program} --fish-completion > ${corgi_fish}/${program}.fish)
    endforeach()
    add_custom_command(
        OUTPUT ${corgi_share}/made
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${corgi_share}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${corgi_bash} ${corgi_zsh} ${corgi_fish}
        COMMAND corgi man --out ${corgi_share}/man/man1
        COMMAND corgid --man-page > ${corgi_share}/man/man1/corgid.1
        COMMAND corgi-probe --man-page > ${corgi_share}/man/man1/corgi-probe.1
        COMMAND corgi-report --man-page > ${corgi_share}/man/man1/corgi-report.1
        ${corgi_completions}
        ${corgi_slurm_share}
        COMMAND ${CMAKE_COMMAND} -E touch ${corgi_share}/made
        DEPENDS corgi corgid corgi-probe corgi-report $<TARGET_NAME_IF_EXISTS:corgi-engine-slurm>
        COMMENT "Making man pages and completion"
        VERBATIM)
    add_custom_target(corgi_share ALL DEPENDS ${corgi_share}/made)
endif()

if(NOT CORGI_SANITIZE)
    install(DIRECTORY ${corgi_share}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(DIRECTORY ${corgi_share}/bash-completion ${corgi_share}/zsh ${corgi_share}/fish
            DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()

# The unit names the places where this installation puts programs and config, which
# --prefix may choose as late as `cmake --install`.  A config that is there is somebody's
# own and stays.
install(CODE "
    set(CORGI_BIN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    set(etc \"\${CMAKE_INSTALL_PREFIX}/etc\")
    if(CMAKE_INSTALL_PREFIX MATCHES \"^/usr(/local)?/*$\")
        set(etc /etc)
    endif()
    set(CORGI_CONFIG \"\${etc}/corgi/corgid.yaml\")
    configure_file(${CMAKE_SOURCE_DIR}/packaging/corgid.service.in
                   ${CMAKE_BINARY_DIR}/corgid.service @ONLY)
    file(INSTALL ${CMAKE_BINARY_DIR}/corgid.service
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")
    if(NOT EXISTS \"\$ENV{DESTDIR}\${CORGI_CONFIG}\")
        file(INSTALL ${CMAKE_SOURCE_DIR}/packaging/corgid.yaml DESTINATION \"\${etc}/corgi\")
    endif()")
install(FILES packaging/corgid.yaml packaging/grafana-dashboard.json
              packaging/prometheus-rules.yaml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/corgi)
install(DIRECTORY examples/clients DESTINATION ${CMAKE_INSTALL_DATADIR}/corgi)
install(FILES packaging/slurm/slurm-plugin.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/corgi/slurm)
install(PROGRAMS packaging/slurm/taskprolog DESTINATION ${CMAKE_INSTALL_DATADIR}/corgi/slurm)
install(FILES README.md NEWS.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
