// Rows whose result is the same on all ranks: psum, pmax, pmin; and pvary, by which such a value becomes each rank's
// own. psum and pvary are each other's transposes.
#include <anew/ops.h>
#include <fmt/format.h>

#include "mpi/background.h"
#include "mpi/collective_rows.h"
#include "ops/family.h"

namespace anew::mpi {

ir::ParamValue to_param(const CommField& c) { return {c.group ? c.group->name : std::string()}; }
bool from_param(const ir::ParamValue& v, CommField& c) {
  auto* name = std::get_if<std::string>(&v.v);
  c.group = name ? find_group(*name) : nullptr;
  return c.group != nullptr;
}
ir::ParamsRef comm_params(const std::shared_ptr<const Group>& group) {
  CommParams p;
  p.comm.group = group;
  return make_params(std::move(p));
}

std::string describe(std::string_view op, std::span<const ir::Memory> in) {
  std::string out;
  for (const ir::Memory& m : in) out += fmt::format("{}{}", out.empty() ? "" : ", ", m.type.str());
  return fmt::format("{} of {}", op, out);
}

void pack(const ir::Memory& m, std::byte* to) {
  const ir::Strides dense = row_major(m.type.shape);
  if (m.type.shape.size() > 0)
    copy_array({to, m.type.dtype, m.type.shape, dense}, {m.data, m.type.dtype, m.type.shape, m.strides});
}
void unpack(const ir::Memory& m, const std::byte* from) {
  if (std::size_t bytes = m.type.bytes()) std::memcpy(m.data, from, bytes);
}

namespace {

std::int64_t elements_of(std::span<const Type> types) {
  std::int64_t n = 0;
  for (const Type& t : types) n += t.shape.size();
  return n;
}

// A reduction of one array, where its result lies, or of several, packed one behind the other.
struct Join {
  std::string op;
  Joins how;
  std::shared_ptr<const Group> group;
  DType dtype;
  std::int64_t elements;
  bool one;
  std::size_t bytes() const { return static_cast<std::size_t>(elements) * size_of(dtype); }
  std::size_t work() const { return reduce_scratch(*group, elements, dtype); }

  void run(const std::string& what, const std::byte* x, std::byte* y, std::byte* work) const {
    group->agree(what);
    all_reduce(*group, how, x, y, elements, dtype, work);
  }
  static void pack_all(std::span<const ir::Memory> x, std::byte* to) {
    for (const ir::Memory& m : x) pack(m, to), to += m.type.bytes();
  }
  static void unpack_all(std::span<const ir::Memory> y, const std::byte* from) {
    for (const ir::Memory& m : y) unpack(m, from), from += m.type.bytes();
  }
};

// In flight: the array, or all packed, which becomes the result; and what the reduction works in.
std::shared_ptr<const ir::Lowered::Halves> halves_of(const Join& join, const Type& first) {
  if (join.group->size == 1 || join.elements == 0 || !has_background()) return nullptr;
  ir::Lowered::Halves h;
  h.flight = {join.one ? first : Type{{join.elements}, join.dtype},
              Type{{static_cast<std::int64_t>(join.work())}, bool_}};
  h.in_place = join.one;
  h.start = [=](std::span<const ir::Memory> x, std::span<const ir::Memory> flight, std::byte*) {
    std::byte *const data = flight[0].data, *const work = flight[1].data;
    if (!join.one || x[0].data != data) Join::pack_all(x, data);
    const std::string what = describe(join.op, x);
    background().begin(data, what, [=] { join.run(what, data, data, work); });
  };
  h.finish = [=](std::span<const ir::Memory> flight, std::span<const ir::Memory> y, std::byte*) {
    background().finish(flight[0].data);
    if (!join.one || y[0].data != flight[0].data) Join::unpack_all(y, flight[0].data);
  };
  return std::make_shared<const ir::Lowered::Halves>(std::move(h));
}

ir::Lowered lower_join(std::string_view op, Joins how, const ir::Params& params, std::span<const Type> in) {
  const Join join{std::string(op), how,           params.as<CommParams>().comm.group, in[0].dtype,
                  elements_of(in), in.size() == 1};
  const std::size_t work = join.work(), packed = join.one ? 0 : (join.bytes() + 63) / 64 * 64;
  ir::Lowered l;
  l.scratch = work + packed;
  l.in_place = join.one ? 0 : -1;
  l.halves = halves_of(join, in[0]);
  l.call = [=](std::span<const ir::Memory> x, std::span<const ir::Memory> y, std::byte* scratch) {
    const std::string what = describe(join.op, x);
    if (join.one) {
      const bool dense = is_dense(x[0]);
      if (!dense) pack(x[0], y[0].data);
      return join.run(what, dense ? x[0].data : y[0].data, y[0].data, scratch);
    }
    std::byte* const all = scratch + work;
    Join::pack_all(x, all);
    join.run(what, all, all, scratch);
    Join::unpack_all(y, all);
  };
  return l;
}

Types infer_join(std::string_view op, bool one, const ir::InferArgs& a) {
  if (a.in.empty() || (one && a.in.size() > 1))
    fail(op, a.at, fmt::format("takes {} array, got {}", one ? "one" : "at least one", a.in.size()));
  for (const Type& t : a.in) {
    if (t.dtype != a.in[0].dtype)
      fail(op, a.at, fmt::format("arrays of one equation have one dtype, got {} and {}", a.in[0].str(), t.str()));
    if (op == "psum" && t.dtype == bool_) fail(op, a.at, fmt::format("has no sum of {}", t.str()), "astype(x, i32)");
  }
  return Types(a.in.begin(), a.in.end());
}

// ---- psum
Primitive summing() {
  Primitive p;
  p.name = "psum";
  p.parse = &CommParams::parse;
  p.infer = [](const ir::InferArgs& a) { return infer_join("psum", false, a); };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return lower_join("psum", Joins::sum, params, in);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    Arrays some, out(a.t.size());
    for (const Array& t : a.t)
      if (t.value()) some.push_back(t);
    const Arrays made = anew::bind(psum_row(), a.params, some, a.at);
    for (std::size_t i = 0, next = 0; i < a.t.size(); ++i)
      if (a.t[i].value()) out[i] = made[next++];
    return out;
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(a.ct.size());
    for (std::size_t i = 0; i < a.ct.size(); ++i)
      if (a.ct[i].value() && a.linear[i]) out[i] = bind1(pvary_row(), a.params, {a.ct[i]}, a.at);
    return out;
  };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{anew::bind(psum_row(), a.params, a.x, a.at), a.mapped}; };
  p.facts.effects = true;
  return p;
}

// ---- pmax, pmin: the tangent is the mean of those of the ranks that have the extreme value
Primitive extreme(std::string name, Joins how, const Primitive& (*self)()) {
  Primitive p;
  p.parse = &CommParams::parse;
  p.infer = [name](const ir::InferArgs& a) { return infer_join(name, true, a); };
  p.lower = [name, how](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return lower_join(name, how, params, in);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const Array has = a.x[0] == a.y[0];
    const Array count = bind1(psum_row(), a.params, {astype(has, type_of(a.t[0]).dtype)}, a.at);
    const Array sum = bind1(psum_row(), a.params, {where(has, a.t[0], zeros_like(a.t[0]))}, a.at);
    return Arrays{sum / count};
  };
  p.batch = [self](const ir::BatchArgs& a) { return ir::Batched{anew::bind(self(), a.params, a.x, a.at)}; };
  p.facts.effects = true;
  p.name = std::move(name);
  return p;
}

// ---- pvary
Primitive varying() {
  Primitive p;
  p.name = "pvary";
  p.parse = &CommParams::parse;
  p.infer = [](const ir::InferArgs& a) { return infer_join("pvary", true, a); };
  p.view = [](const ir::Params&, const Type&, const ir::Strides& strides, const Type&) {
    return std::optional(ir::View{0, strides});
  };
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{bind1(pvary_row(), a.params, {a.t[0]}, a.at)}; };
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{bind1(psum_row(), a.params, {a.ct[0]}, a.at)}; };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{anew::bind(pvary_row(), a.params, a.x, a.at)}; };
  p.facts.linear_in = {0};
  p.facts.shows_operand = true;
  return p;
}

// ---- alike: what pvary takes, where it shall be looked at. Its tangent is not.
void check_alike(const AlikeParams& p, const Type& type, std::span<const std::byte> bytes) {
  const std::vector<std::uint64_t> all = p.comm.group->gather(hash_bytes(bytes));
  std::string others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others += fmt::format("{}{}", others.empty() ? "" : ", ", r);
  if (others.empty()) return;
  const bool several = others.find(',') != others.npos;
  throw Error(
      fmt::format("[{}] {}{}{} is not the same on all ranks: rank{} {} {} other values than rank 0", p.op, p.name,
                  p.name.empty() ? "" : ", ", type.str(), several ? "s" : "", others, several ? "have" : "has"),
      Location(), "broadcast(x, comm) makes it the same; what each rank has for itself needs no pvary or shard");
}
Primitive looking() {
  Primitive p;
  p.name = "alike";
  p.parse = &AlikeParams::parse;
  p.infer = [](const ir::InferArgs& a) { return infer_join("alike", true, a); };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    ir::Lowered l;
    l.in_place = 0;
    l.call = [q = params.as<AlikeParams>()](std::span<const ir::Memory> x, std::span<const ir::Memory> y, std::byte*) {
      if (x[0].data != y[0].data) pack(x[0], y[0].data);
      q.comm.group->agree(describe(q.op, x));
      check_alike(q, y[0].type, {y[0].data, y[0].type.bytes()});
    };
    return l;
  };
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0]}; };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{anew::bind(alike_row(), a.params, a.x, a.at)}; };
  p.facts.effects = true;
  return p;
}

// ---- axis_index: not a literal, so that Programs are the same on all ranks
Primitive indexing() {
  Primitive p;
  p.name = "axis_index";
  p.parse = &CommParams::parse;
  p.infer = [](const ir::InferArgs&) { return Types{{{}, i32}}; };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    ir::Lowered l;
    l.call = [rank = params.as<CommParams>().comm.group->rank](std::span<const ir::Memory>,
                                                               std::span<const ir::Memory> y, std::byte*) {
      std::memcpy(y[0].data, &rank, sizeof rank);
    };
    return l;
  };
  return p;
}

struct ReducingRows : Family {
  const Primitive& psum = row(summing());
  const Primitive& pmax = row(extreme("pmax", Joins::max, pmax_row));
  const Primitive& pmin = row(extreme("pmin", Joins::min, pmin_row));
  const Primitive& pvary = row(varying());
  const Primitive& alike = row(looking());
  const Primitive& axis_index = row(indexing());
};

}  // namespace

const Primitive& psum_row() { return rows<ReducingRows>().psum; }
const Primitive& pmax_row() { return rows<ReducingRows>().pmax; }
const Primitive& pmin_row() { return rows<ReducingRows>().pmin; }
const Primitive& pvary_row() { return rows<ReducingRows>().pvary; }
const Primitive& alike_row() { return rows<ReducingRows>().alike; }
const Primitive& axis_index_row() { return rows<ReducingRows>().axis_index; }
std::span<const Primitive* const> reducing_rows() { return rows<ReducingRows>().list(); }

}  // namespace anew::mpi
