// The writers of rows that are not elementwise, by family; table.cpp lists them.
#pragma once
#include "stablehlo/module.h"

namespace anew::stablehlo {

// views.cpp
Values write_broadcast(const Context& c);
Values write_reshape(const Context& c);
Values write_transpose(const Context& c);
Values write_slice(const Context& c);
Values write_reverse(const Context& c);
Values write_iota(const Context& c);
Values write_pad(const Context& c);
Values write_concatenate(const Context& c);
Values write_bitcast(const Context& c);
// reductions.cpp
Values write_reduction(const Context& c);
Values write_position(const Context& c);
Values write_window(const Context& c);
Values write_window_position(const Context& c);
// running.cpp
Values write_running(const Context& c);
Values write_recurrence(const Context& c);
// products.cpp
Values write_dot(const Context& c);
Values write_convolution(const Context& c);
Values write_fft(const Context& c);
Values write_rfft(const Context& c);
Values write_irfft(const Context& c);
// indexing.cpp
Values write_gather(const Context& c);
Values write_scatter(const Context& c);
Values write_dynamic_slice(const Context& c);
Values write_dynamic_update_slice(const Context& c);
// sorting.cpp
Values write_sort(const Context& c);
Values write_top_k(const Context& c);
Values write_searchsorted(const Context& c);
// matrices.cpp
Values write_cholesky(const Context& c);
Values write_triangular_solve(const Context& c);
// factors.cpp
Values write_lu(const Context& c);
Values write_solve(const Context& c);
Values write_det(const Context& c);
Values write_qr(const Context& c);
// calls.cpp
Values write_call(const Context& c);
Values write_checkpoint(const Context& c);
Values write_cond(const Context& c);
Values write_solve_of(const Context& c);
// loops.cpp
Values write_loop(const Context& c);
// unwind.cpp
Values write_unwind(const Context& c);

}  // namespace anew::stablehlo
