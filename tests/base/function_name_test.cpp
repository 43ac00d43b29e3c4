// Signatures as g++ 12 and clang 19 write them, and the names users see. The last test asks the compiler at hand, so
// that a new version with another spelling is noticed.
#include "base/function_name.h"

#include <anew/base.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace anew {
namespace {

struct Case {
  const char* signature;
  const char* name;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(short_function_name(c.signature), c.name) << c.signature;
}

TEST(FunctionName, PlainFunctions) {
  check({{"int main()", "main"},
         {"anew::Array layer(const anew::Array&, const anew::Array&)", "layer"},
         {"static void {anonymous}::A::s()", "s"},
         {"int (anonymous namespace)::anon(int)", "anon"},
         {"std::function<int(int)> ret_fn(std::function<int(int)>, int)", "ret_fn"},
         {"std::function<A (A)> make(F, int (&)[3])", "make"},
         {"S &ns::f(int)", "f"},
         {"S *f(int)", "f"}});
}

TEST(FunctionName, Templates) {
  check({{"T tmpl(T) [with T = double]", "tmpl"},
         {"T tmpl(T) [T = double]", "tmpl"},
         {"auto constrained(T) requires  integral<T> [with T = int]", "constrained"},
         {"auto constrained(T) requires (sizeof(T) > 3) [with T = int]", "constrained"},
         {"void ns::Q<std::function<int(int)> >::m()", "m"},
         {"std::vector<U> ns::Q<int>::n(U, std::function<T (U)>) [T = int, U = float]", "n"},
         {"void pack(Ts ...) [with Ts = {int, char, std::function<int(int)>}]", "pack"},
         {"void pack(Ts...) [Ts = <int, char, std::function<int (int)>>]", "pack"},
         {"void take(G) [with G = main()::<lambda(int)>]", "take"},
         {"void take(G) [G = (lambda at n.cpp:38:105)]", "take"},
         {"void take(G) [with G = int [3]]", "take"},
         {"int special<std::function<int(int)> >(int)", "special"}});
}

TEST(FunctionName, Members) {
  check({{"ns::S::S()", "S"},
         {"ns::S::~S()", "~S"},
         {"void ns::S::m() const &", "m"},
         {"virtual void ns::S::m() const", "m"},
         {"int ns::S::operator()(int) const", "operator()"},
         {"bool ns::S::operator<(const ns::S&) const", "operator<"},
         {"ns::S& ns::S::operator<<(int)", "operator<<"},
         {"ns::S* ns::S::operator->()", "operator->"},
         {"int ns::S::operator[](int)", "operator[]"},
         {"ns::S::operator bool() const", "operator bool"},
         {"bool ns::S::operator bool() const", "operator bool"},
         {"ns::S::operator std::vector<U>() [with U = int]", "operator std::vector<U>"},
         {"int ns::operator+(S&, int)", "operator+"},
         {"int ns::operator\"\"_q(long long unsigned int)", "operator\"\"_q"},
         {"void main()::<unnamed struct>::u()", "u"},
         {"int main()::(anonymous struct)::operator()()", "operator()"},
         {"void my_operator(int)", "my_operator"}});
}

TEST(FunctionName, Lambdas) {
  check({{"<lambda(int)>", "<lambda>"},
         {"main()::<lambda()>", "<lambda>"},
         {"main()::<lambda(auto:11)> [with auto:11 = int]", "<lambda>"},
         {"main()::<lambda(int)> mutable", "<lambda>"},
         {"main()::<lambda(std::function<int(int)>)>", "<lambda>"},
         {"main()::<lambda()>::<lambda()>", "<lambda>"},
         {"auto (anonymous class)::operator()(int) const", "<lambda>"},
         {"auto main()::(anonymous class)::operator()()::(anonymous class)::operator()() const", "<lambda>"},
         {"auto main()::(anonymous class)::operator()(auto) const [auto:1 = int]", "<lambda>"},
         {"static void main()::<lambda()>::Z::z()", "z"},
         {"static void main()::(anonymous class)::operator()()::Z::z()", "z"}});
}

TEST(FunctionName, ReturnsFunctionPointerOrArray) {
  check({{"void (* fnptr(int))(double)", "fnptr"},
         {"void (*fnptr(int))(double)", "fnptr"},
         {"int (& arrref())[3]", "arrref"},
         {"int (&arrref())[3]", "arrref"}});
}

TEST(FunctionName, UnknownFormsStayAsTheyAre) {
  check({{"", ""}, {"layer", "layer"}, {"))((", "))(("}, {"f)", "f)"}, {"(int)", "(int)"}, {"]", "]"}, {">", ">"}});
}

std::string here(const Location& at = Location::current()) { return source_line(at).function; }
std::function<int(int)> returns_a_function(std::string& out) {
  out = here();
  return {};
}
template <class T>
std::string of_template(T) {
  return here();
}
struct Member {
  std::string method() const { return here(); }
  std::string operator()(int) const { return here(); }
};

TEST(FunctionName, ThisCompiler) {
  std::string name;
  returns_a_function(name);
  EXPECT_EQ(name, "returns_a_function");
  EXPECT_EQ(of_template(std::vector<int>{}), "of_template");
  EXPECT_EQ(Member{}.method(), "method");
  EXPECT_EQ(Member{}(1), "operator()");
  EXPECT_EQ([] { return here(); }(), "<lambda>");
  EXPECT_EQ([](auto) { return here(); }(1), "<lambda>");
  EXPECT_EQ([](int) mutable { return here(); }(1), "<lambda>");
}

}  // namespace
}  // namespace anew
