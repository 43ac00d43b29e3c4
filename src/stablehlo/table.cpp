// Every row that is not elementwise, and those that XLA has a better word for: what writes it, or why nothing can.
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

using loops::Combine;

constexpr std::string_view calls_back = "XLA cannot call a function of this process";
constexpr std::string_view no_factors = "StableHLO has no word for it";

constexpr Line table[] = {
    // elementwise, by one word
    {"max", write_maximum},
    {"min", write_minimum},
    // names and places
    {"stop_gradient", write_same},
    {"name", write_same},
    {"device_put", write_same},
    // views
    {"broadcast_in_dim", write_broadcast},
    {"reshape", write_reshape},
    {"squeeze", write_reshape},
    {"transpose", write_transpose},
    {"slice", write_slice},
    {"rev", write_reverse},
    {"iota", write_iota},
    {"pad", write_pad},
    {"concatenate", write_concatenate},
    // reductions
    {"reduce_sum", write_reduction, {}, Combine::sum},
    {"reduce_prod", write_reduction, {}, Combine::product},
    {"reduce_max", write_reduction, {}, Combine::max},
    {"reduce_min", write_reduction, {}, Combine::min},
    {"reduce_and", write_reduction, {}, Combine::and_},
    {"reduce_or", write_reduction, {}, Combine::or_},
    {"argmax", write_position, {}, Combine::argmax},
    {"argmin", write_position, {}, Combine::argmin},
    {"reduce_window_sum", write_window, {}, Combine::sum},
    {"reduce_window_max", write_window, {}, Combine::max},
    {"reduce_window_min", write_window, {}, Combine::min},
    {"reduce_window_argmax", write_window_position, {}, Combine::argmax},
    {"reduce_window_argmin", write_window_position, {}, Combine::argmin},
    {"cumsum", write_running, {}, Combine::sum},
    {"cumprod", write_running, {}, Combine::product},
    {"cummax", write_running, {}, Combine::max},
    {"cummin", write_running, {}, Combine::min},
    {"linear_recurrence", write_recurrence},
    {"softmax", write_parts},
    {"normalize", write_parts},
    // products and transforms
    {"dot_general", write_dot},
    {"conv_general_dilated", write_convolution},
    {"fft", write_fft},
    {"rfft", write_rfft},
    {"irfft", write_irfft},
    // places
    {"gather", write_gather},
    {"scatter", write_scatter},
    {"scatter_add", write_scatter, {}, Combine::sum},
    {"scatter_mul", write_scatter, {}, Combine::product},
    {"scatter_min", write_scatter, {}, Combine::min},
    {"scatter_max", write_scatter, {}, Combine::max},
    {"dynamic_slice", write_dynamic_slice},
    {"dynamic_update_slice", write_dynamic_update_slice},
    {"sort", write_sort},
    {"top_k", write_top_k},
    {"searchsorted", write_searchsorted},
    // matrices
    {"cholesky", write_cholesky},
    {"triangular_solve", write_triangular_solve},
    {"lu", write_lu},
    {"solve", write_solve},
    {"qr", write_qr},
    {"eigh", nullptr, no_factors},
    {"svd", nullptr, no_factors},
    {"schur", nullptr, no_factors},
    {"hessenberg", nullptr, no_factors},
    {"det", write_det},
    {"cofactor", nullptr, no_factors},
    {"cofactor_tangent", nullptr, no_factors},
    // what holds Programs
    {"jit", write_call},
    {"checkpoint", write_checkpoint},
    {"custom_jvp_call", write_call},
    {"custom_vjp_call", write_call},
    {"custom_lin", nullptr, "it is the transpose of a custom_vjp alone, and cannot be run"},
    {"linear_solve", write_solve_of},
    {"custom_root", write_solve_of},
    {"cond", write_cond},
    {"scan", write_loop},
    {"while", write_loop},
    {"unwind", write_unwind},
    // effects
    {"debug_print", nullptr, "XLA cannot print"},
    {"io_callback", nullptr, calls_back},
    {"debug_callback", nullptr, calls_back},
    {"pure_callback", nullptr, calls_back},
};
constexpr Line elementwise{"", write_elementwise};

}  // namespace

std::span<const Line> lines() { return table; }

const Line* line_of(const ir::Primitive& row) {
  static const auto& by_name = *[] {
    auto* map = new std::unordered_map<std::string_view, const Line*>;
    for (const Line& l : table) map->emplace(l.row, &l);
    return map;
  }();
  if (auto it = by_name.find(row.name); it != by_name.end()) return it->second;
  return row.facts.elementwise && row.lower ? &elementwise : nullptr;
}

}  // namespace anew::stablehlo
