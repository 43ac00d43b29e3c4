// A decoder of transformer blocks, unrolled and as a scan over stacked blocks; smaller and deeper ones for compile
// time.
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

struct Dimensions {
  std::int64_t blocks, width, heads, length, batch, vocabulary;
};

struct Block {
  Array ln1_g, ln1_b, wqkv, bqkv, wo, bo, ln2_g, ln2_b, w1, b1, w2, b2;
};
struct Head {
  Array g, b, w;
};
struct Unrolled {
  std::vector<Block> blocks;
  Head head;
};
struct StackedBlocks {
  Block blocks;
  Head head;
};

Block block_of(Dimensions s, std::uint32_t number) {
  const std::int64_t d = s.width;
  const double r = std::sqrt(3.0 / static_cast<double>(d)), o = 1.0 / std::sqrt(2.0 * static_cast<double>(s.blocks));
  const std::uint32_t q = 1000 + 20 * number;
  return {.ln1_g = fill(q, {d}, 0.1, 1),
          .ln1_b = fill(q + 1, {d}, 0.1),
          .wqkv = fill(q + 2, {d, 3 * d}, r),
          .bqkv = fill(q + 3, {3 * d}, 0.02),
          .wo = fill(q + 4, {d, d}, r * o),
          .bo = fill(q + 5, {d}, 0.02),
          .ln2_g = fill(q + 6, {d}, 0.1, 1),
          .ln2_b = fill(q + 7, {d}, 0.1),
          .w1 = fill(q + 8, {d, 4 * d}, r),
          .b1 = fill(q + 9, {4 * d}, 0.02),
          .w2 = fill(q + 10, {4 * d, d}, 0.5 * r * o),
          .b2 = fill(q + 11, {d}, 0.02)};
}
Block stacked(const std::vector<Block>& blocks) {
  std::vector<Arrays> each;
  for (const Block& b : blocks) each.push_back(tree_leaves(b));
  auto [leaves, def] = tree_flatten(blocks[0]);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    std::vector<Array> all;
    for (const Arrays& b : each) all.push_back(b[i]);
    leaves[i] = stack(all);
  }
  return tree_unflatten(def, leaves);
}

auto block_with(std::int64_t heads) {
  return [heads](Array x, Block p) {
    const std::int64_t n = x.shape()[0], s = x.shape()[1], d = x.shape()[2], size = d / heads;
    Array qkv = reshape(matmul(nn::layer_norm(x, p.ln1_g, p.ln1_b), p.wqkv) + p.bqkv, {n, s, 3, heads, size});
    auto part = [&](int i) { return swapaxes(qkv[{slice(), slice(), i}], 1, 2); };
    Array q = part(0), k = part(1), v = part(2);
    Array scores = einsum("bhqd,bhkd->bhqk", q, k) * (1 / std::sqrt(static_cast<double>(size)));
    Array seen = nn::softmax(where(tri(s, s, 0, bool_), scores, -1e9));
    Array y = reshape(swapaxes(einsum("bhqk,bhkd->bhqd", seen, v), 1, 2), {n, s, d});
    x = x + matmul(y, p.wo) + p.bo;
    Array h = nn::gelu(matmul(nn::layer_norm(x, p.ln2_g, p.ln2_b), p.w1) + p.b1);
    return x + matmul(h, p.w2) + p.b2;
  };
}

Array head_loss(const Array& h, const Head& p, const Array& labels) {
  return mean(nn::softmax_cross_entropy(matmul(nn::layer_norm(h, p.g, p.b), p.w), labels));
}

Case build(Dimensions s, const std::string& variant) {
  Unrolled p;
  for (std::int64_t i = 0; i < s.blocks; ++i) p.blocks.push_back(block_of(s, static_cast<std::uint32_t>(i)));
  const double r = std::sqrt(3.0 / static_cast<double>(s.width));
  p.head = {fill(31, {s.width}, 0.1, 1), fill(32, {s.width}, 0.1), fill(33, {s.width, s.vocabulary}, r)};
  const Array x = fill(30, {s.batch, s.length, s.width});
  const Array labels = ints(34, {s.batch, s.length}, static_cast<std::uint32_t>(s.vocabulary));
  auto block = wrapped(variant, block_with(s.heads));
  if (variant.starts_with("scan")) {
    auto loss = [block](const StackedBlocks& p, const Array& x, const Array& labels) {
      auto [h, _] = scan([block](Array h, Block b) { return std::pair(block(h, b), none); }, x, p.blocks);
      return head_loss(h, p.head, labels);
    };
    return case_of(value_and_grad(loss), StackedBlocks{stacked(p.blocks), p.head}, x, labels);
  }
  auto loss = [block](const Unrolled& p, const Array& x, const Array& labels) {
    Array h = x;
    for (const Block& b : p.blocks) h = block(h, b);
    return head_loss(h, p.head, labels);
  };
  return case_of(value_and_grad(loss), p, x, labels);
}

}  // namespace

std::vector<Workload> transformer_workloads() {
  const std::vector<std::string> all{"plain", "ckpt", "dots", "scan", "scan_ckpt", "scan_dots"};
  const std::vector<std::string> compiled{"plain", "ckpt", "scan"};
  const Sizes small{{"blocks", 3}, {"width", 24}, {"heads", 4}, {"length", 10}, {"batch", 2}, {"vocabulary", 15}};
  const Sizes full{{"blocks", 12}, {"width", 256}, {"heads", 8}, {"length", 128}, {"batch", 8}, {"vocabulary", 512}};
  auto deep = [&](const std::string& blocks) { return full.with("width=128,heads=4,length=64,blocks=" + blocks); };
  auto of = [](const std::string& variant, const Sizes& s) {
    return build({s["blocks"], s["width"], s["heads"], s["length"], s["batch"], s["vocabulary"]}, variant);
  };
  return {{"transformer", all, full, small, of, 5e-6, 6.653703, 3.944539},
          {"compile_12", compiled, deep("12"), small, of, 5e-6, 6.715542, 3.964486},
          {"compile_24", compiled, deep("24"), small, of, 5e-6, 6.702066, 5.548231},
          {"compile_48", compiled, deep("48"), small, of, 5e-6, 6.711960, 7.862850}};
}

}  // namespace workloads
