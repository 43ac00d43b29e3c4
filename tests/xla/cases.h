// A folder of cases for `anew-xla check`: modules, each with its inputs and the results that this library gives, a list
// of them, and a list of what could not be exported.
#pragma once
#include <anew/anew.h>
#include <anew/stablehlo.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#undef to_stablehlo

namespace anew::test {

class Cases {
 public:
  explicit Cases(std::filesystem::path folder, std::string filter = {}, std::int64_t devices = 1)
      : folder_(std::move(folder)), filter_(std::move(filter)), devices_(devices) {
    std::filesystem::create_directories(folder_);
    list_.open(folder_ / "cases.tsv");
    refused_.open(folder_ / "refused.tsv");
  }

  void add(const std::string& family, const std::string& name, const FlatFunction& f, Arrays x) {
    if (fmt::format("{} {}", family, name).find(filter_) == std::string::npos) return;
    for (Array& a : x) a = without_subnormals(a);
    try {
      std::string text;
      try {
        text = exported(f, x);
      } catch (const Error& e) {
        const std::string what = e.what();
        if (what.find("cannot be said") == std::string::npos) throw;
        refused_ << family << '\t' << flat_name(name) << '\t' << what.substr(0, what.find('\n')) << '\n';
        return;
      }
      NamedArrays data;
      auto keep = [&](std::string_view what, const Arrays& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
          const Array& a = list[i];
          data[fmt::format("{}.{}", what, i)] = a.dtype() == bf16 ? astype(a, f32) : a;
        }
      };
      keep("in", x);
      keep("out", f(x));
      const std::string number = fmt::format("{:06}", count_++);
      std::ofstream(folder_ / (number + ".mlir")) << text;
      savez(folder_ / (number + ".npz"), data);
      list_ << number << '\t' << family << '\t' << flat_name(name) << '\n';
    } catch (const std::exception& e) {
      std::cerr << fmt::format("{} {}: {}\n", family, name, e.what());
      ++failed_;
    }
  }
  // Value and pullback of ones.
  void add_with_gradient(const std::string& family, const std::string& name, const FlatFunction& f, const Arrays& x) {
    add(
        family, name,
        [f](std::span<const Array> in) {
          auto [y, linear] = flat::linearize(f, in);
          Arrays ct;
          for (const Array& a : y) ct.push_back(is_float(a.dtype()) ? ones(a.shape(), a.dtype()) : Array());
          Arrays out = y;
          for (const Array& g : linear.pullback(ct)) out.push_back(g);
          return out;
        },
        x);
  }
  int count() const { return count_; }
  int failed() const { return failed_; }

 private:
  // XLA takes these for zeros.
  static Array without_subnormals(const Array& x) {
    if (x.dtype() != f32 && x.dtype() != f64) return x;
    const double least =
        x.dtype() == f32 ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
    return where(abs(x) < least, 0, x);
  }
  std::string exported(const FlatFunction& f, const Arrays& x) const {
    flat::ExportInfo in, out;
    StableHloOptions options;
    for (std::size_t i = 0; i < x.size(); ++i) {
      in.paths.push_back(fmt::format("x{}", i));
      in.groups.push_back(1);
      const Shape s = x[i].shape();
      options.in_specs.push_back(
          devices_ > 1 && s.ndim() > 0 && s[0] > 0 && s[0] % devices_ == 0 ? PartitionSpec{"data"} : replicated);
    }
    if (devices_ > 1) options.mesh = Mesh({{"data", devices_}});
    else options.in_specs.clear();
    return flat::to_stablehlo(f, x, options, in, [&] { return out; }, Location::current());
  }
  static std::string flat_name(std::string s) {
    for (char& c : s)
      if (c == '\t' || c == '\n') c = ' ';
    return s.substr(0, 300);
  }

  std::filesystem::path folder_;
  std::string filter_;
  std::int64_t devices_;
  std::ofstream list_, refused_;
  int count_ = 0, failed_ = 0;
};

}  // namespace anew::test
