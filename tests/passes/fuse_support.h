// What the tests of fusion share: a Body run step by step with a buffer for every storage, what its kernels move and
// compute, and the law that fusion keeps: the same bits, no more arithmetic.
#pragma once
#include <fmt/format.h>

#include "loops/interpreter.h"
#include "passes/lowered.h"
#include "passes/pipeline.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {

using passes::Body;
using passes::Step;
using passes::Storage;

// Runs a Body with a buffer for every storage.
class Runner {
 public:
  explicit Runner(const Body& body) : b_(body), memory_(body.storages.size()), start_(body.storages.size()) {}

  Arrays run(const Arrays& inputs) {
    std::vector<std::byte*> in;
    for (const Array& x : inputs) in.push_back(const_cast<std::byte*>(x.value()->data()));
    Arrays outputs;
    std::vector<std::byte*> out;
    for (passes::ValueId v : b_.outputs) {
      outputs.push_back(empty_array(b_.type(v), Location::current()));
      out.push_back(const_cast<std::byte*>(outputs.back().value()->data()));
    }
    run(in, out);
    return outputs;
  }

  void run(const std::vector<std::byte*>& in, const std::vector<std::byte*>& out) {
    for (passes::StorageId s : b_.storages.ids()) {
      const Storage& storage = b_.storages[s];
      memory_[s].assign(storage.bytes + 8, std::byte{0xA5});
      if (storage.kind == Storage::Kind::literal)
        std::memcpy(memory_[s].data(), &storage.literal.bits, size_of(storage.literal.dtype));
      start_[s] = memory_[s].data();
    }
    for (std::size_t i = 0; i < in.size(); ++i) start_[storage_of(b_.inputs[i])] = in[i];
    for (std::size_t i = 0; i < out.size(); ++i) start_[storage_of(b_.outputs[i])] = out[i];
    for (const Step& s : b_.steps) run(s);
  }

 private:
  passes::StorageId storage_of(passes::ValueId v) const { return b_.values[v].storage; }
  ir::Memory at(passes::ValueId v) const {
    const passes::Value& x = b_.values[v];
    return {start_[x.storage] + x.offset, x.type, x.strides};
  }

  void run(const Step& s) {
    std::vector<ir::Memory> in, out;
    for (passes::ValueId v : s.in) in.push_back(at(v));
    for (passes::ValueId v : s.out) out.push_back(at(v));
    if (s.is<passes::Kernel>()) {
      std::vector<loops::Operand> operands;
      for (const ir::Memory& m : in) operands.push_back({m.data, m.strides.begin()});
      for (const ir::Memory& m : out) operands.push_back({m.data, m.strides.begin()});
      loops::run(s.kernel(), operands);
    } else if (auto* call = s.as<passes::Call>()) {
      std::vector<std::byte> scratch(s.scratch + 64);
      auto aligned = (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64;
      call->call(in, out, reinterpret_cast<std::byte*>(aligned));
    } else if (auto* loop = s.as<passes::Loop>(); loop && s.bodies.size() == 1 && !loop->records) {
      scan(s, *loop, in, out);
    } else {
      throw InternalError("[runner] a step that it does not know");
    }
  }

  // Carries go through buffers of their own.
  void scan(const Step& s, const passes::Loop& loop, const std::vector<ir::Memory>& in,
            const std::vector<ir::Memory>& out) {
    const auto k = static_cast<std::size_t>(loop.constants), c = static_cast<std::size_t>(loop.carries);
    std::vector<std::vector<std::byte>> now(c), next(c);
    for (std::size_t i = 0; i < c; ++i) {
      now[i].assign(in[k + i].data, in[k + i].data + in[k + i].type.bytes());
      next[i].resize(now[i].size());
    }
    for (std::int64_t t = 0; t < loop.length; ++t) {
      const std::int64_t row = loop.reverse ? loop.length - 1 - t : t;
      auto row_of = [&](const ir::Memory& m) {
        return m.data + row * m.strides[0] * static_cast<std::int64_t>(size_of(m.type.dtype));
      };
      std::vector<std::byte*> from, to;
      for (std::size_t i = 0; i < in.size(); ++i)
        from.push_back(i < k ? in[i].data : i < k + c ? now[i - k].data() : row_of(in[i]));
      for (std::size_t i = 0; i < out.size(); ++i) to.push_back(i < c ? next[i].data() : row_of(out[i]));
      Runner(*s.bodies[0]).run(from, to);
      std::swap(now, next);
    }
    for (std::size_t i = 0; i < c; ++i) std::memcpy(out[i].data, now[i].data(), now[i].size());
  }

  const Body& b_;
  Table<passes::StorageId, std::vector<std::byte>> memory_;
  Table<passes::StorageId, std::byte*> start_;
};

inline Arrays dense_inputs(const Program& program, const Arrays& x) {
  Arrays all = program.constants();
  all.insert(all.end(), x.begin(), x.end());
  for (Array& a : all) a = contiguous(a);
  return all;
}

inline std::shared_ptr<Body> lowered(const Program& program) {
  const ir::Program p = passes::prepare(*program.code());
  std::vector<ir::Strides> layouts;
  for (const ir::Type& t : p.input_types()) layouts.push_back(row_major(t.shape));
  auto body = passes::lower(p, layouts);
  passes::verify(*body);
  return body;
}

// Kernels, and bytes that they read and write: an element that one load meets several times counts once.
struct Traffic {
  int kernels = 0;
  double bytes = 0;
  double flops = 0;  // nodes of floats that compute, every iteration
};
inline Traffic traffic(const Body& body) {
  Traffic t;
  for (const Step& s : body.steps) {
    const auto* loop = s.as<passes::Loop>();
    for (const auto& nested : s.bodies) {
      Traffic inner = traffic(*nested);
      t.kernels += inner.kernels;
      const auto trips = static_cast<double>(std::max<std::int64_t>(1, loop ? loop->length : 1));
      t.bytes += inner.bytes * trips;
      t.flops += inner.flops * trips;
    }
    if (!s.is<passes::Kernel>()) continue;
    ++t.kernels;
    double iterations = 1;
    for (std::int64_t e : s.kernel().extents) iterations *= static_cast<double>(e);
    for (const loops::Node& n : s.kernel().nodes)
      if (n.op > loops::Op::constant && n.op != loops::Op::convert && (is_float(n.dtype) || n.dtype == bool_))
        t.flops += iterations;
    auto count = [&](const loops::Access& a) {
      double n = 1;
      for (std::size_t v = 0; v < s.kernel().extents.size(); ++v) {
        bool moves = false;
        for (const loops::Affine& f : a.index) moves = moves || f.coefficients[v] != 0;
        if (moves) n *= static_cast<double>(s.kernel().extents[v]);
      }
      const passes::Value& x = body.values[s.operand(a.operand)];
      for (int d = 0; d < x.type.shape.ndim(); ++d)
        if (x.strides[d] == 0 && x.type.shape[d] > 1) n /= static_cast<double>(x.type.shape[d]);
      t.bytes += n * static_cast<double>(size_of(x.type.dtype));
    };
    for (const loops::Access& a : s.kernel().accesses) count(a);
    for (const loops::Store& a : s.kernel().stores) count(a.to);
  }
  return t;
}

// Fused and unfused give the bits of the program, and so do the kernels of loops joined; nothing is done more often; a
// second time changes nothing.
inline void expect_same(const Program& program, const Arrays& x, const std::string& name) {
  Arrays inputs = dense_inputs(program, x), want = evaluate(program, x);
  auto body = lowered(program);
  EXPECT_TRUE(same_bits(Runner(*body).run(inputs), want)) << name << ", lowered:\n" << passes::str(*body);
  const Traffic before = traffic(*body);
  passes::fuse(*body);
  const Traffic after = traffic(*body);
  EXPECT_LE(after.flops, before.flops) << name << " computes something twice:\n" << passes::str(*body);
  EXPECT_LE(after.bytes, before.bytes) << name;
  EXPECT_LE(after.kernels, before.kernels) << name;
  ASSERT_NO_THROW(passes::verify(*body)) << name << "\n" << passes::str(*body);
  EXPECT_TRUE(same_bits(Runner(*body).run(inputs), want)) << name << ", fused:\n" << passes::str(*body);
  const std::string once = passes::str(*body);
  passes::fuse(*body);
  EXPECT_EQ(passes::str(*body), once) << name << ": a second time changes something";
  passes::join(*body);
  ASSERT_NO_THROW(passes::verify(*body)) << name << "\n" << passes::str(*body);
  EXPECT_TRUE(same_bits(Runner(*body).run(inputs), want)) << name << ", joined:\n" << passes::str(*body);
}

}  // namespace anew::test
