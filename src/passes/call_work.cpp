// Calls into the runtime, and products with the kernel behind them.
#include <algorithm>

#include "passes/assembler.h"
#include "passes/step_parts.h"
#include "runtime/product.h"

namespace anew::passes {
namespace {

using loops::KernelCode;

// A call into the runtime.
class CallStep : public ExecutableStep {
 public:
  struct Operand {
    Place place;
    Type type;
    Strides strides;
  };
  CallStep(const Step& s, std::vector<Operand> in, std::vector<Operand> out, Place scratch)
      : call_(s.as<Call>()->call),
        primitive_(s.primitive),
        at_(s.at),
        in_(std::move(in)),
        out_(std::move(out)),
        scratch_(scratch) {
    auto empty = [](const Operand& o) { return o.type.shape.size() == 0; };
    nothing_ = !s.effects && !out_.empty() && std::all_of(out_.begin(), out_.end(), empty);
  }
  void run(std::byte* const* table, std::byte**) const override { with_memory(table, call_); }

 protected:
  template <class F>
  void with_memory(std::byte* const* table, const F& call) const {
    if (nothing_) return;
    constexpr std::size_t few = 8;
    union Room {  // none of them is made before it is known
      Room() {}
      ir::Memory memory[few];
    } near;
    std::vector<ir::Memory> far;
    std::size_t n = in_.size() + out_.size();
    if (n > few) far.resize(n);
    ir::Memory* m = n > few ? far.data() : near.memory;
    auto make = [&](const Operand& o) { new (m++) ir::Memory{o.place.in(table), o.type, o.strides}; };
    for (const Operand& o : in_) make(o);
    for (const Operand& o : out_) make(o);
    m -= n;
    with_line(primitive_->name, at_, [&] {
      call(std::span<const ir::Memory>(m, in_.size()), std::span<const ir::Memory>(m + in_.size(), out_.size()),
           scratch_.storage < 0 ? nullptr : scratch_.in(table));
    });
  }

 private:
  ir::Lowered::Call call_;
  const ir::Primitive* primitive_;
  Location at_;
  std::vector<Operand> in_, out_;
  Place scratch_;
  bool nothing_ = false;  // is made; a call would walk the other axes all the same, however long they are
};

// A product and the kernel behind it, which runs on tiles of the result as they are finished, if the product tells
// them.
class EpilogueStep final : public CallStep {
 public:
  EpilogueStep(CallStep call, ir::Lowered::TiledCall tiled, std::shared_ptr<const KernelCode> code,
               std::vector<Place> operands, Place scratch)
      : CallStep(std::move(call)),
        tiled_(std::move(tiled)),
        code_(code),
        operands_(operands),
        whole_(code, operands, scratch) {}
  void run(std::byte* const* table, std::byte** more) const override {
    std::byte** const free = more + operands_.size();
    for (std::size_t i = 0; i < operands_.size(); ++i) more[i] = operands_[i].in(table);
    auto tile = [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                    std::int64_t width) {
      if (columns == width) return code_->run(more, row * width, (row + rows) * width, nullptr);
      for (std::int64_t r = row; r < row + rows; ++r)
        code_->run(more, r * width + column, r * width + column + columns, nullptr);
    };
    ProductEpilogue epilogue{code_->units, tile};
    with_memory(table, [&](auto in, auto out, std::byte* scratch) { tiled_(in, out, scratch, &epilogue); });
    if (!epilogue.taken) whole_.run(table, free);
  }

 private:
  ir::Lowered::TiledCall tiled_;
  std::shared_ptr<const KernelCode> code_;
  std::vector<Place> operands_;
  KernelStep whole_;
};

}  // namespace

ir::Scratch Call::scratch(const Body& body, const Step& s) const {
  if (!scratch_of) return {s.scratch, false};
  std::vector<Strides> in;
  for (ValueId v : s.in) in.push_back(body.values[v].strides);
  return scratch_of(in);
}

void Call::count(const Body& body, Step& s) { s.scratch = scratch(body, s).bytes; }

double Call::time(const Body& body, const Step& s, Near* near) const {
  if (moves == Moves::no) return time_of_call(body, s, near);
  const std::size_t bytes = body.type(s.in[0]).bytes();
  return moves == Moves::out ? modelled_time_to_write(bytes) : modelled_time_to_read(bytes);
}

MadeStep Call::make(Assembler& to, std::size_t i, const Step& s) const {
  std::vector<CallStep::Operand> in, out;
  for (ValueId v : s.in) in.push_back({to.place(v), to.value(v).type, to.value(v).strides});
  for (ValueId v : s.out) out.push_back({to.place(v), to.value(v).type, to.value(v).strides});
  CallStep made(s, std::move(in), std::move(out), s.scratch ? to.scratch(i) : Place{});
  if (moves == Moves::out)
    if (Code::Region* region = to.region_of(to.value(s.out[0]).storage)) region->owner.at = s.at;
  if (!to.on_tiles(i + 1)) return std::make_unique<CallStep>(std::move(made));
  const Step& kernel = to.body().steps[i + 1];
  std::vector<Place> operands = to.operands_of(kernel);
  to.needs(static_cast<int>(2 * operands.size()));
  return std::make_unique<EpilogueStep>(std::move(made), tiled, to.code_of(kernel), std::move(operands),
                                        to.scratch(i + 1));
}

}  // namespace anew::passes
