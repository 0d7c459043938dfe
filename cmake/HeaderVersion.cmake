# annulus_header_version(VARIABLE HEADER PREFIX PART…): "1.2.3" of the header's lines "#define PREFIXPART 1 …".
# For the find modules of libraries that come without a CMake package.
function(annulus_header_version variable header prefix)
  set(numbers)
  foreach(part IN LISTS ARGN)
    file(STRINGS ${header} line REGEX "define ${prefix}${part} ")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND numbers ${number})
  endforeach()
  list(JOIN numbers "." version)
  set(${variable} ${version} PARENT_SCOPE)
endfunction()
