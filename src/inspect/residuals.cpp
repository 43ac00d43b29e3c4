// What the backward pass keeps, as data and as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "control/loop.h"
#include "control/offloaded.h"
#include "transforms/linearize.h"

namespace anew {
namespace {

std::string reason_of(const ResidualSource& s) {
  std::string why = s.reason;
  if (why.empty()) {
    if (s.kind != Residual::Kind::argument && s.kind != Residual::Kind::constant && s.origin.rule_of)
      why = "derivative of " + s.origin.rule_of->name;
    else if (s.reader_rule) why = "operand of " + s.reader_rule->name;
    else if (s.reader) why = "operand of " + s.reader->name;
    else why = "result of the linear function";
  }
  if (s.reader) why += fmt::format("; read by {} for {}", s.reader->name, source_line(s.reader_at).str());
  return why;
}

// "f32<host>[16]", as JAX writes it.
std::string host_type(const Type& type) {
  std::string text = type.str();
  return text.insert(text.find('['), "<host>");
}

Residual describe(const ResidualSource& s, const Type& type, const std::vector<std::string>& paths) {
  Residual r;
  r.type = type;
  r.bytes = type.bytes();
  r.kind = s.kind;
  r.reason = reason_of(s);
  std::string what;
  if (s.kind == Residual::Kind::constant) {
    what = "from a constant";
  } else if (s.kind == Residual::Kind::argument) {
    auto i = static_cast<std::size_t>(s.argument);
    r.path = i < paths.size() ? paths[i] : std::to_string(i);
    what = "from the argument " + r.path;
  } else {
    const Origin& o = s.origin;
    r.primitive = o.primitive->name;
    r.location = source_line(o.at);
    if (o.primitive->facts.name) {
      r.name = o.primitive->facts.name(*o.params);
      what = fmt::format("named '{}'", r.name);
    } else if (auto* jit = o.params->if_a<JitParams>()) {
      what = fmt::format("output of jitted function '{}'", jit->name);
    } else {
      what = "output of " + r.primitive;
    }
    if (auto* loop = o.params->if_a<LoopParams>()) r.trips = rows_of(*loop, o.output);
    what += " from " + r.location.str();
    if (const std::string scopes = ir::scopes(o.region); !scopes.empty()) what += " in " + scopes;
  }
  const bool host = s.origin.primitive && gives_host(*s.origin.primitive, s.origin.params, s.origin.output);
  r.offloaded = host;
  r.text = (host ? host_type(type) : type.str()) + " " + what;
  return r;
}

std::vector<Residual> describe_all(const flat::Linear::State& s) {
  std::vector<Residual> out;
  for (std::size_t i = 0; i < s.sources.size(); ++i)
    out.push_back(describe(s.sources[i], s.program.type(s.program.inputs[i]), s.info.paths));
  return out;
}

// Two texts beside each other.
std::string side_by_side(const std::string& left, const std::string& right) {
  auto lines = [](const std::string& s) {
    std::vector<std::string> out(1);
    for (char c : s) {
      if (c == '\n') out.emplace_back();
      else out.back() += c;
    }
    return out;
  };
  std::vector<std::string> a = lines(left), b = lines(right);
  std::size_t width = 0;
  for (const std::string& line : a) width = std::max(width, line.size());
  std::string out;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string l = i < a.size() ? a[i] : "", r = i < b.size() ? b[i] : "";
    out += r.empty() ? "  " + l : fmt::format("  {:<{}}    {}", l, width, r);
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace

namespace flat {

std::vector<Residual> Linear::residuals(const Location& at) const { return describe_all(state(at)); }

std::vector<Residual> saved_residuals(const FlatFunction& f, std::span<const Array> x, const CallInfo& info) {
  std::vector<Residual> out;
  stage(
      [&](std::span<const Array> in) {
        out = describe_all(*linearize_first(f, in, -1, "saved_residuals", info).second);
        return Arrays{};
      },
      types_of(x, info.at), "saved_residuals", info.at);
  return out;
}

std::string saved_residuals_text(const std::vector<Residual>& residuals) {
  std::string out;
  std::size_t total = 0, offloaded = 0;
  for (const Residual& r : residuals) {
    out += fmt::format("{}  {} bytes\n", r.text, r.bytes);
    total += r.bytes;
    if (r.offloaded) offloaded += r.bytes;
  }
  return out + fmt::format("total: {} residual{}, {} bytes{}\n", residuals.size(), residuals.size() == 1 ? "" : "s",
                           total, offloaded ? fmt::format(", {} of them offloaded", offloaded) : "");
}

void print_saved_residuals(const FlatFunction& f, std::span<const Array> x, const CallInfo& info) {
  std::string text = saved_residuals_text(saved_residuals(f, x, info));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string fwd_bwd_text(const FlatFunction& f, std::span<const Array> x, const CallInfo& info) {
  ir::Program backward;
  Staged forward = stage(
      [&](std::span<const Array> in) {
        auto [y, state] = linearize_first(f, in, -1, "print_fwd_bwd", info);
        backward = *Linear(state).pullback_program().code();
        Arrays out = y;
        out.insert(out.end(), state->residuals.begin(), state->residuals.end());
        return out;
      },
      types_of(x, info.at), "print_fwd_bwd", info.at);
  return side_by_side("forward computation:\n\n" + ir::print(forward.program),
                      "backward computation:\n\n" + ir::print(backward));
}

void print_fwd_bwd(const FlatFunction& f, std::span<const Array> x, const CallInfo& info) {
  std::string text = fwd_bwd_text(f, x, info);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace flat
}  // namespace anew
