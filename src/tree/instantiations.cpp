// Templates of the standard library over our types, compiled here once rather than in every user's file. Headers
// declare them extern.
#include <anew/control.h>

template class std::vector<anew::Array>;
template class std::vector<anew::Residual>;
template class std::function<anew::Arrays(std::span<const anew::Array>)>;
