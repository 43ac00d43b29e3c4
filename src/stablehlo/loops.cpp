// scan and while as stablehlo.while. What is the same at each step travels with what changes, since a body sees nothing
// of its surroundings. A scan reads its xs row by row and writes its ys in place.
// A loop that records keeps states for the unwind that walks back: a scan at the steps of its schedule; a while, whose
// length nobody knows, at multiples of a distance that doubles whenever the slots are full.
#include "control/loop.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

template <class T>
std::vector<T> joined_lists(std::initializer_list<std::vector<T>> lists) {
  std::vector<T> out;
  for (const auto& l : lists) out.insert(out.end(), l.begin(), l.end());
  return out;
}
Types types_of_values(const Values& v) {
  Types out;
  for (const Value& x : v) out.push_back(x.type);
  return out;
}
Type with_rows(const Type& t, std::int64_t rows) {
  Type s = t;
  s.shape.insert(0, rows);
  return s;
}
Value without_last_row(Writer& w, const Value& x) {
  Shape limit = x.type.shape;
  --limit[0];
  return w.slice(x, repeated(limit.ndim(), 0), limit, repeated(limit.ndim(), 1));
}

// A while loop over values that a body changes: state -> state as long as condition(state).
using State = std::function<Values(Writer&, const Values&)>;
Values write_while(Writer& w, const Values& start, const std::function<Value(Writer&, const Values&)>& condition,
                   const State& body) {
  return w.op({"stablehlo.while",
               {},
               {[&](Writer& r, const Values& v) { r.give({condition(r, v)}); },
                [&](Writer& r, const Values& v) { r.give(body(r, v)); }},
               types_of_values(start)},
              start, types_of_values(start));
}

// Where a scan keeps a state: in the slot of the next stop if this is its step, else in a row behind the slots.
struct Keeping {
  Value slot, next;
};
Keeping write_keeping(Writer& w, const LoopParams& p, const Value& step, const Value& number) {
  const std::int64_t slots = slots_of(p);
  std::vector<std::int64_t> stops = recorded_stops(p);
  stops.resize(static_cast<std::size_t>(slots) + 1, -1);
  const Value hit = w.compare("EQ", step, w.row(w.integers(step.type.dtype, stops), number));
  return {w.select(hit, number, w.integer(number.type, slots)), w.binary("add", number, w.convert(hit, i32))};
}

Values write_scan(const Context& c, const LoopParams& p) {
  Writer& w = c.w;
  const LoopForm f = form_of(p);
  const Lists<Value> in = f.operands.partition(c.in);
  const Values &constants = in[Role::constants], &carries = in[Role::carries], &xs = in[Role::xs];
  Values ys, states;
  for (const Type& t : f.results.partition(p.body->output_types())[Role::ys])
    ys.push_back(w.constant(with_rows(t, p.length), 0));
  for (int r : p.record) {
    const Value& x = carries[static_cast<std::size_t>(r)];
    states.push_back(w.with_row(w.constant(with_rows(x.type, slots_of(p) + 1), 0), w.integer(scalar(i32), 0), x));
  }
  const Type counter = scalar(p.length < std::numeric_limits<std::int32_t>::max() ? i32 : i64);
  // counter, number of the next stop, constants, xs, carries, ys, states
  const Values start =
      joined_lists<Value>({{w.integer(counter, 0), w.integer(scalar(i32), 0)}, constants, xs, carries, ys, states});
  const std::size_t first_x = 2 + constants.size(), first = first_x + xs.size(), first_y = first + carries.size(),
                    first_state = first_y + ys.size();
  auto body = [&](Writer& r, const Values& v) {
    Values next = v;
    const Value place = p.reverse ? r.binary("subtract", r.integer(counter, p.length - 1), v[0]) : v[0];
    Values operands(v.begin() + 2, v.begin() + static_cast<std::ptrdiff_t>(first_x));
    for (std::size_t i = first; i < first_y; ++i) operands.push_back(v[i]);
    for (std::size_t i = first_x; i < first; ++i) operands.push_back(r.row(v[i], place));
    const Values out = c.module.call(r, p.body, "scan_body", operands);
    for (std::size_t i = first; i < first_y; ++i) next[i] = out[i - first];
    for (std::size_t i = first_y; i < first_state; ++i) next[i] = r.with_row(v[i], place, out[i - first]);
    if (!states.empty()) {
      const Keeping keep = write_keeping(r, p, v[0], v[1]);
      for (std::size_t i = 0; i < states.size(); ++i)
        next[first_state + i] =
            r.with_row(v[first_state + i], keep.slot, v[first + static_cast<std::size_t>(p.record[i])]);
      next[1] = keep.next;
    }
    next[0] = r.binary("add", v[0], r.integer(counter, 1));
    return next;
  };
  auto more = [&](Writer& r, const Values& v) { return r.compare("LT", v[0], r.integer(counter, p.length)); };
  const Values end = p.length > 0 ? write_while(w, start, more, body) : start;
  Values out(end.begin() + static_cast<std::ptrdiff_t>(first), end.begin() + static_cast<std::ptrdiff_t>(first_state));
  for (std::size_t i = first_state; i < end.size(); ++i) out.push_back(without_last_row(w, end[i]));
  return out;
}

Values write_plain_while(const Context& c, const LoopParams& p, const Values& constants, const Values& carries) {
  const auto k = static_cast<std::ptrdiff_t>(constants.size());
  const Values end = write_while(
      c.w, joined_lists<Value>({constants, carries}),
      [&](Writer& r, const Values& v) { return c.module.call(r, p.condition, "while_condition", v)[0]; },
      [&](Writer& r, const Values& v) {
        Values next(v.begin(), v.begin() + k);
        const Values out = c.module.call(r, p.body, "while_body", v);
        next.insert(next.end(), out.begin(), out.end());
        return next;
      });
  return Values(end.begin() + k, end.end());
}

// The distance and the stacks; where the slots are full, twice the distance and every second state.
Values write_room(Writer& w, const Value& step, const Value& distance, const Values& stacks, std::int64_t slots) {
  const Type counter = distance.type;
  const Value full = w.compare("EQ", step, w.binary("multiply", distance, w.integer(counter, slots)));
  Types types = types_of_values(stacks);
  types.insert(types.begin(), counter);
  Writer::Op op{"stablehlo.case"};
  op.regions.push_back([&](Writer& r, const Values&) {
    Values same = stacks;
    same.insert(same.begin(), distance);
    r.give(same);
  });
  op.regions.push_back([&](Writer& r, const Values&) {
    Values halved{r.binary("add", distance, distance)};
    for (const Value& x : stacks) {
      const int d = x.type.shape.ndim();
      Shape limit = x.type.shape, by = repeated(d, 1), after = repeated(d, 0);
      --limit[0];
      by[0] = 2;
      const Value kept = r.slice(x, repeated(d, 0), limit, by);
      after[0] = slots + 1 - kept.type.shape[0];
      halved.push_back(r.pad(kept, r.constant(scalar(x.type.dtype), 0), repeated(d, 0), after, repeated(d, 0)));
    }
    r.give(halved);
  });
  return w.op(op, {w.convert(full, i32)}, types);
}

// The steps whose states are in the slots, -1 past the last one; the first is always there.
Value write_kept_steps(Writer& w, const Value& steps_taken, const Value& distance, std::int64_t slots) {
  const Type all{{slots}, i32};
  const Value steps = w.binary("multiply", w.iota(all, 0), w.spread(distance, all.shape));
  const Value taken = w.spread(w.binary("maximum", steps_taken, w.integer(scalar(i32), 1)), all.shape);
  return w.select(w.compare("LT", steps, taken), steps, w.integer(all, -1));
}

Values write_recording_while(const Context& c, const LoopParams& p, const Values& constants, const Values& carries) {
  Writer& w = c.w;
  const std::int64_t slots = slots_of(p);
  const Type counter = scalar(i32);
  Values states;
  for (int r : p.record) {
    const Value& x = carries[static_cast<std::size_t>(r)];
    states.push_back(w.with_row(w.constant(with_rows(x.type, slots + 1), 0), w.integer(counter, 0), x));
  }
  const std::size_t first = 2 + constants.size(), n = carries.size(), s = states.size();
  // step, distance, constants, carries, states
  Values start = joined_lists<Value>({{w.integer(counter, 0), w.integer(counter, 1)}, constants, carries, states});
  auto arguments = [&](const Values& v) {
    return Values(v.begin() + 2, v.begin() + static_cast<std::ptrdiff_t>(first + n));
  };
  const Values end = write_while(
      w, start,
      [&](Writer& r, const Values& v) { return c.module.call(r, p.condition, "while_condition", arguments(v))[0]; },
      [&](Writer& r, const Values& v) {
        Values next = v;
        const Value most = r.integer(counter, slots);
        const Values stacks(v.begin() + static_cast<std::ptrdiff_t>(first + n), v.end());
        const Values room = write_room(r, v[0], v[1], stacks, slots);
        const Value due = r.compare("EQ", r.binary("remainder", v[0], room[0]), r.integer(counter, 0));
        const Value slot = r.select(due, r.binary("minimum", r.binary("divide", v[0], room[0]), most), most);
        for (std::size_t i = 0; i < s; ++i)
          next[first + n + i] = r.with_row(room[1 + i], slot, v[first + static_cast<std::size_t>(p.record[i])]);
        const Values out = c.module.call(r, p.body, "while_body", arguments(v));
        for (std::size_t i = 0; i < n; ++i) next[first + i] = out[i];
        next[0] = r.binary("add", v[0], r.integer(counter, 1));
        next[1] = room[0];
        return next;
      });
  Values out(end.begin() + static_cast<std::ptrdiff_t>(first), end.begin() + static_cast<std::ptrdiff_t>(first + n));
  out.push_back(end[0]);
  out.push_back(write_kept_steps(w, end[0], end[1], slots));
  for (std::size_t i = 0; i < s; ++i) out.push_back(without_last_row(w, end[first + n + i]));
  return out;
}

}  // namespace

Values write_loop(const Context& c) {
  const LoopParams& p = loop_of(c.eqn.params);
  if (!p.condition) return write_scan(c, p);
  const Lists<Value> in = form_of(p).operands.partition(c.in);
  return (p.records ? write_recording_while : write_plain_while)(c, p, in[Role::constants], in[Role::carries]);
}

}  // namespace anew::stablehlo
