// Objects that were moved from, of every public class that the headers declare; and functions that are empty, wherever
// one is taken. An Error with the user's line, or it simply works.
#include <anew/anew.h>
#include <anew/stablehlo.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/support.h"

namespace anew {
namespace {

Array f(Array x) { return sum(sin(x) * x); }

// Moves x away, gives it to `use`, and says what comes of it: nothing, or the text of an Error of this file.
template <class T, class Use>
std::string moved(T x, Use use) {
  T elsewhere = std::move(x);
  static_cast<void>(elsewhere);
  try {
    use(x);  // NOLINT: moved from
    return "";
  } catch (const Error& e) {
    EXPECT_NE(e.file().find("moved_test.cpp"), std::string::npos) << e.what();
    EXPECT_GT(e.line(), 0) << e.what();
    return e.what();
  }
}
bool says_moved(const std::string& text) { return text.find("moved from") != std::string::npos; }

// What was done to an object of each class. Those not listed by name are plain data: values side by side.
std::map<std::string, bool> tried() {
  const Array x = array({1.0, 2.0});
  std::map<std::string, bool> out;
  auto call = [&](auto& g) { static_cast<void>(g(x)); };
  out["Jit"] = says_moved(moved(jit(f), call)) && says_moved(moved(jit(f), [&](auto& g) { g.plan(x); })) &&
               says_moved(moved(jit(f), [&](auto& g) { static_cast<void>(g.compile(x)); })) &&
               moved(jit(f), [&](auto& g) { static_cast<void>(g.cache_size()); }).empty();
  out["Grad"] = says_moved(moved(grad(f), call)) && says_moved(moved(value_and_grad(f), call));
  using Solver = Checkpointing<double>;
  auto solver = [&](auto use) { return says_moved(moved(Solver({.steps = 1}), use)); };
  out["Checkpointing"] = solver([](Solver& s) { s.forward(1.0, [](double&, std::int64_t) {}); }) &&
                         solver([](Solver& s) { s.backward([](const double&, std::int64_t) {}); }) &&
                         solver([](Solver& s) { static_cast<void>(s.state()); }) &&
                         solver([](Solver& s) { static_cast<void>(s.steps() + s.recomputed()); });
  out["Checkpoint"] = says_moved(moved(checkpoint(f), call));
  out["MakeProgram"] = says_moved(moved(make_program(f), call));
  out["Vmap"] = says_moved(moved(vmap(f), call));
  out["Jacobian"] = says_moved(moved(jacfwd(f), call)) && says_moved(moved(jacrev(f), call));
  out["Hessian"] = says_moved(moved(hessian(f), call));
  out["Hvp"] = says_moved(moved(hvp(f), [&](auto& g) { static_cast<void>(g(x, x)); }));
  out["CustomJvp"] =
      says_moved(moved(custom_jvp(f, [](auto p, auto) { return std::pair(f(std::get<0>(p)), Array(0.0)); }), call));
  out["CustomVjp"] = says_moved(
      moved(custom_vjp(
                f, [](Array v) { return std::pair(f(v), v); }, [](Array v, Array ct) { return std::tuple(v * ct); }),
            call));
  out["CustomGradient"] = says_moved(moved(
      custom_gradient([](Array v) { return std::pair(f(v), [v](Array ct) { return std::tuple(v * ct); }); }), call));
  out["ClosureConvert"] = says_moved(moved(closure_convert(f), call));
  out["ClosureConverted"] =
      says_moved(moved(closure_convert(f)(x).first, [&](auto& g) { static_cast<void>(g(x, Arrays())); }));
  out["LinearTranspose"] = says_moved(moved(linear_transpose([](Array v) { return 2 * v; }, x), call));
  auto [y, pullback] = vjp(f, x);
  out["Pullback"] = says_moved(moved(pullback, [&](auto& p) { static_cast<void>(p(array(1.0))); })) &&
                    says_moved(moved(pullback, [&](auto& p) { static_cast<void>(p.residuals()); })) &&
                    says_moved(moved(pullback, [&](auto& p) { static_cast<void>(p.program()); }));
  auto [z, linear] = linearize(f, x);
  out["Linearized"] = says_moved(moved(linear, call)) &&
                      says_moved(moved(linear, [&](auto& p) { static_cast<void>(p.residuals()); })) &&
                      says_moved(moved(linear, [&](auto& p) { static_cast<void>(p.program()); }));
  const FlatFunction flat = [](std::span<const Array> v) { return Arrays{f(v[0])}; };
  const Arrays in{x};
  out["Linear"] = says_moved(moved(flat::linearize(flat, in).second, [&](auto& p) { p(in); }));
  out["Compiled"] = says_moved(moved(jit(f).compile(x), call)) &&
                    moved(flat::compile(flat, in), [&](auto& c) { c(in); }).empty();  // both classes of this name
  out["KnownCalls"] = moved(flat::KnownCalls(), [](auto& k) { static_cast<void>(k.size()); }).empty();
  out["JitCache"] = moved(flat::JitCache(), [&](auto& c) { flat::jit(flat, in, c); }).empty();
  out["Policy"] = moved(checkpoint_policies::save_only_these_names("a"), [](auto& p) {
                    if (p.str() != "save_only_these_names('a')" || p.hash() == 0 || p.offloads()) throw Error(p.str());
                  }).empty();
  out["Array"] = says_moved(moved(x, [](auto& a) { static_cast<void>(a + 1); })) &&
                 says_moved(moved(x, [](auto& a) { static_cast<void>(a.shape()); }));
  out["ArrayLike"] = says_moved(moved(ArrayLike(x), [](auto& a) { static_cast<void>(sin(a)); }));
  out["AtRef"] = says_moved(moved(x.at(0), [](auto& a) { static_cast<void>(a.set(1)); }));
  out["ArrayList"] = !moved(ArrayList({x, x}), [](auto& a) { static_cast<void>(stack(a)); }).empty();
  out["Starts"] = !moved(Starts(x), [&](auto& s) { static_cast<void>(dynamic_slice(x, s, {1})); }).empty();
  out["Program"] = moved(make_program(f)(x), [](auto& p) {
                     if (p.str() != "{ lambda ; . let  in () }" || !p.inputs().empty() || p.count("sin"))
                       throw Error("");
                   }).empty();
  out["StopToken"] = moved(StopToken(), [](auto& t) { t.stop(); }).empty();
  out["MapAxes"] =
      moved(MapAxes(0), [&](auto& a) { static_cast<void>(vmap(f, {.in_axes = a})(ones({2, 3}))); }).empty();
  out["Axes"] = moved(Axes({0}), [&](auto& a) { static_cast<void>(sum(x, a)); }).empty();
  out["Index"] = moved(Index({0}), [&](auto& i) { static_cast<void>(x[i]); }).empty();
  out["ConvPadding"] = !moved(ConvPadding("a padding with a rather long name"), [&](auto& p) {
                          static_cast<void>(conv_general_dilated(ones({1, 1, 4}), ones({1, 1, 2}), {1}, p));
                        }).empty();
  out["NormOrder"] = moved(linalg::NormOrder(2), [&](auto& o) { static_cast<void>(linalg::norm(x, o)); }).empty();
  out["PadMode"] = !moved(PadMode(std::string("a mode with a rather long name")), [&](auto& m) {
                      static_cast<void>(pad(x, {{1, 1}}, m));
                    }).empty();
  out["Shape"] = moved(Shape{2}, [](auto& s) { static_cast<void>(zeros(s)); }).empty();
  out["OptionalShape"] = moved(OptionalShape{2}, [](auto& s) { static_cast<void>(s.has_value()); }).empty();
  out["KeptData"] = moved((ones(2) + 1).data<float>(), [](auto& s) { static_cast<void>(s.size()); }).empty();
  out["TreeDef"] = says_moved(moved(tree_flatten(std::vector<Array>{x, x}).second,
                                    [&](auto& d) { static_cast<void>(tree_unflatten(d, Arrays{x, x})); }));
  out["ArgumentAxes"] =
      moved(ArgumentAxes(0), [&](auto& a) { static_cast<void>(vmap(f, {.in_axes = {a}})(ones({2, 3}))); }).empty();
  out["Unravel"] = says_moved(moved(ravel_tree(x).second, call));
  out["Schedule"] = moved(optim::constant_schedule(0.1), [](auto& s) { static_cast<void>(s(0)); }).empty();
  out["Optimizer"] = moved(optim::adam(0.1), [&](auto& o) { static_cast<void>(o.init(x)); }).empty();
  out["LinearOperator"] = moved(LinearOperator<Array>([](const Array& v) { return v; }), [&](auto& m) {
                            if (!m.function()) throw Error("");
                          }).empty();
  out["LinearFunction"] = true;  // seen inside of custom_linear_solve below
  static_cast<void>(custom_linear_solve([](Array v) { return 2 * v; }, x,
                                        [&](auto a, Array b) {
                                          out["LinearFunction"] =
                                              moved(a, [&](auto& again) { static_cast<void>(again(b)); }).empty();
                                          return b / 2;
                                        }));
  out["FilePath"] =
      !moved(FilePath("a file with a rather long name.npy"), [](auto& p) { static_cast<void>(load(p)); }).empty();
  out["Mesh"] = moved(Mesh({{"data", 2}}), [](auto& m) { static_cast<void>(m.size()); }).empty();
  out["PartitionSpec"] = moved(PartitionSpec{"data"}, [](auto& s) { static_cast<void>(s.entries()); }).empty();
  out["Bins"] = !moved(Bins(x), [&](auto& b) { static_cast<void>(histogram(x, b)); }).empty();
  out["Error"] = moved(Error("text"), [](auto& e) { static_cast<void>(e.line()); }).empty();
  return out;
}

// Classes of the public headers, outside of namespace detail; structs without a constructor or a private part are
// plain.
std::set<std::string> declared() {
  std::set<std::string> out;
  const std::regex head(R"((?:^|\n)(?:  )?class (\w+)[^;{]*\{)");
  for (const auto& entry : std::filesystem::directory_iterator("include/anew")) {
    if (entry.path().filename() == "mpi.h") continue;  // a library of its own: tests/mpi
    std::ifstream file(entry.path());
    std::stringstream whole;
    whole << file.rdbuf();
    std::string text = whole.str();
    // What stands in namespace detail is no class of the user's.
    for (std::size_t at; (at = text.find("\nnamespace detail {")) != std::string::npos;) {
      const std::size_t end = text.find("\n}  // namespace detail", at);
      text.erase(at, end == std::string::npos ? std::string::npos : end + 23 - at);
    }
    if (text.find("\nnamespace anew::detail {") != std::string::npos) continue;
    for (std::sregex_iterator it(text.begin(), text.end(), head), last; it != last; ++it) out.insert((*it)[1]);
  }
  return out;
}

TEST(Moved, EveryClassOfTheHeadersHasBeenMovedFrom) {
  const std::map<std::string, bool> made = tried();
  for (const auto& [name, fine] : made) EXPECT_TRUE(fine) << name;
  const std::set<std::string> exempt{"InternalError", "Stopped",  // as Error
                                     "Slots"};                    // handed to an optimizer for one call
  const std::set<std::string> classes = declared();
  EXPECT_GT(classes.size(), 25u);
  for (const std::string& name : classes) EXPECT_TRUE(made.contains(name) || exempt.contains(name)) << name;
}

TEST(Moved, AConsumedPullbackSaysSo) {
  auto [y, pullback] = vjp(f, array({1.0, 2.0}));
  static_cast<void>(std::move(pullback)(array(1.0)));
  EXPECT_EQ(
      ERROR_OF(static_cast<void>(std::move(pullback)(array(1.0)))),
      "[linearize] a linear function was moved from, or used up by std::move(pullback)(ct), and called again; hint: "
      "call it as pullback(ct), without std::move, to use it more than once");
  EXPECT_EQ(ERROR_OF(static_cast<void>(pullback(array(1.0)))).substr(0, 43),
            "[linearize] a linear function was moved fro");
}

TEST(Moved, AFunctionNamesTheLineThatMadeIt) {
  auto g = jit(f);
  const int line = __LINE__ - 1;
  auto h = std::move(g);
  int told = 0;
  EXPECT_EQ(test::error_of([&] { static_cast<void>(g(ones(2))); }, __FILE__, &told),
            "an object that was moved from is used; hint: use what it was moved to, or copy it");
  EXPECT_EQ(told, line);
  auto copy = h;
  EXPECT_TRUE(test::same_bits(copy(ones(2)), h(ones(2))));
  h = jit(f);
  h = std::move(copy);
  copy = h;  // it is there again
  EXPECT_TRUE(test::same_bits(copy(ones(2)), h(ones(2))));
}

// ---- functions that are empty

constexpr const char* empty_text = "a function that was given is empty (a std::function or pointer without a target)";
#define EMPTY(...)                                                   \
  {                                                                  \
    SCOPED_TRACE(#__VA_ARGS__);                                      \
    EXPECT_EQ(ERROR_OF(static_cast<void>(__VA_ARGS__)), empty_text); \
  }
// Where any number of arguments may follow, a call cannot know its line.
#define EMPTY_SOMEWHERE(...)                                               \
  try {                                                                    \
    static_cast<void>(__VA_ARGS__);                                        \
    ADD_FAILURE() << #__VA_ARGS__;                                         \
  } catch (const Error& e) {                                               \
    EXPECT_EQ(std::string(e.what()).find(empty_text), 0u) << #__VA_ARGS__; \
  }

TEST(Empty, FunctionsOfTransformations) {
  const std::function<Array(Array)> none_there;
  Array (*const null)(Array) = nullptr;
  const Array x = ones(3);
  EMPTY(grad(none_there)(x));
  EMPTY(grad(null)(x));
  EMPTY(value_and_grad(none_there)(x));
  EMPTY(jit(none_there)(x));
  EMPTY(jit(null)(x));
  EMPTY(jit(none_there).plan(x));
  EMPTY(jit(none_there).compile(x));
  EMPTY(jit(grad(none_there))(x));
  EMPTY(checkpoint(none_there)(x));
  EMPTY(make_program(none_there)(x));
  EMPTY(vmap(none_there)(x));
  EMPTY(vmap(none_there, {.chunk = 2})(x));
  EMPTY(jacfwd(none_there)(x));
  EMPTY(jacrev(none_there)(x));
  EMPTY(hessian(none_there)(x));
  EMPTY(hvp(none_there)(x, x));
  EMPTY_SOMEWHERE(vjp(none_there, x));
  EMPTY_SOMEWHERE(linearize(none_there, x));
  EMPTY(jvp(none_there, x, x));
  EMPTY(linear_transpose(none_there, x)(x));
  EMPTY_SOMEWHERE(saved_residuals(none_there, x));
  EMPTY(check_grads(none_there, x));
  EMPTY(map(none_there, x));
  EMPTY(map(none_there, x, {.batch_size = 2}));
  EMPTY(memory_report(jit(none_there), x));
  EMPTY(jit(std::function<Array(Array)>(grad(none_there)))(x));
}

TEST(Empty, FunctionsOfLoopsAndBranches) {
  const std::function<Array(Array)> none_there;
  const std::function<Array(Array, Array)> none_of_two;
  const std::function<std::pair<Array, Array>(Array, Array)> no_body;
  const Array x = ones(3);
  auto no = [](Array) { return array(false); };
  auto same = [](Array v) { return v; };
  EMPTY(scan(no_body, x, x));
  EMPTY(while_loop(none_there, same, x));
  EMPTY(while_loop(no, none_there, x));
  EMPTY(fori_loop(0, 3, none_of_two, x));
  EMPTY(fori_loop(0, array(3), none_of_two, x));
  EMPTY(cond(array(true), none_there, same, x));
  EMPTY(cond(array(true), same, none_there, x));
  EMPTY(switch_(1, branches(same, none_there), x));
  EMPTY(switch_(1, std::vector{none_there}, x));
  EMPTY(associative_scan(none_of_two, x));
}

TEST(Empty, RulesPoliciesAndCallbacks) {
  const std::function<Array(Array)> none_there;
  using Pair = std::pair<Array, Array>;
  const std::function<Pair(std::tuple<Array>, std::tuple<Array>)> no_rule;
  const std::function<Pair(Array)> no_forward;
  const std::function<std::tuple<Array>(Array, Array)> no_backward;
  const Array x = ones(3);
  EMPTY(custom_jvp(f, no_rule));
  EMPTY(custom_jvp(none_there, [](auto p, auto t) { return std::pair(std::get<0>(p), std::get<0>(t)); })(x));
  EMPTY(custom_vjp(f, no_forward, [](Array, Array ct) { return std::tuple(ct); }));
  EMPTY(custom_vjp(f, [](Array v) { return std::pair(v, v); }, no_backward));
  EMPTY(checkpoint(f, std::function<bool(const PolicyQuery&)>()));
  EMPTY(Policy("name", std::function<Save(const PolicyQuery&)>()));
  EMPTY(io_callback(none_there, ShapeDtype{{3}, f32}, x));
  EMPTY(pure_callback(none_there, ShapeDtype{{3}, f32}, x));
  EMPTY(closure_convert(none_there)(x));
  EMPTY(custom_gradient(std::function<std::pair<Array, std::function<std::tuple<Array>(Array)>>(Array)>())(x));
  EMPTY(debug::callback(std::function<void(Array)>(), x));
}

TEST(Empty, FlatFunctions) {
  const Arrays in{ones(3)};
  const FlatFunction no, yes = [](std::span<const Array> x) { return Arrays(x.begin(), x.end()); };
  EMPTY(flat::grad(no, in));
  EMPTY(flat::grad_of_any(no, in));
  EMPTY(flat::linearize(no, in));
  EMPTY(flat::jvp(no, in, in));
  EMPTY(flat::vmap(no, in, {.in = {0}}));
  EMPTY(flat::map(no, in));
  EMPTY(flat::associative_scan({}, in));
  EMPTY(flat::jacfwd(no, in));
  EMPTY(flat::jacrev(no, in));
  EMPTY(flat::hessian(no, in));
  EMPTY(flat::hvp(no, in, in));
  EMPTY(flat::check_grads(no, in));
  EMPTY(flat::io_callback(no, {}, in));
  EMPTY(flat::pure_callback(no, {}, in));
  EMPTY(flat::debug_callback(no, in));
  EMPTY(flat::checkpoint(no, in, checkpoint_policies::nothing_saveable));
  EMPTY(flat::jit(no, in, flat::JitCache()));
  EMPTY(flat::compile(no, in));
  EMPTY(flat::plan(no, in));
  EMPTY(flat::scan({}, in, in));
  EMPTY(flat::switch_(0, {yes, no}, in));
  EMPTY(flat::cond(array(true), no, yes, in));
  EMPTY(flat::while_loop({}, yes, in));
  EMPTY(flat::fori_loop(0, 2, no, in));
  EMPTY(flat::custom_jvp(no, [](auto x, auto) { return std::pair(Arrays(x.begin(), x.end()), Arrays{}); }, in));
  EMPTY(flat::custom_jvp(yes, {}, in));
  EMPTY(flat::custom_vjp(yes, {}, in));
  EMPTY(flat::make_program(no, in));
  EMPTY(flat::eval_shape(no, in));
  EMPTY(flat::saved_residuals(no, in));
}

}  // namespace
}  // namespace anew
