// See layout.h.
#include "codegen/layout.h"

#include <algorithm>

#include "loops/build.h"
#include "loops/instruction.h"

namespace anew::codegen {
namespace {

using loops::KernelForm;
using loops::Op;

void add_access(loops::Stream& s, OperandStream& out, const loops::Access& access, const loops::Kernel& k,
                std::span<const Shape> strides) {
  out.operand = access.operand;
  out.dtype = k.operands[access.operand].dtype;
  const Shape& by_dim = strides[access.operand];
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const loops::Affine& f = access.index[d];
    const std::int64_t stride = by_dim[static_cast<int>(d)];
    out.offset += f.constant * stride;
    for (std::size_t v = 0; v < f.coefficients.size(); ++v) s.raw[v] += f.coefficients[v] * stride;
  }
}

}  // namespace

Layout::Layout(const Source& source, bool scales)
    : schedule(source.schedule), kernel(loops::expand(*source.kernel, scales)) {
  if (source.strides.size() != kernel.operands.size())
    throw InternalError("[codegen] a kernel is compiled with the strides of each of its operands");
  for (std::size_t o = 0; o < kernel.operands.size(); ++o)
    if (source.strides[o].ndim() != kernel.operands[o].shape.ndim())
      throw InternalError("[codegen] an operand has one stride per dimension");
  make_streams(source);
  find_places();
  find_rare();
  count_work();
}

int Layout::first_of(int section) const {
  return static_cast<int>(std::lower_bound(sections.begin(), sections.end(), section) - sections.begin());
}

void Layout::make_streams(const Source& source) {
  const std::size_t count = kernel.nodes.size();
  std::vector<bool> used(count);
  for (const loops::Store& s : kernel.stores) used[s.node] = true;
  for (std::size_t n = count; n-- > 0;)
    if (used[n])
      for (std::int32_t x : {kernel.nodes[n].a, kernel.nodes[n].b, kernel.nodes[n].c})
        if (x >= 0) used[x] = true;
  place.assign(count, Level::unused);
  for (std::size_t n = 0; n < count; ++n)
    if (used[n]) place[n] = Level::entry;

  std::vector<loops::Stream> raw;
  stream_of.assign(count, -1);
  auto add = [&]() -> loops::Stream& {
    streams.emplace_back();
    return raw.emplace_back();
  };
  for (std::size_t n = 0; n < count; ++n) {
    const loops::Node& node = kernel.nodes[n];
    if (!used[n] || (node.op != Op::load && node.op != Op::index)) continue;
    stream_of[n] = static_cast<int>(streams.size());
    loops::Stream& s = add();
    if (node.op == Op::load) add_access(s, streams.back(), kernel.accesses[node.imm], kernel, source.strides);
    else s.raw[node.imm] = 1;
  }
  for (const loops::Store& store : kernel.stores) {
    stores.push_back(static_cast<int>(streams.size()));
    loops::Stream& s = add();
    add_access(s, streams.back(), store.to, kernel, source.strides);
  }
  make_nest(raw);
}

void Layout::make_nest(std::vector<loops::Stream>& raw) {
  loops::Nest nest;
  const auto& loops = schedule.loops;
  loops::make_nest(nest, loops.data(), static_cast<int>(loops.size()), raw.data(), raw.size());
  extents.assign(nest.extent, nest.extent + nest.rank);
  sections.assign(nest.section, nest.section + nest.rank);
  for (std::size_t s = 0; s < streams.size(); ++s) streams[s].strides.assign(raw[s].stride, raw[s].stride + nest.rank);
  // Loops of one iteration are gone; every form needs those it is written for.
  if (schedule.form == KernelForm::elementwise) ensure(0, 1);
  if (schedule.form != KernelForm::elementwise) ensure(1, 0);
  if (schedule.form == KernelForm::columns) ensure(2, 1);
}

void Layout::ensure(int section, std::int64_t stride_of_stores) {
  const int at = first_of(section);
  if (at < rank() && sections[at] == section) return;
  extents.insert(extents.begin() + at, 1);
  sections.insert(sections.begin() + at, section);
  for (std::size_t s = 0; s < streams.size(); ++s)
    streams[s].strides.insert(streams[s].strides.begin() + at,
                              s >= static_cast<std::size_t>(stores[0]) ? stride_of_stores : 0);
}

void Layout::find_places() {
  const std::size_t count = kernel.nodes.size();
  const std::uint32_t last = 1u << inner();
  const std::uint32_t reduced = ((1u << first_of(2)) - 1) & ~((1u << first_of(1)) - 1);
  auto placed = [&](std::uint32_t depends) {
    switch (schedule.form) {
      case KernelForm::elementwise: return depends & last ? Level::vector : depends ? Level::row : Level::entry;
      case KernelForm::rows:
        return depends & last ? Level::vector : depends & reduced ? Level::row : depends ? Level::result : Level::entry;
      default:
        return depends & last      ? depends & reduced ? Level::vector : Level::strip
               : depends & reduced ? Level::down
               : depends           ? Level::row
                                   : Level::entry;
    }
  };
  std::vector<std::uint32_t> depends(count);
  splat.assign(count, false);
  auto read_by_lane = [&](std::int32_t n) {
    if (n >= 0 && !by_lane(place[n])) splat[n] = true;
  };
  for (std::size_t n = 0; n < count; ++n) {
    if (place[n] == Level::unused) continue;
    const loops::Node& node = kernel.nodes[n];
    if (stream_of[n] >= 0) {
      const OperandStream& s = streams[stream_of[n]];
      for (int d = 0; d < rank(); ++d)
        if (s.strides[d] != 0) depends[n] |= 1u << d;
    }
    for (std::int32_t x : {node.a, node.b, node.c})
      if (x >= 0) depends[n] |= depends[x];
    place[n] = placed(depends[n]);
    if (!by_lane(place[n])) continue;
    for (std::int32_t x : {node.a, node.b, node.c}) read_by_lane(x);
  }
  for (const loops::Store& s : kernel.stores) read_by_lane(s.node);
}

bool Layout::is_rare(int n) const {
  const auto found = rare.find(node(n).a);
  return found != rare.end() && std::binary_search(found->second.begin(), found->second.end(), n);
}

void Layout::find_rare() {
  const int count = static_cast<int>(kernel.nodes.size());
  for (int n = 0; n < count; ++n) {
    const loops::Node& s = node(n);
    if (place[n] == Level::unused || s.op != Op::select || s.imm == 0 || place[s.a] != place[n]) continue;
    std::vector<int>& group = rare[s.a];
    const int first = group.empty() ? n : group.front();
    if (s.b < first && s.c < first && place[n] == place[first]) group.push_back(n);
  }
  // The selects of a condition are written together, so they have to be needed together.
  auto apart = [&](const auto& group) {
    const std::vector<int>& selects = group.second;
    return std::any_of(selects.begin(), selects.end(), [&](int n) { return only_if[n] != only_if[selects.front()]; });
  };
  do find_needed();
  while (std::erase_if(rare, apart) > 0);
}

void Layout::find_needed() {
  // From the readers of a node: the condition that all of them have, or -1; -2 before any is seen.
  only_if.assign(kernel.nodes.size(), -2);
  auto read = [&](std::int32_t n, int condition) {
    if (n >= 0) only_if[n] = only_if[n] == -2 || only_if[n] == condition ? condition : -1;
  };
  for (const loops::Store& s : kernel.stores) read(s.node, -1);
  for (int n = static_cast<int>(kernel.nodes.size()); n-- > 0;) {
    if (place[n] == Level::unused) continue;
    const loops::Node& s = node(n);
    if (only_if[n] >= 0 && (stream_of[n] >= 0 || place[n] != place[rare[only_if[n]].front()])) only_if[n] = -1;
    read(s.a, only_if[n]);
    read(s.b, is_rare(n) ? s.a : only_if[n]);
    read(s.c, only_if[n]);
  }
}

void Layout::count_work() {
  for (std::size_t n = 0; n < place.size(); ++n) {
    if (!by_lane(place[n]) || only_if[n] >= 0) continue;
    ++work;
    wide += size_of(kernel.nodes[n].dtype) == 8;
  }
}

}  // namespace anew::codegen
