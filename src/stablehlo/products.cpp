// Matrix products, convolutions and Fourier transforms. Products ask for the full precision of their type, which XLA
// would otherwise trade on some devices.
#include "ops/conv_params.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

constexpr std::string_view full_precision =
    "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

// "[b, 0, 1, f]": batch, feature and spatial axes by place.
std::string axes_text(const std::vector<int>& axes, std::string_view first, std::string_view second) {
  std::vector<std::string> words(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    words[static_cast<std::size_t>(axes[i])] = i == 0 ? first : i == 1 ? second : fmt::format("{}", i - 2);
  return fmt::format("[{}]", fmt::join(words, ", "));
}

}  // namespace

Values write_dot(const Context& c) {
  using Lists = std::pair<std::vector<int>, std::vector<int>>;
  const auto [contracting, batch] = c.param<std::pair<Lists, Lists>>("dimension_numbers");
  const std::string attributes = fmt::format(
      "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], "
      "lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>, {}",
      listed(batch.first), listed(batch.second), listed(contracting.first), listed(contracting.second), full_precision);
  return {c.w.op1({"stablehlo.dot_general", attributes}, c.in, c.out[0])};
}

Values write_convolution(const Context& c) {
  const auto& p = c.eqn.params->as<ConvParams>();
  std::string padding;
  for (auto [before, after] : p.padding)
    padding += fmt::format("{}[{}, {}]", padding.empty() ? "" : ", ", before, after);
  const std::string attributes = fmt::format(
      "batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{}x{}->{}>, feature_group_count = {} : i64, "
      "lhs_dilation = {}, padding = dense<{}> : tensor<{}x2xi64>, {}, rhs_dilation = {}, window_strides = {}",
      p.batch_group_count, axes_text(p.lhs(), "b", "f"), axes_text(p.rhs(), "o", "i"), axes_text(p.out(), "b", "f"),
      p.feature_group_count, array_text(p.lhs_dilation), padding.empty() ? "" : "[" + padding + "]", p.spatial(),
      full_precision, array_text(p.rhs_dilation), array_text(p.window_strides));
  return {c.w.op1({"stablehlo.convolution", attributes}, c.in, c.out[0])};
}

namespace {

// There is no complex dtype in Programs: complex values live between these lines only, under names of their own.
std::string complex_type(const Type& t) {
  std::string out = "tensor<";
  for (std::int64_t n : t.shape) out += fmt::format("{}x", n);
  return out + "complex<" + element_text(t.dtype) + ">>";
}
std::string write_complex(Writer& w, const Value& re, const Value& im) {
  const std::string name = w.next_name();
  w.line(fmt::format("{} = stablehlo.complex {}, {} : {}", name, re.name, im.name, complex_type(re.type)));
  return name;
}
Value write_part(Writer& w, std::string_view part, const std::string& x, const Type& t) {
  const Value v{w.next_name(), t};
  w.line(fmt::format("{} = stablehlo.{} {} : ({}) -> {}", v.name, part, x, complex_type(t), text_of(t)));
  return v;
}
std::string write_transform(Writer& w, std::string_view kind, const std::string& x, const std::string& from,
                            const std::string& to, std::int64_t n) {
  const std::string name = w.next_name();
  w.line(fmt::format("{} = stablehlo.fft {}, type = {}, length = [{}] : ({}) -> {}", name, x, kind, n, from, to));
  return name;
}

}  // namespace

Values write_fft(const Context& c) {
  const Type& t = c.out[0];
  const std::string type = complex_type(t);
  const std::string y = write_transform(c.w, "FFT", write_complex(c.w, c.in[0], c.in[1]), type, type, t.shape[-1]);
  return {write_part(c.w, "real", y, t), write_part(c.w, "imag", y, t)};
}
Values write_rfft(const Context& c) {
  const Type &x = c.in[0].type, &t = c.out[0];
  const std::string y = write_transform(c.w, "RFFT", c.in[0].name, text_of(x), complex_type(t), x.shape[-1]);
  return {write_part(c.w, "real", y, t), write_part(c.w, "imag", y, t)};
}
Values write_irfft(const Context& c) {
  const Type& t = c.out[0];
  const std::string x = write_complex(c.w, c.in[0], c.in[1]);
  return {{write_transform(c.w, "IRFFT", x, complex_type(c.in[0].type), text_of(t), t.shape[-1]), t}};
}

}  // namespace anew::stablehlo
