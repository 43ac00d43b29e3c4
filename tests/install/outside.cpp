// The program of an outside project: it needs the headers, the library and the library's own dependencies.
#include <anew/anew.h>

#include <iostream>
using namespace anew;

int main() {
  try {
    loadz("no such file");  // what reads files needs libraries of its own
    return 1;
  } catch (const Error&) {
  }
  auto f = [](Array x) { return sum(sin(checkpoint([](Array x) { return sin(x * x); })(x))); };
  const ShapeDtype type = grad(f)(ones({5, 4})).type();
  std::cout << type << " has " << type.bytes() << " bytes\n";
  return type.str() == "f32[5,4]" ? 0 : 1;
}
