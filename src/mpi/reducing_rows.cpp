// Rows whose result is the same on all ranks: psum, pmax, pmin; and pvary, by which such a value becomes each rank's
// own. psum and pvary are each other's transposes.
#include <anew/ops.h>
#include <fmt/format.h>

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

// One array is reduced where its result lies; several are packed one behind the other.
ir::Lowered lower_join(std::string_view op, Joins how, const ir::Params& params, std::span<const Type> in) {
  const std::shared_ptr<const Group> group = params.as<CommParams>().comm.group;
  const DType dtype = in[0].dtype;
  const std::int64_t elements = elements_of(in);
  const bool one = in.size() == 1;
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(dtype);
  const std::size_t work = reduce_scratch(*group, elements, dtype), packed = one ? 0 : (bytes + 63) / 64 * 64;
  ir::Lowered l;
  l.scratch = work + packed;
  l.in_place = one ? 0 : -1;
  l.call = [=](std::span<const ir::Memory> x, std::span<const ir::Memory> y, std::byte* scratch) {
    group->agree(describe(op, x));
    if (one) {
      const bool dense = is_dense(x[0]);
      if (!dense) pack(x[0], y[0].data);
      return all_reduce(*group, how, dense ? x[0].data : y[0].data, y[0].data, elements, dtype, scratch);
    }
    std::byte* const all = scratch + work;
    std::size_t at = 0;
    for (const ir::Memory& m : x) pack(m, all + at), at += m.type.bytes();
    all_reduce(*group, how, all, all, elements, dtype, scratch);
    at = 0;
    for (const ir::Memory& m : y) unpack(m, all + at), at += m.type.bytes();
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
  const Primitive& axis_index = row(indexing());
};

}  // namespace

const Primitive& psum_row() { return rows<ReducingRows>().psum; }
const Primitive& pmax_row() { return rows<ReducingRows>().pmax; }
const Primitive& pmin_row() { return rows<ReducingRows>().pmin; }
const Primitive& pvary_row() { return rows<ReducingRows>().pvary; }
const Primitive& axis_index_row() { return rows<ReducingRows>().axis_index; }
std::span<const Primitive* const> reducing_rows() { return rows<ReducingRows>().list(); }

}  // namespace anew::mpi
