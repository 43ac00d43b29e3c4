// Looking at arrays: elements, conversions, borrowed memory; and what is refused, with its exact text.
#include "trace/trace.h"

#include <thread>

#include "support/support.h"

namespace anew::test {
namespace {

TEST(Array, ElementsAndConversions) {
  Array x = array({{1., 2.}, {3., 4.}});
  EXPECT_EQ(x.shape(), (Shape{2, 2}));
  EXPECT_EQ(x.dtype(), f32);
  EXPECT_EQ(x.nbytes(), 16u);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(x.T().to_vector<int>(), (std::vector<int>{1, 3, 2, 4}));
  EXPECT_EQ(x.data<float>()[3], 4.f);
  EXPECT_EQ(double(x[{1, 0}]), 3.0);
  EXPECT_EQ(int(array(7)), 7);
  EXPECT_TRUE(bool(array(2.5) > 2));
  EXPECT_EQ(array(1.5, f64).item(), 1.5);
  EXPECT_EQ((array(std::int64_t{1} << 40, i64).item<std::int64_t>()), std::int64_t{1} << 40);
}

TEST(Array, DataOfAViewIsMadeOnceAndStays) {
  Array x = array({{1., 2., 3.}, {4., 5., 6.}}), t = x.T();
  auto a = t.data<float>(), b = t.data<float>();
  EXPECT_EQ(a.data(), b.data());
  EXPECT_EQ(std::vector<float>(a.begin(), a.end()), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Array, BorrowedMemoryIsNotCopied) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  std::weak_ptr<std::vector<float>> watch = owner;
  {
    Array x = Array::borrow(owner->data(), {2, 2}, f32, owner);
    EXPECT_EQ(x.data<float>().data(), owner->data());
    owner.reset();
    EXPECT_EQ(sum(x).item(), 10.0);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Array, ViewsShareMemory) {
  Array x = zeros({4, 6});
  Array y = x.T();
  EXPECT_EQ(x.value()->buffer, y.value()->buffer);
  EXPECT_EQ(x[{slice(1, 3)}].value()->buffer, x.value()->buffer);
  EXPECT_EQ(reshape(x, {6, 4}).value()->buffer, x.value()->buffer);
  EXPECT_EQ(broadcast_to(x, {3, 4, 6}).value()->buffer, x.value()->buffer);
}

TEST(ArrayErrors, Texts) {
  Array nothing, x = ones({3});
  EXPECT_EQ(ERROR_OF((void)nothing.shape()),
            "uninitialised Array used as an operand; hint: `Array x;` is no array yet, one that was moved from is none "
            "any more: assign one first");
  EXPECT_EQ(ERROR_OF((void)(nothing + 1)),
            "uninitialised Array used as an operand; hint: `Array x;` is no array yet, one that was moved from is none "
            "any more: assign one first");
  EXPECT_EQ(ERROR_OF((void)x.item()),
            "conversion to a number of an array f32[3] with 3 elements; hint: only an array of one element is one "
            "number; reduce it first (all, any, sum, max)");
  EXPECT_EQ(ERROR_OF((void)x.data<double>()),
            "data<f64>() of an array f32[3]; hint: data() takes the exact type; to_vector<T>() converts");
  Array abstract = ShapeDtype{{2}, f32};
  EXPECT_EQ(ERROR_OF((void)abstract.to_vector()), "to_vector() of an abstract array f32[2]: it has no data");
  EXPECT_EQ(ERROR_OF((void)sin(abstract)),
            "[sin] an abstract array of type f32[2] has no data to compute with; hint: abstract arrays describe "
            "arguments of make_program, eval_shape and saved_residuals");
  float one = 1;
  EXPECT_EQ(ERROR_OF((void)Array::borrow(nullptr, {2}, f32)), "[borrow] the pointer is null");
  EXPECT_EQ(ERROR_OF((void)Array::borrow(reinterpret_cast<char*>(&one) + 1, {1}, f32)),
            "[borrow] the pointer is not aligned for f32");
  EXPECT_EQ(ERROR_OF((void)Array::borrow(&one, {-1}, f32)),
            "[borrow] an array of type f32[-1] is too large (or has a negative size)");
}

TEST(ArrayErrors, HugeShapesAreRefused) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_THROW((void)zeros({big, big}), Error);
  EXPECT_THROW((void)zeros({-1}), Error);
  EXPECT_THROW((void)broadcast_to(ones({1}), {big, big, big}), Error);
  EXPECT_EQ(
      ERROR_OF((void)zeros({big, big})),
      "[broadcast_in_dim] an array of type f32[1099511627776,1099511627776] is too large (or has a negative size)");
  EXPECT_EQ(sum(zeros({0, 5})).item(), 0.0);
}

TEST(Conversions, OfTracedArraysSayWhatIsTraced) {
  const int line = __LINE__ + 1;
  auto f = checkpoint([](Array x) { return x > 0 ? sin(x) : cos(x); });
  std::string text = ERROR_OF((void)f(1.0));
  EXPECT_EQ(text,
            "boolean conversion of a traced array bool[]: its value is not known while the function is traced for "
            "checkpoint at array_test.cpp:" +
                std::to_string(line) +
                " (TestBody); hint: compute with arrays (where, maximum, cond), or pass what decides as a static "
                "argument (an int, bool or enum)");
  EXPECT_EQ(current_trace(), nullptr);
}

TEST(Conversions, PlainIfWorksUnderGrad) {
  auto f = [](Array x) { return x > 0 ? sin(x) : cos(x); };
  EXPECT_FLOAT_EQ(grad(f)(1.0).item<float>(), std::cos(1.0f));
  EXPECT_FLOAT_EQ(grad(f)(-1.0).item<float>(), std::sin(1.0f));
  EXPECT_FLOAT_EQ(grad(grad(f))(1.0).item<float>(), -std::sin(1.0f));
}

TEST(Escapes, AValueKeptAfterItsTraceIsAnError) {
  Array kept;
  auto keeper = [&](Array x) {
    kept = sin(x);
    return x;
  };
  const int line = __LINE__ + 1;
  (void)jit(keeper)(1.0);
  std::string where = "at array_test.cpp:" + std::to_string(line) + " (TestBody)";
  EXPECT_EQ(ERROR_OF((void)(kept + 1)), "unexpected tracer: a value of type f32[] made while tracing for jit " + where +
                                            " is used after that trace ended; hint: a transformed function must return "
                                            "its results; it must not keep them in global state or captured variables");
  (void)grad(keeper)(1.0);
  EXPECT_THROW((void)(kept * 2), Error);
}

TEST(Escapes, FromOneThreadToAnother) {
  std::string text;
  (void)jit([&](Array x) {
    std::thread([&] {
      try {
        (void)sin(x);
      } catch (const Error& e) {
        text = e.what();
      }
    }).join();
    return x;
  })(1.0);
  EXPECT_EQ(text.substr(0, text.find("; at")),
            "[sin] a value of type f32[] that is being traced for jit is used outside of that trace");
}

TEST(Traces, ExceptionsRestoreTheState) {
  struct Mine {};
  auto thrower = [](Array x) -> Array {
    (void)sin(x);
    throw Mine{};
  };
  EXPECT_THROW((void)grad(thrower)(1.0), Mine);
  EXPECT_THROW((void)jit(thrower)(1.0), Mine);
  EXPECT_THROW((void)checkpoint(thrower)(1.0), Mine);
  EXPECT_THROW((void)jvp(thrower, 1.0, 1.0), Mine);
  EXPECT_THROW((void)saved_residuals(thrower, 1.0), Mine);
  EXPECT_THROW((void)grad(checkpoint(jit(thrower)))(1.0), Mine);
  EXPECT_THROW((void)scan([&](Array c, none_t) { return std::pair(thrower(c), none); }, 1.0, none, {.length = 3}),
               Mine);
  EXPECT_EQ(current_trace(), nullptr);
  EXPECT_EQ(current_rule(), nullptr);
  EXPECT_EQ(line_or(Location::current()).line(), static_cast<unsigned>(__LINE__));
  EXPECT_FLOAT_EQ(grad([](Array x) { return sin(x); })(1.0).item<float>(), std::cos(1.0f));
}

TEST(Traces, FromSeveralThreadsAtOnce) {
  auto f = checkpoint([](Array x) { return sum(sin(matmul(x, x))); });
  Array x = fill({8, 8}, 1), want = grad(f)(x);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& w : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) w += !same_bits(grad(f)(x), want);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace anew::test
