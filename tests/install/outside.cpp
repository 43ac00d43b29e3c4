// The program of an outside project: small, but it needs the headers, the library and the library's own dependencies.
#include <anew/base.h>

#include <iostream>

int main() {
  const anew::ShapeDtype type{{5, 4}, anew::f32};
  std::cout << type << " has " << type.bytes() << " bytes\n";
  return type.str() == "f32[5,4]" ? 0 : 1;
}
