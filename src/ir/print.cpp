// Programs as text. Names are given in the order of printing, an equation's outputs before the variables of the
// programs it holds; an output that nothing reads is `_`. Params are ordered by name. A program that several equations
// hold (the same object) is printed once, before the whole, as `let @name = { ... } in`, and written @name where it is
// held: so the text has as many equations as the program, and reading it back shares what was shared.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/decimal.h"
#include "ir/doc.h"
#include "ir/primitive.h"
#include "ir/program.h"
#include "ir/words.h"

namespace anew::ir {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "'";
  for (char c : s) {
    if (c == '\'' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + "'";
}

// a, ..., z, ba, bb, ...: numbers to the base of 26 letters.
std::string letters(std::size_t n) {
  std::string out;
  do out.insert(out.begin(), static_cast<char>('a' + n % 26));
  while (n /= 26);
  return out;
}

NamedParams by_name(const Params& p) {
  NamedParams list = p.list();
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return list;
}

class Printer {
 public:
  explicit Printer(const Program& p) { find_shared(p); }
  Printer() = default;

  Doc whole(const Program& p) {
    std::vector<Doc> lines;
    for (const auto& [shared, name] : shared_order_)
      lines.push_back(concat({text("let @" + name + " = "), program(*shared), text(" in")}));
    lines.push_back(program(p));
    return join(line_break(), std::move(lines));
  }

  Doc value(const ParamValue& v, bool inside = false) {
    if (auto* x = std::get_if<bool>(&v.v)) return text(*x ? "True" : "False");
    if (auto* x = std::get_if<std::int64_t>(&v.v)) return text(std::to_string(*x));
    if (auto* x = std::get_if<double>(&v.v)) return text(float_text(*x, f64));
    if (auto* x = std::get_if<std::string>(&v.v)) return text(!inside && is_plain_word(*x) ? *x : quoted(*x));
    if (auto* x = std::get_if<DType>(&v.v)) return text(std::string(long_name_of(*x)));
    if (auto* x = std::get_if<ParamFunction>(&v.v)) return text("<fn " + x->name + ">");
    if (auto* x = std::get_if<ParamList>(&v.v)) return list(*x);
    if (auto* x = std::get_if<ParamCall>(&v.v))
      return x->bare ? text(x->name) : concat({text(x->name + "("), items(x->args), text(")")});
    if (auto* x = std::get_if<ProgramRef>(&v.v); x && *x) return nested(**x);
    return text("None");
  }

  Doc params(const Params& p) {
    std::vector<Doc> out;
    for (const auto& [name, v] : by_name(p)) out.push_back(concat({text(std::string(name) + "="), value(v)}));
    return join(line_break(), std::move(out));
  }

 private:
  using Names = std::vector<std::string>;

  Doc items(const std::vector<ParamValue>& values) {
    std::vector<Doc> out;
    for (const ParamValue& x : values) out.push_back(value(x, true));
    return join(text(", "), std::move(out));
  }

  Doc list(const ParamList& l) {
    auto is_program = [](const ParamValue& x) { return std::holds_alternative<ProgramRef>(x.v); };
    if (!l.items.empty() && std::all_of(l.items.begin(), l.items.end(), is_program)) {
      std::vector<Doc> programs;
      for (const ParamValue& x : l.items) programs.push_back(value(x));
      return group(concat({nest(2, concat({text("("), line_break(""), join(line_break(), std::move(programs))})),
                           line_break(""), text(")")}));
    }
    const bool comma = !l.square && l.items.size() == 1;
    return concat({text(l.square ? "[" : "("), items(l.items), text(l.square ? "]" : comma ? ",)" : ")")});
  }

  Doc nested(const Program& p) {
    auto shared = shared_.find(&p);
    return shared == shared_.end() ? program(p) : text("@" + shared->second);
  }

  std::string next_name() {
    std::string name = letters(next_++);
    return is_reserved(name) ? next_name() : name;
  }

  static Doc words(std::vector<Doc> parts, const std::string& separator = "") {
    return nest(2, group(join(concat({text(separator), group(line_break())}), std::move(parts))));
  }

  Doc definitions(const Program& p, std::span<const Var> vars, Names& names, const std::vector<bool>& used) {
    std::vector<Doc> out;
    for (Var v : vars) {
      const auto i = static_cast<std::size_t>(v);
      names[i] = used[i] ? next_name() : "_";
      out.push_back(text(names[i] + ":" + p.type(v).str()));
    }
    return words(std::move(out));
  }

  static Doc atom(const Atom& a, const Names& names) {
    return text(a.is_var() ? names[static_cast<std::size_t>(a.var)] : a.literal.str());
  }

  Doc equation(const Program& p, const Eqn& e, Names& names, const std::vector<bool>& used) {
    std::vector<Doc> out;
    if (!e.outputs.empty()) {
      out.push_back(definitions(p, e.outputs, names, used));
      out.push_back(text(" = "));
    }
    out.push_back(text(e.primitive->name));
    Doc inner = params(*e.params);
    if (!inner.parts.empty()) {
      Doc opened = nest(2, concat({text("["), line_break(""), std::move(inner)}));
      out.push_back(group(concat({std::move(opened), line_break(""), text("]")})));
    }
    if (!e.inputs.empty()) {
      std::vector<Doc> operands;
      for (const Atom& a : e.inputs) operands.push_back(atom(a, names));
      out.push_back(text(" "));
      out.push_back(words(std::move(operands)));
    }
    return concat(std::move(out));
  }

  Doc program(const Program& p) {
    Names names(p.types.size(), "?");
    std::vector<bool> used(p.types.size(), false);
    auto use = [&](const Atom& a) {
      if (a.is_var()) used[static_cast<std::size_t>(a.var)] = true;
    };
    for (const Eqn& e : p.eqns) std::for_each(e.inputs.begin(), e.inputs.end(), use);
    std::for_each(p.outputs.begin(), p.outputs.end(), use);

    const std::vector<bool> all(p.types.size(), true);
    const auto constants = static_cast<std::size_t>(p.constants);
    const std::span<const Var> inputs(p.inputs);
    std::vector<Doc> out{text("{ lambda ")};
    out.push_back(definitions(p, inputs.first(constants), names, all));
    out.push_back(text("; "));
    out.push_back(definitions(p, inputs.subspan(constants), names, all));
    out.push_back(text(". let"));
    if (!p.eqns.empty()) {
      std::vector<Doc> equations;
      for (const Eqn& e : p.eqns) equations.push_back(equation(p, e, names, used));
      out.push_back(nest(2, concat({line_break(), join(line_break("; "), std::move(equations))})));
    }
    out.push_back(line_break(p.eqns.empty() ? "  " : " "));
    std::vector<Doc> outputs;
    for (const Atom& a : p.outputs) outputs.push_back(atom(a, names));
    const bool one = outputs.size() == 1;
    out.push_back(concat({text("in ("), words(std::move(outputs), ","), text(one ? ",)" : ")")}));
    return group(concat({nest(2, concat(std::move(out))), text(" }")}));
  }

  // Counts who holds each program; those held twice or more are listed inner ones first.
  void find_shared(const Program& p) {
    for (const Eqn& e : p.eqns) {
      for (const ProgramRef& q : nested_programs(e)) {
        if (++holders_[q.get()] == 1) {
          find_shared(*q);
          order_.emplace_back(q.get(), &e);
        }
      }
    }
  }
  void name_shared();

  std::unordered_map<const Program*, int> holders_;
  std::vector<std::pair<const Program*, const Eqn*>> order_;
  std::unordered_map<const Program*, std::string> shared_;
  std::vector<std::pair<const Program*, std::string>> shared_order_;
  std::size_t next_ = 0;

  friend std::string anew::ir::print(const Program& p, int width);
};

// After the `name` of the first equation that holds it, or its primitive; numbered where that is taken.
void Printer::name_shared() {
  std::unordered_map<std::string, int> taken;
  for (const auto& [p, holder] : order_) {
    if (holders_[p] < 2) continue;
    std::string name = holder->primitive->name;
    for (const auto& [key, v] : holder->params->list())
      if (auto* s = std::get_if<std::string>(&v.v); s && key == "name" && is_word(*s)) name = *s;
    const int n = taken[name]++;
    if (n > 0) name += "_" + std::to_string(n);
    shared_.emplace(p, name);
    shared_order_.emplace_back(p, name);
  }
}

constexpr int unlimited = 1 << 30;

}  // namespace

std::string str(const ParamValue& v) { return layout(group(Printer().value(v)), unlimited); }

std::string str(const Params& p) { return layout(group(Printer().params(p)), unlimited); }

std::string types_text(std::span<const Type> types) {
  std::string out = "(";
  for (const Type& t : types) out += (out.size() > 1 ? ", " : "") + t.str();
  return out + ")";
}

std::string print(const Program& p, int width) {
  Printer printer(p);
  printer.name_shared();
  return layout(printer.whole(p), width);
}

}  // namespace anew::ir
