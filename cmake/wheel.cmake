# What the Python package has beside its Python: the library that it loads and the command.
function(tilecheck_wheel library command)
  install(FILES ${library} DESTINATION tilecheck COMPONENT python)
  install(PROGRAMS ${command} DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endfunction()
