// jit: a nested call. Its two halves stay calls; values that pass through go around it.
#include <fmt/format.h>

#include <mutex>
#include <unordered_map>

#include "control/nested_rules.h"
#include "control/rows.h"

namespace anew {
namespace {

const JitParams& of(const ParamsRef& p) { return static_cast<const JitParams&>(*p); }

MakeParams with_program(const JitParams& like) {
  return [name = like.name](ir::ProgramRef program) {
    auto p = std::make_shared<JitParams>();
    p->name = name;
    p->program = std::move(program);
    return p;
  };
}

}  // namespace

const ir::Primitive& jit_row() {
  static const ir::Primitive row{
      .name = "jit",
      .infer =
          [](const ir::InferArgs& a) {
            return infer_nested(*static_cast<const JitParams&>(a.params).program, a, "jit");
          },
      .parse = &JitParams::parse,
      .batch =
          [](const ir::BatchArgs& a) {
            return batch_nested(jit_row(), with_program(of(a.params)), *of(a.params).program, a);
          },
      .run = [](const ParamsRef& p, std::span<const Array> x, const Location&) { return evaluate(*of(p).program, x); },
      .nested_jvp =
          [](const ParamsRef& p, std::span<const Array> x, std::span<const Array> t, const Location& at) {
            return jvp_nested(jit_row(), with_program(of(p)), *of(p).program, x, t, at);
          },
      .split =
          [](const ir::SplitArgs& a) {
            MakeParams params = with_program(of(a.params));
            return split_nested(jit_row(), *of(a.params).program, a,
                                {.policy = a.trace.policy(), .known = params, .staged = params});
          },
      .nested_transpose =
          [](const ir::NestedTransposeArgs& a) {
            return transpose_nested(jit_row(), with_program(of(a.params)), *of(a.params).program, a);
          },
      .dce =
          [](const ir::Eqn& e, const std::vector<bool>& used) {
            return dce_nested(with_program(of(e.params)), *of(e.params).program, used);
          },
  };
  return row;
}

namespace flat {

struct JitCache::State {
  std::mutex guard;
  std::unordered_multimap<std::size_t, ir::ProgramRef> programs;
};
JitCache::JitCache() : state_(std::make_shared<State>()) {}
std::size_t JitCache::size() const {
  std::lock_guard lock(state_->guard);
  return state_->programs.size();
}

Arrays jit(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options,
           std::string_view name, const Location& at) {
  auto refuse = [&](const char* what, const char* option) {
    throw Error(fmt::format("[jit] {} not available", what), at, fmt::format("call jit without {}", option));
  };
  if (options.memory_budget) refuse("memory budgets are", ".memory_budget");
  if (options.threads != 0) refuse("a number of threads per function is", ".threads");
  if (!options.donate.empty()) refuse("donating arguments is", ".donate");
  Closed c = close_over(f, x, "jit", at);
  auto shared = share(std::move(c.program));
  {
    JitCache::State& s = cache.state();
    std::lock_guard lock(s.guard);
    std::size_t h = ir::hash_value(*shared);
    auto [begin, end] = s.programs.equal_range(h);
    auto it = std::find_if(begin, end, [&](const auto& entry) { return ir::equal(*entry.second, *shared); });
    if (it == end) s.programs.emplace(h, shared);
  }
  JitParams like;
  like.name = std::string(name);
  return bind_nested(jit_row(), with_program(like), *shared, c.inputs, at);
}

}  // namespace flat
}  // namespace anew
