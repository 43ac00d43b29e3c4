// The invariants of a Program, checked one by one; nested programs are checked too, each once. A message says which
// equation and which variable, by position, since a broken program may not print.
#include <fmt/format.h>

#include "base/environment.h"
#include "ir/primitive.h"
#include "ir/program.h"
#include "ir/words.h"

namespace anew::ir {
namespace {

// What a message is about. Its text is made where it is needed: most programs are sound.
struct Subject {
  const char* word;
  std::size_t number;
  std::string str() const { return fmt::format("{} {}", word, number); }
};

class Verifier {
 public:
  explicit Verifier(const Program& p) : p_(p), defined_(p.types.size(), false) {}

  void run() {
    const auto inputs = static_cast<int>(p_.inputs.size());
    if (p_.constants < 0 || p_.constants > inputs)
      fail(fmt::format("{} constants among {} inputs", p_.constants, inputs));
    for (const Type& t : p_.types)
      if (!checked_bytes(t.shape, t.dtype)) fail(fmt::format("{} is not a type of an array", t.str()));
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) define(p_.inputs[i], {"input", i});
    for (const Eqn& e : p_.eqns) equation(e);
    eqn_ = nullptr;
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) use(p_.outputs[i], {"output", i});
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    std::string where = "[verify] ";
    if (eqn_) where += fmt::format("equation {}", eqn_ - p_.eqns.data());
    if (eqn_ && eqn_->primitive) where += fmt::format(" ({})", eqn_->primitive->name);
    throw InternalError(where + (eqn_ ? ": " : "") + what, eqn_ ? eqn_->at : Location());
  }

  void define(Var v, Subject what) {
    if (v < 0 || static_cast<std::size_t>(v) >= p_.types.size())
      fail(fmt::format("{} is variable {}, but there are {}", what.str(), v, p_.types.size()));
    if (defined_[static_cast<std::size_t>(v)])
      fail(fmt::format("{} is variable {}, which is defined already", what.str(), v));
    defined_[static_cast<std::size_t>(v)] = true;
  }

  void use(const Atom& a, Subject what) const {
    if (!a.is_var()) {
      const std::uint64_t limit =
          a.literal.dtype == bool_ ? 2 : std::uint64_t{1} << (8 * size_of(a.literal.dtype) % 64);
      if (limit != 1 && a.literal.bits >= limit)
        fail(
            fmt::format("{} is a literal of {} with bits {:#x}", what.str(), name_of(a.literal.dtype), a.literal.bits));
    } else if (static_cast<std::size_t>(a.var) >= p_.types.size()) {
      fail(fmt::format("{} is variable {}, but there are {}", what.str(), a.var, p_.types.size()));
    } else if (!defined_[static_cast<std::size_t>(a.var)]) {
      fail(fmt::format("{} is variable {}, which is not defined before", what.str(), a.var));
    }
  }

  void equation(const Eqn& e) {
    eqn_ = &e;
    if (!e.primitive) fail("no primitive");
    if (!e.params) fail("no params");
    std::vector<Type> in, out;
    for (std::size_t k = 0; k < e.inputs.size(); ++k) {
      use(e.inputs[k], {"operand", k});
      in.push_back(p_.type(e.inputs[k]));
    }
    for (std::size_t k = 0; k < e.outputs.size(); ++k) {
      define(e.outputs[k], {"output", k});
      out.push_back(p_.type(e.outputs[k]));
    }
    if (const Types expected = infer(e, in); expected != out)
      fail(fmt::format("outputs are {}, but infer says {}", types_text(out), types_text(expected)));
  }

  Types infer(const Eqn& e, std::span<const Type> in) const {
    if (!e.primitive->infer) fail("the row has no infer");
    try {
      return e.primitive->infer({*e.params, in, e.at});
    } catch (const Error& error) {
      fail(fmt::format("infer refuses operands {}: {}", types_text(in), error.what()));
    }
  }

  const Program& p_;
  std::vector<bool> defined_;
  const Eqn* eqn_ = nullptr;  // that is looked at
};

}  // namespace

void verify(const Program& p) {
  for_each_program(p, [](const Program& q) { Verifier(q).run(); });
}

void verify_if_asked(const Program& p) {
  if (environment::verifies()) verify(p);
}

}  // namespace anew::ir
