// The memory plan of a lowered Program: sizes, and what is alive where the arena is fullest.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <set>
#include <unordered_map>

#include "base/base.h"
#include "base/saturate.h"
#include "jit/compiled_program.h"
#include "jit/describe.h"
#include "jit/labels.h"

namespace anew::compiled {
namespace {

// What a mark says of a value.
LiveValue labelled(LiveValue v, const ir::Mark& mark, const Labels& labels) {
  const Label label = labels.of(mark);
  v.leaf = label.leaf;
  v.backward = label.backward;
  v.callers = ir::str(mark.region);
  return v;
}

void collect_live(const passes::Body& body, const std::string& inside, const Labels& labels,
                  std::vector<LiveValue>& out) {
  const Table<passes::StorageId, passes::Span> spans = passes::spans_of(body);
  const std::vector<std::size_t> live = live_bytes(body, spans);
  std::size_t at = 0, most = 0;
  for (std::size_t i = 0; i < live.size(); ++i)
    if (live[i] + body.steps[i].scratch > most) at = i, most = live[i] + body.steps[i].scratch;
  if (most == 0) return;
  const Table<passes::StorageId, passes::ValueId> written = written_values(body, at);
  for (passes::StorageId s : body.storages.ids()) {
    if (!written[s] || !in_arena(body, written[s]) || body.storages[s].bytes == 0) continue;
    if (spans[s].first > static_cast<int>(at) || spans[s].last < static_cast<int>(at)) continue;
    const passes::Value& v = body.values[written[s]];
    out.push_back(labelled({v.primitive ? v.primitive->name : "copy", v.type, body.storages[s].bytes, v.at, inside},
                           mark_of(body, written[s]), labels));
  }
  const passes::Step& step = body.steps[at];
  const passes::Body* fullest = nullptr;
  for (const auto& b : step.bodies)
    if (is_control(step) && (!fullest || b->bytes > fullest->bytes)) fullest = b.get();
  const std::size_t nested = fullest ? fullest->bytes : 0;
  if (fullest) collect_live(*fullest, (inside.empty() ? "" : inside + " / ") + step_name(step), labels, out);
  // Of a loop: the spare buffers of its carries, copies of states.
  if (step.scratch > nested)
    out.push_back(labelled({fmt::format("{} of {}", fullest ? "buffers" : "scratch", step_name(step)),
                            {{static_cast<std::int64_t>(step.scratch - nested)}, bool_},
                            step.scratch - nested,
                            step.at,
                            inside,
                            true},
                           mark_of(body, step), labels));
}

// What lies on disk: of what is moved there, the value that is; of a loop's states, what the loop gives.
void collect_offloaded(const passes::Body& body, const std::string& inside, const Labels& labels,
                       std::vector<LiveValue>& out) {
  std::set<passes::StorageId> known;
  for (const passes::Step& s : body.steps) {
    const passes::Call* call = s.as<passes::Call>();
    for (passes::ValueId v : s.out) {
      const passes::Storage& storage = body.storage_of(v);
      const bool outside = storage.kind == passes::Storage::Kind::output && !inside.empty();  // listed there
      if (!storage.on_disk() || outside || !known.insert(body.values[v].storage).second) continue;
      const passes::ValueId of = call && call->moves == passes::Call::Moves::out ? s.in[0] : v;
      const passes::Value& value = body.values[of];
      out.push_back(
          labelled({value.primitive ? value.primitive->name : "copy", body.type(v), storage.bytes, value.at, inside},
                   mark_of(body, of), labels));
    }
    for (const auto& nested : s.bodies)
      collect_offloaded(*nested, (inside.empty() ? "" : inside + " / ") + step_name(s), labels, out);
  }
}

}  // namespace

void check_countable(const ir::Program& program) {
  ir::for_each_program(program, [](const ir::Program& p) {
    std::int64_t bytes = 0;
    for (const Type& t : p.types) bytes = saturating_add(bytes, static_cast<std::int64_t>(t.bytes()));
    if (bytes > std::numeric_limits<std::int64_t>::max() / 2)  // room for alignment and spare buffers
      throw Error("[jit] the arrays of the program are more bytes than can be counted",
                  p.eqns.empty() ? Location() : p.eqns.front().at);
  });
}

MemoryPlan plan_of(const ir::Program& program, const passes::Body& body) {
  MemoryPlan plan;
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    (i < static_cast<std::size_t>(program.constants) ? plan.constant_bytes : plan.argument_bytes) +=
        program.type(program.inputs[i]).bytes();
  plan.output_bytes = passes::output_bytes(body);
  for (passes::ValueId v : body.outputs)
    if (!body.storage_of(v).on_disk()) plan.donated_bytes += body.type(v).bytes();
  plan.donated_bytes -= plan.output_bytes;
  plan.arena_bytes = body.bytes;
  plan.peak_bytes = plan.argument_bytes + plan.constant_bytes + plan.output_bytes + plan.arena_bytes;
  const Labels labels(program);
  collect_live(body, "", labels, plan.live);
  collect_offloaded(body, "", labels, plan.offloaded);
  for (std::vector<LiveValue>* list : {&plan.live, &plan.offloaded})
    largest_first(*list, [](const LiveValue& v) { return v.bytes; });
  for (const LiveValue& v : plan.offloaded) plan.disk_bytes += v.bytes;
  return plan;
}

std::string path_of(int leaf, bool backward, const std::vector<std::string>& paths) {
  if (leaf < 0) return "";
  const auto i = static_cast<std::size_t>(leaf);
  return (backward ? "d " : "") + (i < paths.size() ? paths[i] : std::to_string(i));
}

}  // namespace anew::compiled

namespace anew {
namespace {

using compiled::Pattern;
using compiled::readable_bytes;

// Values that a reader cannot tell apart, or only by which of many layers they belong to.
struct Group {
  const LiveValue* value;
  Pattern where;
  std::size_t count = 0;
  std::size_t bytes() const { return count * value->bytes; }
  std::string size() const {
    return count > 1 ? fmt::format("{} x {}", count, value->bytes) : std::to_string(value->bytes);
  }
  std::string type() const { return value->scratch ? "" : value->type.str(); }
  // Kernels may be made of many operations.
  std::string what() const {
    constexpr std::size_t most = 48;
    return value->what.size() <= most ? value->what : value->what.substr(0, most - 3) + "...";
  }
};

// "  layers[3].w  model.cpp:41 (layer), checkpoint 3 of model.cpp:88 (loss)  in scan[10]"
std::string where(const LiveValue& v) {
  std::string out;
  if (!v.path.empty()) out += "  " + v.path;
  if (v.at.line()) out += "  " + source_line(v.at).str();
  if (!v.callers.empty()) out += ", " + v.callers;
  if (!v.inside.empty()) out += "  in " + v.inside;
  return out;
}

std::vector<Group> groups_of(const std::vector<LiveValue>& live, bool layers_together) {
  std::vector<Group> out;
  std::unordered_map<std::string, std::size_t> known;
  for (const LiveValue& v : live) {
    const std::string text = where(v);
    Pattern pattern(text);
    const std::string key =
        fmt::format("{} {} {} {}", v.what, v.type.str(), v.bytes, layers_together ? pattern.text() : text);
    auto [it, fresh] = known.emplace(key, out.size());
    if (fresh) out.push_back({&v, std::move(pattern)});
    else out[it->second].where.join(pattern);
    ++out[it->second].count;
  }
  compiled::largest_first(out, [](const Group& g) { return g.bytes(); });
  return out;
}

std::string list_of(const char* heading, const std::vector<LiveValue>& values) {
  if (values.empty()) return "";
  std::string out = heading;
  constexpr std::size_t most = 16;
  std::vector<Group> groups = groups_of(values, false);
  if (groups.size() > most) groups = groups_of(values, true);
  const std::size_t shown = std::min(most, groups.size());
  std::size_t size = 0, type = 0, left = 0, left_count = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    size = std::max(size, groups[i].size().size());
    type = std::max(type, groups[i].type().size());
  }
  for (std::size_t i = shown; i < groups.size(); ++i) left += groups[i].bytes(), left_count += groups[i].count;
  size = std::max(size, std::to_string(left).size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Group& g = groups[i];
    out += fmt::format("  {:>{}}  {:>9}  {:<{}}  {}{}\n", g.size(), size,
                       readable_bytes(static_cast<double>(g.bytes())), g.type(), type, g.what(), g.where.str());
  }
  if (left_count)
    out +=
        fmt::format("  {:>{}}  {:>9}  in {} more\n", left, size, readable_bytes(static_cast<double>(left)), left_count);
  return out;
}

}  // namespace

std::string MemoryPlan::str() const {
  std::string out;
  auto total = [&](const char* what, std::size_t bytes) {
    out += fmt::format("{:<12} {:>14}", what, fmt::format("{} bytes", bytes));
    if (bytes >= 1024) out += fmt::format("  {:>10}", readable_bytes(static_cast<double>(bytes)));
    out += '\n';
  };
  total("peak", peak_bytes);
  total("  arguments", argument_bytes);
  total("  constants", constant_bytes);
  total("  outputs", output_bytes);
  if (donated_bytes) total("    donated", donated_bytes);
  total("  arena", arena_bytes);
  if (disk_bytes > 0) total("on disk", disk_bytes);
  if (extra_time > 0)
    out += fmt::format("{:<12} {:>+11.2f} % time, at least {:+.2f} % in any plan within the budget\n",
                       !compiled::moves_values(*this) ? "recomputed"
                       : recomputed.empty()           ? "moved"
                                                      : "again, moved",
                       100 * extra_time, 100 * extra_time_bound);
  out += list_of("alive in the arena where it is fullest:\n", live);
  return out + list_of("on disk meanwhile:\n", offloaded);
}

std::ostream& operator<<(std::ostream& os, const MemoryPlan& plan) { return os << plan.str(); }

}  // namespace anew
