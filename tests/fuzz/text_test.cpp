// Texts of programs, tampered with at random and one by one. A failure prints the text; so does a crash.
//   ANEW_FUZZ_TEXT=file test_fuzz --gtest_filter='*OneText'    the text in a file
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "fuzz/text.h"

namespace anew::fuzz::text_test {
namespace {

constexpr int shards = 8;

void show_text(int signal) {
  if (current_text) {
    [[maybe_unused]] auto n = write(2, current_text->data(), current_text->size());
    n = write(2, "\n", 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// A text that takes long beyond all measure ends the process, and is shown.
void expect_end_within(int seconds) {
  itimerval t{};
  t.it_value.tv_sec = seconds;
  setitimer(ITIMER_VIRTUAL, &t, nullptr);
}

struct Counts {
  int texts = 0, parsed = 0, evaluated = 0, compiled = 0, differentiated = 0, mapped = 0, failures = 0;

  void check(const std::string& text) {
    expect_end_within(10);
    const Outcome o = check_text(text, texts % 16 == 0);
    ++texts;
    parsed += o.parsed;
    evaluated += o.evaluated;
    compiled += o.compiled;
    differentiated += o.differentiated;
    mapped += o.mapped;
    if (!o.failure.empty() && ++failures <= 10) ADD_FAILURE() << o.failure << "\n" << text;
  }
  ~Counts() {
    std::cout << "[ texts    ] " << texts << ": " << parsed << " parsed, " << evaluated << " evaluated, " << compiled
              << " compiled, " << differentiated << " differentiated, " << mapped << " mapped\n";
  }
};

class Texts : public testing::TestWithParam<int> {
 protected:
  void TearDown() override { expect_end_within(0); }
  void SetUp() override {
    for (int s : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGVTALRM}) std::signal(s, show_text);
  }
};

// 10,000 texts; with ANEW_LONG 1,000,000.
TEST_P(Texts, Mutated) {
  const std::uint64_t shard = static_cast<std::uint64_t>(GetParam());
  const bool whole = std::getenv("ANEW_LONG") != nullptr;
  const int wanted = static_cast<int>((whole ? 1'000'000 : test::repeats(10'000)) / shards);
  std::vector<std::string> texts = row_texts();
  const std::vector<std::string> generated = generated_texts(1000 * shard, whole ? 400 : 40);
  test::Random random("texts", shard);
  Counts counts;
  auto any = [&]() -> const std::string& {
    const auto& list = random.bits() % 2 ? texts : generated;
    return list[random.bits() % list.size()];
  };
  while (counts.texts < wanted && counts.failures < 10) {
    std::string text = any();
    for (std::uint64_t n = 1 + random.bits() % 3; n > 0; --n) text = mutated(text, any(), random);
    counts.check(random.bits() % 4 ? repaired(text) : text);
  }
}

// Every row on every sample, with every number, list, type and operand changed: what a row's infer lets pass works.
TEST_P(Texts, EveryRowSystematically) {
  const bool whole = std::getenv("ANEW_LONG") != nullptr;
  Counts counts;
  const std::vector<std::string> texts = row_texts();
  std::size_t number = 0;
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < texts.size(); i += shards)
    for (const std::string& text : systematically_mutated(texts[i]))
      if (whole || number++ % 8 == i % 8) counts.check(repaired(text));
}
INSTANTIATE_TEST_SUITE_P(All, Texts, testing::Range(0, shards));

TEST(TextsOf, OneText) {
  const char* path = std::getenv("ANEW_FUZZ_TEXT");
  if (!path) GTEST_SKIP() << "no ANEW_FUZZ_TEXT";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(check_text(text.str(), true).failure, "");
  EXPECT_EQ(check_text(text.str(), false).failure, "");
}

// What a loop records is an output like any other: slots in which it kept no state are zero, whoever looks.
TEST(TextsOf, SlotsWithoutAStateAreZero) {
  const std::string loop = R"(
    b:i32[] c:i32[] d:i32[5] e:i32[5] = while[
      body={ lambda ; f:i32[]. let g:i32[] = add f 1:i32[] in (g,) }
      condition={ lambda ; h:i32[]. let i:bool[] = lt h 3:i32[] in (i,) }
      checkpoints=5 num_carry=1 num_consts=0 record=(0,) records=True
    ] a
)";
  const std::string shown = "{ lambda ; a:i32[]. let " + loop + " in (b, c, d, e) }";
  const std::string read = "{ lambda ; a:i32[]. let " + loop + " j:i32[5] = add e 1:i32[] in (b, j) }";
  // On the way back of another loop: the steps that it is told are not those of this one.
  const std::string foreign =
      "{ lambda ; a:i32[] x:f32[]. let k:f32[] l:i32[] m:i32[5] n:f32[5] = while["
      "body={ lambda ; o:f32[]. let p:f32[] = mul o 2.0:f32[] in (p,) } "
      "condition={ lambda ; q:f32[]. let r:bool[] = lt q 9.0:f32[] in (r,) } "
      "checkpoints=5 num_carry=1 num_consts=0 record=(0,) records=True ] x " +
      loop +
      "s:f32[] = unwind[ advance={ lambda ; t:f32[]. let u:f32[] = mul t 2.0:f32[] in (u,) } backward=True "
      "condition={ lambda ; v:f32[]. let w:bool[] = lt v 9.0:f32[] in (w,) } "
      "num_carry=1 num_consts=0 num_linear_carry=1 num_linear_consts=0 num_xs=0 "
      "step={ lambda ; y:f32[] z:f32[]. let ba:f32[] = mul y z in (ba,) } ] c d n x in (s,) }";
  for (const std::string& text : {shown, read, foreign})
    for (bool thorough : {true, false}) {
      const Outcome o = check_text(text, thorough);
      EXPECT_EQ(o.failure, "") << text;
      EXPECT_TRUE(o.parsed && o.compiled) << text;
    }
  const Arrays kept = evaluate(parse_program(shown), Arrays{ones({}, i32)});
  EXPECT_EQ(kept[2].to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, -1, -1, -1}));
  EXPECT_EQ(kept[3].to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 0, 0, 0}));
}

TEST(TextsOf, RepairedTextsHaveTheTypesThatRowsInfer) {
  EXPECT_EQ(repaired("{ lambda ; a:f32[2]. let b:f32[3] = sin a; c:f32[3] = mul b b in (c,) }"),
            "{ lambda ; a:f32[2]. let b:f32[2] = sin a; c:f32[2] = mul b b in (c,) }");
  EXPECT_EQ(repaired("{ lambda ; a:f64[4]. let b:f32[5] = top_k[axis=0 k=3] a in (b,) }"),
            "{ lambda ; a:f64[4]. let b:f64[3] _:i32[3] = top_k[axis=0 k=3] a in (b,) }");
}

}  // namespace
}  // namespace anew::fuzz::text_test
