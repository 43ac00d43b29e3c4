// Discrete Fourier transforms along the last axis, as three rows over real arrays: fft takes and gives (re, im), rfft
// gives the half of the results of real numbers that says it all, irfft takes such a half. All are linear; their
// transposes are each other, with factors. What users call
// is in composed/fft_functions.cpp.
#include "ops/fft.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>

#include "ops/batch.h"
#include "ops/matrix.h"
#include "ops/rows.h"
#include "runtime/fourier.h"
#include "runtime/product.h"

namespace anew {
namespace {

struct IrfftParams : ir::ParamsOf<IrfftParams> {
  explicit IrfftParams(std::int64_t n = 1) : n(n) {}
  std::int64_t n;
  static auto fields() { return std::tuple{ir::field("n", &IrfftParams::n)}; }
};

void require_signal(std::string_view op, const Type& type, const Location& at) {
  if (type.shape.ndim() < 1 || (type.dtype != f32 && type.dtype != f64))
    fail(op, at, fmt::format("needs an axis of f32 or f64, got {}", type.str()));
  if (type.shape[-1] == 0) fail(op, at, fmt::format("of no elements: {}", type.str()));
}
void require_pair(std::string_view op, std::span<const Type> in, const Location& at) {
  require_count(op, 2, in, at);
  require_signal(op, in[0], at);
  if (!(in[0] == in[1]))
    fail(op, at, fmt::format("real and imaginary parts differ: {} and {}", in[0].str(), in[1].str()));
}
Type with_size(Type type, std::int64_t n) {
  type.shape[-1] = n;
  return type;
}

// Signals along the last axis of an array that lies anyhow in memory.
template <class T>
class Signals {
 public:
  explicit Signals(const ir::Memory& m) : shape_(m.type.shape), strides_(m.strides), data_(elements<T>(m)) {}
  FourierSignals<T> some(std::int64_t first, std::int64_t count) const {
    FourierSignals<T> out{{}, count, strides_[-1]};
    for (std::int64_t l = 0; l < count; ++l) out.start[static_cast<std::size_t>(l)] = data_ + offset(first + l);
    return out;
  }

 private:
  std::int64_t offset(std::int64_t signal) const {
    std::int64_t at = 0;
    for (int i = shape_.ndim() - 2; i >= 0; --i) {
      at += signal % shape_[i] * strides_[i];
      signal /= shape_[i];
    }
    return at;
  }
  const Shape& shape_;
  const ir::Strides& strides_;
  const T* data_;
};

// The three calls: what is done with some signals, from `first` on.
struct RunFft {
  template <class T>
  using Plan = FourierPlan<T>;
  template <class T>
  static void run(const Plan<T>& plan, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::int64_t first, std::int64_t count, std::byte* scratch) {
    const std::int64_t at = first * plan.size();
    plan.transform(Signals<T>(in[0]).some(first, count), Signals<T>(in[1]).some(first, count), elements<T>(out[0]) + at,
                   elements<T>(out[1]) + at, scratch);
  }
};
struct RunRfft {
  template <class T>
  using Plan = RealFourierPlan<T>;
  template <class T>
  static void run(const Plan<T>& plan, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::int64_t first, std::int64_t count, std::byte* scratch) {
    const std::int64_t at = first * (plan.size() / 2 + 1);
    plan.transform(Signals<T>(in[0]).some(first, count), elements<T>(out[0]) + at, elements<T>(out[1]) + at, scratch);
  }
};
struct RunIrfft {
  template <class T>
  using Plan = RealFourierPlan<T>;
  template <class T>
  static void run(const Plan<T>& plan, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::int64_t first, std::int64_t count, std::byte* scratch) {
    plan.inverse(Signals<T>(in[0]).some(first, count), Signals<T>(in[1]).some(first, count),
                 elements<T>(out[0]) + first * plan.size(), scratch);
  }
};

// Signals of a call like `signals` with a plan of length n, made once, in groups that the plan takes together.
template <class Run>
ir::Lowered planned(const Type& signals, std::int64_t n) {
  if (signals.shape.size() == 0) n = 1;  // there is no signal, and a plan of any length would be tables of that length
  auto lowered = [&]<class T>(std::type_identity<T>) {
    const auto plan = fourier_plan<typename Run::template Plan<T>>(n);
    const std::int64_t length = signals.shape[-1], count = length == 0 ? 0 : signals.shape.size() / length;
    const std::int64_t together = plan->together();
    const Units units{ceil_div(count, together), plan->scratch()};
    // About: a point of f64 takes a third of a nanosecond for each halving of the length.
    const double ns = static_cast<double>(together * n * sizeof(T)) / 24 * (std::log2(static_cast<double>(n)) + 2);
    const auto grain = static_cast<std::int64_t>(std::max(1.0, 16e3 / ns));
    auto call = [=](std::span<const ir::Memory> in, std::span<const ir::Memory> out, std::byte* scratch) {
      units.run(grain, scratch, [&](std::int64_t group, std::byte* own) {
        const std::int64_t first = group * together;
        Run::template run<T>(*plan, in, out, first, std::min(together, count - first), own);
      });
    };
    return ir::Lowered{.kernels = {}, .call = call, .scratch = units.scratch()};
  };
  return signals.dtype == f64 ? lowered(std::type_identity<double>()) : lowered(std::type_identity<float>());
}

// factor * n * log2(n) for every signal; n is the length of the result or else of the operand.
auto transform_flops(double factor, bool of_result) {
  return [=](const ir::Params&, std::span<const Type> in, std::span<const Type> out) {
    const Shape& s = (of_result ? out[0] : in[0]).shape;
    return factor * static_cast<double>(s.size()) * std::log2(static_cast<double>(std::max<std::int64_t>(s[-1], 2)));
  };
}

// How often each of the n / 2 + 1 results of signals like these occurs among the n: once at the ends, else twice. Where
// there is no signal a number does, whatever its length.
Array occurrences(std::int64_t n, const Type& signals) {
  if (signals.shape.size() == 0) return ones({}, signals.dtype);
  Array k = arange(n / 2 + 1);
  return astype(where((k == 0) | (2 * k == n), 1, 2), signals.dtype);
}

// A part that is zero, as an array where the other part is one.
Array part_or_zeros(const Array& part, const Array& other) { return part.value() ? part : full_like(other, -0.0); }

std::vector<ir::Sample> signal_samples(std::size_t operands, std::initializer_list<Shape> shapes,
                                       const ParamsRef& params = ir::no_params()) {
  std::vector<ir::Sample> out;
  for (DType t : {f32, f64})
    for (const Shape& s : shapes) out.push_back({params, std::vector<ir::SampleInput>(operands, {{s, t}})});
  return out;
}

Primitive fft_row() {
  Primitive p;
  p.name = "fft";
  p.infer = [](const ir::InferArgs& a) {
    require_pair("fft", a.in, a.at);
    return Types{a.in[0], a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return planned<RunFft>(in[0], in[0].shape[-1]);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return bind_fft(part_or_zeros(a.t[0], a.t[1]), part_or_zeros(a.t[1], a.t[0]), Location::current());
  };
  // re' = c re + s im, im' = c im - s re with symmetric c and s: the transpose has the other sign of s, and so has the
  // same transform with re and im exchanged.
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays y = bind_fft(part_or_zeros(a.ct[1], a.ct[0]), part_or_zeros(a.ct[0], a.ct[1]), Location::current());
    return Arrays{a.linear[0] ? y[1] : Array(), a.linear[1] ? y[0] : Array()};
  };
  p.batch = [](const ir::BatchArgs& a) {
    Arrays x = all_mapped(a);
    return ir::Batched{bind_fft(x[0], x[1], a.at)};
  };
  p.facts.linear_in = {0, 1};
  p.facts.flops = transform_flops(5, false);
  p.samples = [] { return signal_samples(2, {{8}, {2, 6}, {1}, {5}, {0, 3}, {7}}); };
  return p;
}

Primitive rfft_row() {
  Primitive p;
  p.name = "rfft";
  p.infer = [](const ir::InferArgs& a) {
    require_count("rfft", 1, a.in, a.at);
    require_signal("rfft", a.in[0], a.at);
    Type half = with_size(a.in[0], a.in[0].shape[-1] / 2 + 1);
    return Types{half, half};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return planned<RunRfft>(in[0], in[0].shape[-1]);
  };
  p.jvp = [](const ir::JvpArgs& a) { return bind_rfft(a.t[0], Location::current()); };
  p.transpose = [](const ir::TransposeArgs& a) {
    const std::int64_t n = a.in[0].shape[-1];
    Array scale = static_cast<double>(n) / occurrences(n, a.in[0]);
    return Arrays{bind_irfft(part_or_zeros(a.ct[0], a.ct[1]) * scale, part_or_zeros(a.ct[1], a.ct[0]) * scale, n,
                             Location::current())};
  };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{bind_rfft(a.x[0], a.at)}; };
  p.facts.linear_in = {0};
  p.facts.flops = transform_flops(2.5, false);
  p.samples = [] { return signal_samples(1, {{8}, {2, 6}, {1}, {2}, {5}, {0, 3}, {2, 3, 4}}); };
  return p;
}

Primitive irfft_row() {
  Primitive p;
  p.name = "irfft";
  p.parse = &IrfftParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_pair("irfft", a.in, a.at);
    const std::int64_t n = a.params.as<IrfftParams>().n;
    if (n < 1 || a.in[0].shape[-1] != n / 2 + 1)
      fail("irfft", a.at, fmt::format("{} are not the results of {} real numbers", a.in[0].str(), n));
    return Types{with_size(a.in[0], n)};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return planned<RunIrfft>(in[0], params.as<IrfftParams>().n);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{bind_irfft(part_or_zeros(a.t[0], a.t[1]), part_or_zeros(a.t[1], a.t[0]),
                             a.params->as<IrfftParams>().n, Location::current())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    const std::int64_t n = a.params->as<IrfftParams>().n;
    Array scale = occurrences(n, a.in[0]) / static_cast<double>(n);
    Arrays y = bind_rfft(a.ct[0], Location::current());
    return Arrays{a.linear[0] ? y[0] * scale : Array(), a.linear[1] ? y[1] * scale : Array()};
  };
  p.batch = [](const ir::BatchArgs& a) {
    Arrays x = all_mapped(a);
    return ir::Batched{{bind_irfft(x[0], x[1], a.params->as<IrfftParams>().n, a.at)}};
  };
  p.facts.linear_in = {0, 1};
  p.facts.flops = transform_flops(2.5, true);
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (const auto& [n, shape] :
         {std::pair<std::int64_t, Shape>{8, {5}}, {7, {2, 4}}, {1, {1}}, {2, {2}}, {6, {0, 4}}})
      for (const ir::Sample& s : signal_samples(2, {shape}, make_params(IrfftParams(n)))) out.push_back(s);
    return out;
  };
  return p;
}

struct FftRows : Family {
  const Primitive& fft = row(fft_row());
  const Primitive& rfft = row(rfft_row());
  const Primitive& irfft = row(irfft_row());
};
}  // namespace

std::span<const Primitive* const> fft_rows() { return rows<FftRows>().list(); }

Arrays bind_fft(const Array& re, const Array& im, const Location& at) {
  return anew::bind(rows<FftRows>().fft, ir::no_params(), {re, im}, at);
}
Arrays bind_rfft(const Array& x, const Location& at) {
  return anew::bind(rows<FftRows>().rfft, ir::no_params(), {x}, at);
}
Array bind_irfft(const Array& re, const Array& im, std::int64_t n, const Location& at) {
  return bind1(rows<FftRows>().irfft, make_params(IrfftParams(n)), {re, im}, at);
}

}  // namespace anew
