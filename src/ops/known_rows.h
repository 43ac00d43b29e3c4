// Rows of src/ops that other files bind directly: the accumulation of tangents and cotangents, names, conversions, softmax.
#pragma once
#include <string>

#include "ir/params.h"
#include "ir/primitive.h"

namespace anew {

const ir::Primitive& add_any_row();
const ir::Primitive& name_row();
const ir::Primitive& convert_row();
ir::ParamsRef convert_params(DType to);
const ir::Primitive& softmax_row();  // made of other rows: evaluating it evaluates those

Array one_minus_square(const Array& x);  // (1 - x) (1 + x), in the tangents of asin and its kin

struct NameParams : ir::ParamsOf<NameParams> {
  explicit NameParams(std::string name = {}) : name(std::move(name)) {}
  std::string name;
  static auto fields() { return std::tuple{ir::field("name", &NameParams::name)}; }
};

}  // namespace anew
