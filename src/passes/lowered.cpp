// The lowered form: making it, looking at it, checking it.
#include "passes/lowered.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/loop.h"
#include "trace/trace.h"

namespace anew::passes {

bool Value::dense() const { return is_row_major(type.shape, strides) || type.shape.size() == 0; }

bool Value::packed() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride and size
  for (int d = 0; d < type.shape.ndim(); ++d)
    if (type.shape[d] != 1) axes.emplace_back(strides[d], type.shape[d]);
  std::sort(axes.begin(), axes.end());
  std::int64_t next = 1;
  for (auto [stride, size] : axes) {
    if (stride != next) return type.shape.size() == 0;
    next *= size;
  }
  return true;
}

ValueId Body::add_temporary(const Type& type, const ir::Primitive* primitive, const Location& at,
                            const ir::Mark& mark) {
  const StorageId storage = storages.add({.bytes = type.bytes()});
  return values.add({type, storage, 0, row_major(type.shape), primitive, at, mark});
}

bool is_identity(const std::vector<loops::Affine>& index, std::size_t variables) {
  if (index.size() != variables) return false;
  for (std::size_t d = 0; d < variables; ++d) {
    if (index[d].constant != 0) return false;
    for (std::size_t v = 0; v < variables; ++v)
      if (index[d].coefficients[v] != (v == d ? 1 : 0)) return false;
  }
  return true;
}

bool keep_apart(const loops::Kernel& a, const std::vector<loops::Affine>& index_a, const loops::Kernel& b,
                const std::vector<loops::Affine>& index_b) {
  auto range = [](const loops::Kernel& k, const loops::Affine& f) {
    std::pair<std::int64_t, std::int64_t> r{f.constant, f.constant};
    for (std::size_t v = 0; v < k.extents.size(); ++v)
      (f.coefficients[v] < 0 ? r.first : r.second) += f.coefficients[v] * (k.extents[v] - 1);
    return r;
  };
  for (std::size_t d = 0; d < index_a.size(); ++d) {
    const auto [low_a, high_a] = range(a, index_a[d]);
    const auto [low_b, high_b] = range(b, index_b[d]);
    if (high_a < low_b || high_b < low_a) return true;
  }
  return false;
}

Extent extent_of(const Body& body, ValueId value) {
  const StorageId s = body.values[value].storage;
  const Storage& storage = body.storages[s];
  const bool arena = storage.kind == Storage::Kind::temporary;
  const auto begin = arena ? static_cast<std::int64_t>(body.offsets[s]) : 0;
  return {arena ? StorageId{} : s, begin, begin + static_cast<std::int64_t>(storage.bytes)};
}

Part plan_of(const Step& step, std::size_t body) {
  auto ask = [&](const auto& work) {
    if constexpr (requires { work.plan_of(body); }) return work.plan_of(body);
    else return Part{};
  };
  return std::visit(ask, step.work);
}

std::string name_of(const Step& step, std::size_t body) {
  auto ask = [&](const auto& work) {
    if constexpr (requires { work.name_of(body); }) return work.name_of(body);
    else return std::string();
  };
  return std::visit(ask, step.work);
}

std::vector<Part> buffers_of(const Step& step) {
  auto ask = [](const auto& work) {
    if constexpr (requires { work.buffers(); }) return work.buffers();
    else return std::vector<Part>();
  };
  return std::visit(ask, step.work);
}

Body clone(const Body& body) {
  Body copy = body;
  for (Step& s : copy.steps)
    for (auto& nested : s.bodies) nested = std::make_shared<Body>(clone(*nested));
  return copy;
}

std::size_t output_bytes(const Body& body) {
  std::size_t bytes = 0;
  for (ValueId v : body.outputs)
    if (const Storage& s = body.storage_of(v); s.kind == Storage::Kind::output && !s.on_disk()) bytes += s.bytes;
  return bytes;
}

Table<StorageId, Span> spans_of(const Body& body) {
  Table<StorageId, Span> spans(body.storages.size());
  auto touch = [&](ValueId value, int step) {
    Span& s = spans[body.values[value].storage];
    s.first = std::min(s.first, step);
    s.last = std::max(s.last, step);
  };
  for (ValueId v : body.inputs) touch(v, -1);
  const int steps = static_cast<int>(body.steps.size());
  for (int i = 0; i < steps; ++i) {
    for (ValueId v : body.steps[i].in) touch(v, i);
    for (ValueId v : body.steps[i].out) touch(v, i);
  }
  for (ValueId v : body.outputs) touch(v, steps);
  return spans;
}

namespace {

std::string name_of(const Body& body, ValueId v) {
  const Value& x = body.values[v];
  const Storage& s = body.storages[x.storage];
  std::string out;
  switch (s.kind) {
    case Storage::Kind::input: out = fmt::format("in{}", s.index); break;
    case Storage::Kind::output: out = fmt::format("out{}", s.index); break;
    case Storage::Kind::literal: out = s.literal.str(); break;
    case Storage::Kind::temporary: out = fmt::format("t{}", x.storage.number); break;
    case Storage::Kind::disk: out = fmt::format("disk{}", x.storage.number); break;
  }
  if (s.kind != Storage::Kind::literal) out += ":" + x.type.str();
  if (x.offset != 0) out += fmt::format("+{}", x.offset);
  if (!x.dense()) out += fmt::format("@{}", x.strides.str());
  return out;
}

void indent(std::string& out, const std::string& text, const std::string& by) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    out += by + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
}

const char* kind_name(const Step& s) {
  static constexpr const char* names[] = {"kernel", "call", "loop", "branch", "unwind", "tiles"};
  static_assert(std::size(names) == std::variant_size_v<decltype(s.work)>);
  if (auto* call = s.as<Call>(); call && call->half != Call::Half::whole)
    return call->half == Call::Half::start ? "start" : "finish";
  return names[s.work.index()];
}

class Verifier {
 public:
  Verifier(const Body& body, bool tile) : b_(body), written_(body.storages.size()), tile_(tile) {}

  void check() {
    for (ValueId v : b_.values.ids()) check_value(v);
    for (StorageId s : b_.storages.ids())
      written_[s] = b_.storages[s].kind == Storage::Kind::input || b_.storages[s].kind == Storage::Kind::literal;
    for (std::size_t i = 0; i < b_.steps.size(); ++i) check_step(i);
    Table<StorageId, bool> seen(b_.storages.size());
    for (std::size_t k = 0; k < b_.outputs.size(); ++k) {
      const Value& v = value(b_.outputs[k]);
      const Storage& s = b_.storages[v.storage];
      require(written_[v.storage], "output {} is never written", k);
      require(s.kind == Storage::Kind::output || s.kind == Storage::Kind::input,
              "an output in no memory of the caller");
      require((v.dense() || tile_) && v.offset == 0, "an output that is not dense");
      require(!seen[v.storage], "two outputs in one storage");
      seen[v.storage] = true;
    }
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  bool exists(ValueId v) const { return v && v.number < std::ssize(b_.values) && value(v).storage; }
  // Texts are made where they are needed: everything is verified after every pass.
  template <class... Args>
  static void require(bool ok, fmt::format_string<Args...> text, Args&&... args) {
    if (!ok) throw InternalError("[lowered] " + fmt::format(text, std::forward<Args>(args)...));
  }

  void check_value(ValueId id) const {
    const Value& v = value(id);
    const int i = id.number;
    if (!v.storage) return;  // fused away
    require(v.storage.number < std::ssize(b_.storages), "value {} has no storage", i);
    require(v.strides.ndim() == v.type.shape.ndim(), "value {} has strides of another rank", i);
    const Storage& s = b_.storages[v.storage];
    if (s.kind == Storage::Kind::input || v.type.shape.size() == 0) return;
    std::int64_t low = 0, high = 0;
    for (int d = 0; d < v.type.shape.ndim(); ++d) {
      std::int64_t reach = (v.type.shape[d] - 1) * v.strides[d];
      (reach < 0 ? low : high) += reach;
    }
    auto size = static_cast<std::int64_t>(size_of(v.type.dtype));
    require(v.offset + low * size >= 0 && v.offset + (high + 1) * size <= static_cast<std::int64_t>(s.bytes),
            "value {} reaches beyond its storage", i);
  }

  // Of what is written, which has no gaps.
  bool overlap(ValueId a, ValueId b) const {
    auto end = [&](ValueId v) { return value(v).offset + static_cast<std::int64_t>(value(v).type.bytes()); };
    return value(a).storage == value(b).storage && value(a).offset < end(b) && value(b).offset < end(a);
  }

  void check_step(std::size_t i) {
    const Step& s = b_.steps[i];
    for (ValueId v : s.in) {
      require(exists(v), "step {} reads nothing", i);
      if (!written_[value(v).storage]) require(false, "step {} reads {} before it is written", i, name_of(b_, v));
    }
    for (ValueId v : s.out) {
      require(exists(v), "step {} writes nothing", i);
      const bool any_order = s.is<Call>() || s.is<Tiles>();
      const bool whole = b_.storage_of(v).gaps || (any_order ? value(v).packed() : value(v).dense());
      require(whole && b_.storage_of(v).kind != Storage::Kind::literal, "step {} writes where it may not", i);
      written_[value(v).storage] = true;
    }
    for (std::size_t k = 0; k < s.out.size(); ++k)
      for (std::size_t l = 0; l < k; ++l)
        if (overlap(s.out[l], s.out[k]))
          require(false, "step {} writes {} and {} to one place", i, name_of(b_, s.out[l]), name_of(b_, s.out[k]));
    if (s.is<Kernel>()) {
      loops::verify(s.kernel());
      require(s.kernel().operands.size() == s.in.size() + s.out.size(), "operands of step {}", i);
      for (std::size_t k = 0; k < s.kernel().operands.size(); ++k)
        require(s.kernel().operands[k] == value(k < s.in.size() ? s.in[k] : s.out[k - s.in.size()]).type,
                "operand {} of step {} has another type", k, i);
    }
    check_disk(s);
    for (const auto& body : s.bodies) Verifier(*body, s.is<Tiles>()).check();
  }
  // Memory that is an address on disk is no one's to compute in.
  void check_disk(const Step& s) const {
    const Call* call = s.as<Call>();
    const bool moves = (call && call->moves != Call::Moves::no) || s.is<Loop>() || s.is<Branch>() || s.is<Unwind>();
    auto on_disk = [&](ValueId v) { return b_.storage_of(v).on_disk(); };
    require(
        moves || (std::none_of(s.in.begin(), s.in.end(), on_disk) && std::none_of(s.out.begin(), s.out.end(), on_disk)),
        "a step computes where a value on disk is");
  }

  const Body& b_;
  Table<StorageId, bool> written_;
  bool tile_;  // a Body of tiles: its outputs are parts of values, and lie as these do
};

}  // namespace

std::string str(const Body& body) {
  std::string out = "in";
  for (ValueId v : body.inputs) out += " " + name_of(body, v);
  out += "\n";
  for (const Step& s : body.steps) {
    for (std::size_t i = 0; i < s.out.size(); ++i) out += (i ? ", " : "") + name_of(body, s.out[i]);
    out += fmt::format(" = {}", s.is<Kernel>() ? "" : kind_name(s));
    if (!s.is<Kernel>()) out += fmt::format(" {}", s.primitive ? s.primitive->name : "");
    for (std::size_t i = 0; i < s.in.size(); ++i) out += (i ? ", " : " ") + name_of(body, s.in[i]);
    out += "\n";
    if (s.is<Kernel>()) indent(out, s.kernel().str(), "  ");
    for (const auto& nested : s.bodies) indent(out, str(*nested), "  | ");
  }
  out += "out";
  for (ValueId v : body.outputs) out += " " + name_of(body, v);
  return out + "\n";
}

void verify(const Body& body) { Verifier(body, false).check(); }

}  // namespace anew::passes
