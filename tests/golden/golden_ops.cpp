// golden_ops [--filter text] [--list] [-v]: every recorded operation against this library. Reads the file named by the
// environment variable ANEW_GOLDENS, else the repository's copy. Each failure is printed with its worst entry, skipped
// operations by name; the last line is "N passed, N failed, N skipped". Exits with 1 if anything failed or was skipped.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "golden/case.h"

namespace {

using namespace anew::golden;

struct Options {
  std::string filter;
  bool list = false, verbose = false;
};

int usage(const std::string& problem) {
  std::cerr << fmt::format("golden_ops: {}\nusage: golden_ops [--filter text] [--list] [-v]\n", problem);
  return 2;
}

class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)) {}

  void one(const Json& json) {
    const Case c = parse_case(json);
    if (c.id.find(options_.filter) == std::string::npos) return;
    if (options_.list) return say(fmt::format("{} {} {}", c.id, c.category, c.params.expression()));
    const auto row = operations().find(c.op);
    if (row == operations().end()) return skip(c, c.op);
    try {
      report(c, run_case(c, row->second));
    } catch (const NotDelivered& missing) {
      skip(c, missing.what());
    }
  }

  int finish() const {
    if (options_.list) return 0;
    for (const auto& [what, count] : skipped_by_name_) say(fmt::format("skipped {:3}: {}", count, what));
    say(fmt::format("{} passed, {} failed, {} skipped", passed_, failed_, skipped_));
    return failed_ || skipped_ ? 1 : 0;
  }

 private:
  static void say(const std::string& line) { std::cout << line << '\n'; }
  void skip(const Case& c, const std::string& what) {
    ++skipped_;
    ++skipped_by_name_[what];
    if (options_.verbose) say("skip " + c.id);
  }
  void report(const Case& c, const std::vector<std::string>& failures) {
    ++(failures.empty() ? passed_ : failed_);
    for (const LeftOut& l : left_out())
      if (std::size_t n = entries_of(l, c)) say(fmt::format("left out {} entry of {}: {}", n, c.id, l.reason));
    if (failures.empty() && options_.verbose) say("pass " + c.id);
    if (!failures.empty())
      say(fmt::format("FAIL {}: {}{}", c.id, c.params.expression(), c.note.empty() ? "" : "  # " + c.note));
    for (const std::string& line : failures) say("  " + line);
  }

  Options options_;
  int passed_ = 0, failed_ = 0, skipped_ = 0;
  std::map<std::string, int> skipped_by_name_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--list") options.list = true;
    else if (arg == "-v") options.verbose = true;
    else if (arg == "--filter" && i + 1 < argc) options.filter = argv[++i];
    else if (arg.starts_with("--filter=")) options.filter = arg.substr(9);
    else return usage("unknown argument " + arg);
  }
  const QuietWarnings quiet;
  try {
    const char* given = std::getenv("ANEW_GOLDENS");
    const Json file = read_json(given ? given : golden_path("ops.json"));
    Runner runner(options);
    for (const Json& json : file.at("cases")) runner.one(json);
    return runner.finish();
  } catch (const std::exception& e) {
    return usage(e.what());
  }
}
