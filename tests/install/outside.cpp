// The program of an outside project: it needs the headers, the library and the library's own dependencies.
#include <anew/anew.h>

#include <iostream>
#include <stdexcept>
#include <string>
using namespace anew;

int main() {
  try {
    loadz("no such file");  // what reads files needs libraries of its own; the error crosses the border of a shared one
    return 1;
  } catch (const Error&) {
  }
  // The program's own errors pass through the library and back.
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  try {
    grad([](Array) -> Array { throw Mine("as it was"); })(1.0);
    return 1;
  } catch (const Mine& e) {
    if (std::string(e.what()) != "as it was") return 1;
  }
  // Headers and library are of one version.
  const std::string minor = std::to_string(ANEW_VERSION / 10000) + "." + std::to_string(ANEW_VERSION / 100 % 100) + ".";
  if (!std::string(version()).starts_with(minor)) return 1;
  auto f = [](Array x) { return sum(sin(checkpoint([](Array x) { return sin(x * x); })(x))); };
  const ShapeDtype type = grad(f)(ones({5, 4})).type();
  std::cout << type << " has " << type.bytes() << " bytes\n";
  return type.str() == "f32[5,4]" ? 0 : 1;
}
