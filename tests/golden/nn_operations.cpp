// The recorded operations of convolutions and functions of neural networks.
#include <anew/convolution.h>

#include "golden/operation.h"

namespace anew::golden {
namespace {

ConvPadding padding_of(const Params& p) {
  if (p.is_text("padding")) return p.text("padding");
  return p.raw("padding").get<ConvPadding::Pairs>();
}

ConvOptions options_of(const Params& p) {
  ConvOptions o;
  if (p.has("lhs_dilation")) o.lhs_dilation = p.shape("lhs_dilation");
  if (p.has("rhs_dilation")) o.rhs_dilation = p.shape("rhs_dilation");
  if (p.has("dimension_numbers")) {
    const auto names = p.raw("dimension_numbers").get<std::vector<std::string>>();
    o.dimension_numbers = {names.at(0), names.at(1), names.at(2)};
  }
  o.feature_group_count = p.integer("feature_group_count", 1);
  o.batch_group_count = p.integer("batch_group_count", 1);
  return o;
}

}  // namespace

Operations nn_operations() {
  return {
      {"conv_general_dilated",
       [](const Arrays& x, const Params& p) {
         return Arrays{conv_general_dilated(x[0], x[1], p.shape("window_strides"), padding_of(p), options_of(p))};
       }},
      {"convolve",
       [](const Arrays& x, const Params& p) { return Arrays{convolve(x[0], x[1], p.text("mode", "full"))}; }},
  };
}

}  // namespace anew::golden
