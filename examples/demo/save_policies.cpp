// What to keep, said by policy; and a checkpoint that changes nothing, which is reported.
#include <anew/anew.h>

#include "chapters.h"
#include "show.h"

using namespace anew;

namespace {

// code: pipeline
Array pipeline(Array w1, Array w2, Array x) {
  Array y = nn::relu(matmul(x, w1));
  return sum(square(matmul(y, w2)));
}
// end

// code: middle product
Array middle(Array y, Array w) { return matmul(y, w); }
Array middle_checkpointed(Array w1, Array w2, Array w3, Array x) {
  Array y1 = nn::relu(matmul(x, w1));
  Array y2 = nn::relu(checkpoint(middle)(y1, w2));
  return sum(square(matmul(y2, w3)));
}
// end
Array middle_plain(Array w1, Array w2, Array w3, Array x) {
  return sum(square(matmul(nn::relu(middle(nn::relu(matmul(x, w1)), w2)), w3)));
}

Array small_wave(Shape shape, double from) { return reshape(0.2 * sin(from + arange(shape.size())), shape); }

}  // namespace

void save_policies() {
  using namespace checkpoint_policies;
  show::chapter("Policies: what is worth keeping");
  show::say("Two products with a relu between them, and the sum of the squares of the result:");
  show::code("pipeline");
  const Array w1 = small_wave({64, 64}, 1), w2 = small_wave({64, 64}, 2), w3 = small_wave({64, 64}, 3),
              x = small_wave({32, 64}, 4);
  const Array want = grad(pipeline)(w1, w2, x);

  const Policy small("up to 4 KiB", [](const PolicyQuery& q) { return q.output_types[0].bytes() <= 4096; });
  std::vector<show::Row> rows{{{"checkpoint(pipeline, ...)", "values", "bytes", "kept beside the arguments"}}};
  bool same = true;
  for (const Policy& policy :
       {everything_saveable, any_of(dots_saveable, small), dots_saveable, small, nothing_saveable}) {
    auto loss = checkpoint(pipeline, policy);
    same = same && show::same_bits(grad(loss)(w1, w2, x), want);
    std::string what;
    std::size_t values = 0, bytes = 0;
    for (const Residual& r : saved_residuals(loss, w1, w2, x)) {
      if (r.kind == Residual::Kind::argument) continue;
      what += (what.empty() ? "" : ", ") + r.primitive;
      ++values;
      bytes += r.bytes;
    }
    rows.push_back({{policy.str(), std::to_string(values), show::in_bytes(bytes), what}});
  }
  show::table(rows);
  show::say(R"(
      A policy is a value: it prints, compares and combines (any_of, all_of, not_), and any function that looks
      at an equation is one. It says what may be kept; what the backward pass does not read is never kept.)");
  show::tick(same, "the gradient is the same under every policy, bit for bit");

  show::say("A product alone is a different matter: all it keeps are its inputs, and those stay anyway.");
  show::code("middle product");
  const auto with = saved_residuals(middle_checkpointed, w1, w2, w3, x);
  const auto without = saved_residuals(middle_plain, w1, w2, w3, x);
  show::tick(
      show::bytes_of(with) == show::bytes_of(without),
      "this checkpoint keeps " + show::in_bytes(show::bytes_of(with)) + " bytes, and so does the plain function");
  show::say("Nothing is silent. These are the warnings that the story has caused so far:");
  show::kept_warnings();
}
