# ANEW_VERSION, such as 0.1.0, from the number in anew/version.h, which is the only place that has it.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/anew/version.h line REGEX "^#define ANEW_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" number "${line}")
math(EXPR major "${number} / 10000")
math(EXPR minor "${number} / 100 % 100")
math(EXPR patch "${number} % 100")
set(ANEW_VERSION ${major}.${minor}.${patch})
