// Rows of src/ops that other files bind or know: the accumulation of tangents and cotangents, names, conversions,
// softmax, normalize; and the steps of a loop that counts.
#pragma once
#include <string>

#include "ir/params.h"
#include "ir/primitive.h"

namespace anew {

const ir::Primitive& add_any_row();
const ir::Primitive& add_row();
const ir::Primitive& lt_row();
const ir::Primitive& name_row();
const ir::Primitive& convert_row();
ir::ParamsRef convert_params(DType to);
// Made of other rows: evaluating one evaluates those.
const ir::Primitive& softmax_row();
const ir::Primitive& normalize_row();
Array normalized(const Array& x, const std::vector<int>& axes, double epsilon, std::string_view variance,
                 const Location& at);

Array one_minus_square(const Array& x);  // (1 - x) (1 + x), in the tangents of asin and its kin

struct NameParams : ir::ParamsOf<NameParams> {
  explicit NameParams(std::string name = {}) : name(std::move(name)) {}
  std::string name;
  static auto fields() { return std::tuple{ir::field("name", &NameParams::name)}; }
};

}  // namespace anew
