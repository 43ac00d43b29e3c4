// A small GPT: it reads a text letter by letter, learns which one comes next, and writes some of its own. Each block is
// checkpointed: its inside is computed again in the backward pass.
//
//     gpt [--small] [--out FOLDER]      ANEW_TEXT=file trains on another text
#include <anew/anew.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Block {
  Array norm1, qkv, proj, norm2, up, down;
};
struct Gpt {
  Array letters, places;  // what is known of a letter and of a position
  std::vector<Block> blocks;
  Array norm;
};
struct Size {
  std::int64_t context, width, heads, layers, batch;
};

Gpt random_gpt(Array key, const Size& s, std::int64_t alphabet) {
  int n = 0;
  auto weights = [&](std::int64_t from, std::int64_t to, double scale) {
    return random::normal(random::fold_in(key, n++), {from, to}) * (scale / std::sqrt(double(from)));
  };
  const std::int64_t w = s.width;
  Gpt out{weights(alphabet, w, 0.5), weights(s.context, w, 0.5), {}, ones(w)};
  for (std::int64_t i = 0; i < s.layers; ++i)
    out.blocks.push_back(
        {ones(w), weights(w, 3 * w, 1), weights(w, w, 0.3), ones(w), weights(w, 4 * w, 1), weights(4 * w, w, 0.3)});
  return out;
}

Array block(const Block& b, Array x, std::int64_t heads) {
  const std::int64_t n = x.shape()[0], t = x.shape()[1], w = x.shape()[2];
  std::vector<Array> qkv = split(matmul(nn::rms_norm(x, b.norm1), b.qkv).reshape({n, t, 3 * heads, w / heads}), 3, 2);
  Array seen = nn::dot_product_attention(qkv[0], qkv[1], qkv[2], {.is_causal = true});
  x = x + matmul(seen.reshape({n, t, w}), b.proj);
  return x + matmul(nn::gelu(matmul(nn::rms_norm(x, b.norm2), b.up)), b.down);
}

// What comes after each letter of ids i32[n, t]: f32[n, t, alphabet].
Array logits(const Gpt& g, const Array& ids, std::int64_t heads) {
  Array x = nn::embedding(g.letters, ids) + g.places[slice(none, ids.shape()[1])];
  for (const Block& b : g.blocks) x = checkpoint(block)(b, x, heads);
  return matmul(nn::rms_norm(x, g.norm), g.letters.T());
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "A small GPT learns to write like a text.");
  const Size s = options.small ? Size{16, 16, 2, 1, 2} : Size{96, 96, 4, 3, 12};
  const int iterations = options.small ? 5 : 800;

  const char* given = std::getenv("ANEW_TEXT");
  std::ifstream file(given ? given : EXAMPLE_TEXT);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.size() < 1000) return std::cerr << "a text of 1000 letters or more is needed: ANEW_TEXT=file\n", 1;
  const std::set<char> known(text.begin(), text.end());
  const std::string alphabet(known.begin(), known.end());
  std::vector<std::int32_t> numbers;
  for (char c : text) numbers.push_back(std::int32_t(alphabet.find(c)));
  Array letters = array(numbers);
  std::cout << text.size() << " letters, " << alphabet.size() << " different ones\n";

  auto loss = [&](Gpt g, Array letters, Array key) {
    Array starts = random::randint(key, {s.batch, 1}, 0, letters.size() - s.context - 1);
    Array ids = take(letters, starts + arange(s.context + 1));
    Array said = logits(g, ids[{slice(), slice(none, -1)}], s.heads);
    return mean(nn::softmax_cross_entropy(said, ids[{slice(), slice(1, none)}]));
  };
  auto [k1, k2, k3] = random::split<3>(random::key(0));
  Gpt g = random_gpt(k1, s, std::int64_t(alphabet.size()));
  auto opt = optim::chain(optim::clip_by_global_norm(1.0),
                          optim::adamw(optim::warmup_cosine_decay_schedule(0.0, 3e-3, iterations / 20, iterations),
                                       {.weight_decay = 0.01}));
  auto state = opt.init(g);
  auto step = jit(
                  [&](Gpt g, decltype(state) state, Array letters, Array key) {
                    auto [value, gradient] = value_and_grad(loss)(g, letters, key);
                    auto [updates, next] = opt.update(gradient, state, g);
                    return std::tuple(optim::apply_updates(g, updates), next, value);
                  },
                  {.donate = {0, 1}})
                  .compile(g, state, letters, k2);
  std::vector<double> losses;
  Array value;
  show::Progress progress("training", iterations);
  for (int i = 0; i < iterations; ++i) {
    std::tie(g, state, value) = step(g, state, letters, random::fold_in(k2, i));
    losses.push_back(value.item());
    progress.step("loss " + show::digits(losses.back()));
  }
  std::cout << step.plan();

  // Letter by letter: the window of the last ones moves on.
  auto next = jit([&](Gpt g, Array window, Array key) {
                Array said = logits(g, window[newaxis], s.heads)[{0, -1}];
                Array letter = random::categorical(key, said / 0.7);
                return std::pair(concatenate({window[slice(1, none)], letter.reshape({1})}), letter);
              }).compile(g, letters[slice(0, s.context)], k3);
  Array window = letters[slice(0, s.context)], letter;
  std::string written;
  for (int i = 0; i < (options.small ? 20 : 400); ++i) {
    std::tie(window, letter) = next(g, window, random::fold_in(k3, i));
    written += alphabet[std::size_t(letter.item())];
  }
  std::cout << "\n--- it writes ---\n" << written << "\n---\n";

  show::Figure figure("A small GPT", 2);
  figure.panel("loss", "iteration").line(array(losses));
  figure.panel("what it knows of positions", "width across, position down").image(g.places, show::Colours::signs);
  figure.save(options.picture("gpt"));
  return options.small || losses.back() < losses.front() ? 0 : 1;
}
