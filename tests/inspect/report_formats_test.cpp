// The formats of a memory report: text, JSON and the page, of a report made by hand word for word.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/support.h"

namespace anew::report_formats_test {
namespace {

using test::fill;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Array loss(const std::vector<Array>& ws, Array x) {
  for (const Array& w : ws) x = sin(matmul(x, w));
  return mean(square(x));
}

Array rnn(Array w, Array xs) {
  auto cell = [&](Array h, Array x) {
    Array y = tanh(matmul(h, w) + x);
    return std::pair(y, none);
  };
  return sum(scan(cell, zeros({8}), xs).first);
}

MemoryReport by_hand() {
  MemoryReport r;
  r.plan = {.argument_bytes = 1000, .constant_bytes = 24, .output_bytes = 4, .arena_bytes = 4096, .peak_bytes = 5124};
  r.measured_bytes = 5124;
  r.seconds = 1.6e-3;
  const SourceLine line{"model.cpp", 41, "layer"};
  r.steps = {
      {.what = "dot_general",
       .type = "f32[16,16]",
       .line = line,
       .runs = 1,
       .seconds = 2e-6,
       .bytes = 3072,
       .flops = 8192,
       .live_bytes = 1024},
      {.what = "scan[10]",
       .type = "f32[16]",
       .line = {"a_file_with_a_long_name.cpp", 7, "f<int>"},
       .runs = 1,
       .seconds = 1.5e-3,
       .bytes = 40960,
       .flops = 2.5e7,
       .live_bytes = 4096},
      {.depth = 1,
       .what = "mul, sin x3, reduce_sum, and, a, long, list",
       .type = "f32[16]",
       .line = line,
       .runs = 10,
       .seconds = 1.5e-3,
       .bytes = 40960,
       .flops = 2.5e7,
       .live_bytes = 3648},
      {.what = "copy", .type = "f32[]", .runs = 0, .seconds = 0, .bytes = 0, .flops = 0, .live_bytes = 0},
  };
  r.steps[2].operations = {{"mul", line}, {"sin", {"model.cpp", 43, "layer"}}};
  r.pieces = {{"dot_general", "f32[16,16]", line, 0, 1024, 0, 1},
              {"buffer of scan[10]", "", {}, 1024, 64, 1, 2},
              {"mul", "f32[16,48]", line, 64, 3072, 2, 2}};
  return r;
}

TEST(MemoryReportText, IsATableWithAChart) {
  EXPECT_EQ(by_hand().str(), R"(peak    5124 bytes, planned and measured
        1000 of arguments + 24 of constants + 4 of outputs + 4096 of the arena
time    1.60 ms, 1.50 ms of it in the steps below
alive in the arena, step by step:
   4.0 KiB │    ▄▄▄▄
           │    ████
           │    ████
           │▂▂▂▂████
       0 B │████████
step                            line                     time     moved  GB/s  GF/s     alive
dot_general f32[16,16]          model.cpp:41 (layer)  2.00 us   3.0 KiB   1.5   4.1   1.0 KiB █▌
scan[10]                        …h_a_long_name.cpp:7  1.50 ms  40.0 KiB 0.027    17   4.0 KiB ██████
  10 x mul, sin x3, re… f32[16] model.cpp:41 (layer)  1.50 ms  40.0 KiB 0.027    17   3.6 KiB █████▍
copy f32[]                                            not run                             0 B
by line                                                    at the peak              time
model.cpp:41 (layer)                                    3.0 KiB   98 %    1.50 ms  100 %
other                                                      64 B    2 %       0 ns    0 %
by function                                                at the peak              time
layer                                                   3.0 KiB   98 %    1.50 ms  100 %
other                                                      64 B    2 %       0 ns    0 %
)");
}

TEST(MemoryReportText, NamesArguments) {
  MemoryReport r = by_hand();
  r.steps[0].path = "d params.blocks[11].attention.out.w";
  const std::string text = r.str();
  EXPECT_NE(text.find("step                         line          argument              time     moved"), text.npos)
      << text;
  EXPECT_NE(text.find("dot_general f32[16,16]       model.cpp:41  d …ttention.out.w  2.00 us"), text.npos) << text;
  EXPECT_NE(text.find("by argument"), text.npos);
}

TEST(MemoryReportText, StaysInsideItsColumns) {
  MemoryReport r = by_hand();
  for (int i = 0; i < 500; ++i) r.steps.push_back(r.steps[1]), r.steps.back().depth = i % 9;
  r.plan.peak_bytes = r.plan.argument_bytes = std::size_t{1} << 50;
  std::istringstream lines(r.str());
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }), 100) << line;
}

TEST(MemoryReportText, TellsWhatWasMeasured) {
  MemoryReport r = by_hand();
  r.measured_bytes = 5200;
  EXPECT_EQ(r.str().substr(0, r.str().find('\n')), "peak    5124 bytes, planned; 5200 measured");
  std::ostringstream os;
  os << r;
  EXPECT_EQ(os.str(), r.str());
}

TEST(MemoryReportJson, HasItAll) {
  auto j = nlohmann::json::parse(by_hand().json());
  EXPECT_EQ(j["peak_bytes"], 5124);
  EXPECT_EQ(j["argument_bytes"], 1000);
  EXPECT_EQ(j["constant_bytes"], 24);
  EXPECT_EQ(j["output_bytes"], 4);
  EXPECT_EQ(j["arena_bytes"], 4096);
  EXPECT_EQ(j["measured_bytes"], 5124);
  EXPECT_EQ(j["seconds"], 1.6e-3);
  ASSERT_EQ(j["steps"].size(), 4u);
  EXPECT_EQ(j["steps"][0]["what"], "dot_general");
  EXPECT_EQ(j["steps"][0]["type"], "f32[16,16]");
  EXPECT_EQ(j["steps"][0]["line"]["file"], "model.cpp");
  EXPECT_EQ(j["steps"][0]["line"]["line"], 41);
  EXPECT_EQ(j["steps"][0]["line"]["function"], "layer");
  EXPECT_EQ(j["steps"][2]["depth"], 1);
  EXPECT_EQ(j["steps"][2]["runs"], 10);
  EXPECT_EQ(j["steps"][0]["flops"], 8192);
  EXPECT_EQ(j["steps"][1]["bytes"], 40960);
  EXPECT_EQ(j["steps"][1]["live_bytes"], 4096);
  EXPECT_TRUE(j["steps"][3]["line"].is_null());
  EXPECT_EQ(j["steps"][3]["operations"].size(), 0u);
  ASSERT_EQ(j["steps"][2]["operations"].size(), 2u);
  EXPECT_EQ(j["steps"][2]["operations"][0]["what"], "mul");
  EXPECT_EQ(j["steps"][2]["operations"][1]["line"]["line"], 43);
  ASSERT_EQ(j["pieces"].size(), 3u);
  EXPECT_EQ(j["pieces"][0]["offset"], 0);
  EXPECT_EQ(j["pieces"][1]["bytes"], 64);
  EXPECT_EQ(j["pieces"][1]["last"], 2);
  EXPECT_TRUE(j["pieces"][1]["type"].is_null());
  EXPECT_TRUE(j["steps"][0]["path"].is_null());
  for (const char* by : {"by_line", "by_function", "by_path"}) {
    std::size_t bytes = 0;
    for (const auto& t : j[by]) bytes += t["bytes"].get<std::size_t>();
    EXPECT_EQ(bytes, 3136u) << by;
  }
}

TEST(MemoryReportJson, OfNothing) {
  auto j = nlohmann::json::parse(MemoryReport{}.json());
  EXPECT_TRUE(j["measured_bytes"].is_null());
  EXPECT_TRUE(j["seconds"].is_null());
  EXPECT_EQ(j["steps"].size(), 0u);
  EXPECT_EQ(j["live"].size(), 0u);
}

TEST(MemoryReportJson, EscapesText) {
  MemoryReport r = by_hand();
  r.steps[0].what = "a \"quoted\" \\ name\nwith\ttabs and \xc3\xbc";
  auto j = nlohmann::json::parse(r.json());
  EXPECT_EQ(j["steps"][0]["what"], r.steps[0].what);
}

TEST(MemoryReportJson, OfAFunctionHasWhatLives) {
  MemoryReport r = memory_report(jit(grad(rnn)), fill({8, 8}, 1), fill({10, 8}, 2));
  auto j = nlohmann::json::parse(r.json());
  EXPECT_EQ(j["live"].size(), r.plan.live.size());
  EXPECT_EQ(j["live"][0]["bytes"], r.plan.live[0].bytes);
  EXPECT_EQ(j["steps"].size(), r.steps.size());
}

// Every tag is closed, in order, and every link of the page leads somewhere in it.
void check_page(const std::string& page) {
  const std::set<std::string> empty = {"meta", "path", "!doctype"};
  std::vector<std::string> open;
  std::set<std::string> ids, links;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1), name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ("/" + open.back(), tag) << page.substr(at, 200);
      open.pop_back();
      continue;
    }
    if (!empty.contains(name)) open.push_back(name);
    auto attribute = [&](const std::string& which, std::set<std::string>& to) {
      const std::size_t from = tag.find(" " + which + "=\"");
      if (from == std::string::npos) return;
      const std::size_t begin = from + which.size() + 3;
      EXPECT_TRUE(to.insert(tag.substr(begin, tag.find('"', begin) - begin)).second || which == "href") << tag;
    };
    attribute("id", ids);
    attribute("href", links);
  }
  EXPECT_TRUE(open.empty());
  for (const std::string& link : links) EXPECT_TRUE(link[0] == '#' && ids.contains(link.substr(1))) << link;
}

TEST(MemoryReportPage, NeedsNothingElse) {
  std::string page = by_hand().html();
  for (const char* part : {"http:", "https:", "<script", "<link", "url(", "src=", "@import"})
    EXPECT_FALSE(contains(page, part)) << part;
  EXPECT_TRUE(page.starts_with("<!doctype html>\n"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  check_page(page);
}

int count(const std::string& page, const std::string& part) {
  int n = 0;
  for (std::size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1)) ++n;
  return n;
}

TEST(MemoryReportPage, HasAMapAndTables) {
  MemoryReport r = by_hand();
  r.pieces[0].path = "layers[3].w";
  r.pieces[0].callers = "checkpoint 3 of model.cpp:88 (loss)";
  r.sources = {{"model.cpp", 40, "Array layer(Array x) {"}, {"model.cpp", 41, "  return x < 1 ? x : sin(x);"}};
  const std::string page = r.html();
  check_page(page);
  EXPECT_TRUE(contains(page,
                       "<title>dot_general f32[16,16]\n1.0 KiB (1,024 bytes at 0)\nlayers[3].w\nmodel.cpp:41 (layer)\n"
                       "checkpoint 3 of model.cpp:88 (loss)</title>"))
      << page;
  EXPECT_TRUE(contains(page, "a_file_with_a_long_name.cpp:7 (f&lt;int&gt;)</a>")) << page;
  EXPECT_EQ(count(page, "<rect "), 3);
  EXPECT_EQ(count(page, "<svg"), 1);
  EXPECT_EQ(count(page, "<td class=\"what\""), 4);
  EXPECT_TRUE(contains(page, "title=\"mul  model.cpp:41 (layer)\nsin  model.cpp:43 (layer)\">"));
  EXPECT_TRUE(contains(page, "<div>measured<b>5,124 bytes</b></div>"));
  EXPECT_TRUE(contains(page, "<div>a call takes<b>1.60 ms</b></div>"));
  EXPECT_TRUE(contains(page, "model.cpp:41 (layer), 3.0 KiB at the peak</li>"));  // the legend
  EXPECT_TRUE(contains(page, "<td>all</td><td class=\"size\">3.1 KiB</td><td class=\"size\">1.50 ms</td>"));
  EXPECT_TRUE(contains(page, "class=\"made\"><td>41</td><td>3.0 KiB</td><td>1.50 ms</td><td>  return x &lt; 1 ?"));
  EXPECT_TRUE(contains(page, "<td>outside of steps</td>"));
  EXPECT_EQ(count(page, "top: 0.0em\" title=\"scan[10]\n"), 1);  // the bracket of the loop
}

TEST(MemoryReport, FormatsHaveTheBudget) {
  MemoryReport r = by_hand();
  r.plan.extra_time = 0.038;
  r.plan.extra_time_bound = 0.03125;
  r.plan.disk_bytes = 3 << 20;
  r.plan.recomputed = {{"dot_general, add", Location::current(), 3, 0.03}, {"sin", {}, 1, 0.008}};
  r.budget_curve = {{8192, 0, 0}, {5124, 0.038, 0.03}, {4096, 0.12, 0.1}};
  const std::string text = r.str(), page = r.html();
  EXPECT_TRUE(contains(text,
                       "disk    3.0 MiB\n"
                       "again   +3.80 % time is recomputation; any plan within the budget adds at least 3.12 %\n"
                       "           3.00 %  3 x dot_general, add"))
      << text;
  check_page(page);
  EXPECT_TRUE(contains(page, "<div>recomputed<b>+3.80 %</b></div>")) << page;
  EXPECT_TRUE(contains(page, "<div>on disk<b>3.0 MiB</b></div>"));
  EXPECT_TRUE(contains(page, "title=\"this plan: 5.0 KiB, +3.80 %\""));
  EXPECT_TRUE(contains(page, "<td class=\"size\">3 x</td><td class=\"size\">+3.00 %</td>"));
  EXPECT_EQ(count(page, "<i style=\"left"), 3);
  auto j = nlohmann::json::parse(r.json());
  EXPECT_EQ(j["extra_time"], 0.038);
  EXPECT_EQ(j["disk_bytes"], 3 << 20);
  EXPECT_EQ(j["recomputed"][0]["times"], 3);
  EXPECT_EQ(j["budget_curve"].size(), 3u);
}

TEST(MemoryReport, FormatsSayWhatLiesOnDisk) {
  MemoryReport r = by_hand();
  r.plan.extra_time = 0.05;
  r.plan.disk_bytes = 3 << 20;
  r.plan.offloaded = {{"dot_general", {{512, 1024}, f32}, 2 << 20}, {"sin", {{256, 1024}, f32}, 1 << 20}};
  r.budget_curve = {{8192, 0, 0}, {5124, 0.05, 0.03, 3 << 20}};
  const std::string text = r.str(), page = r.html();
  EXPECT_TRUE(contains(text,
                       "disk    3.0 MiB\n"
                       "          2.0 MiB  dot_general f32[512,1024]"))
      << text;
  EXPECT_TRUE(contains(text, "again   +5.00 % time is recomputation and files; any plan")) << text;
  check_page(page);
  EXPECT_TRUE(contains(page, "<div>recomputed and moved<b>+5.00 %</b></div>")) << page;
  EXPECT_TRUE(contains(page, "<h2>On disk</h2>"));
  EXPECT_TRUE(contains(page, "<tr><td>dot_general f32[512,1024]</td>"));
  auto j = nlohmann::json::parse(r.json());
  EXPECT_EQ(j["offloaded"][0]["bytes"], 2 << 20);
  EXPECT_EQ(j["offloaded"].size(), 2u);
  EXPECT_EQ(j["budget_curve"][1]["disk_bytes"], 3 << 20);
  EXPECT_TRUE(contains(r.plan.str(), "moved              +5.00 % time, at least +0.00 %")) << r.plan;
  r.plan.recomputed = {{"sin", {}, 1, 0.02}};
  EXPECT_TRUE(contains(r.plan.str(), "again, moved       +5.00 % time")) << r.plan;
}

TEST(MemoryReport, OfAFunctionWithABudget) {
  std::vector<Array> ws(12, fill({32, 32}, 1));
  const Array x = fill({64, 32}, 3);
  const std::size_t plain = jit(grad(loss)).plan(ws, x).peak_bytes;
  const MemoryReport r = memory_report(jit(grad(loss), {.memory_budget = plain * 8 / 10}), ANEW_ARGS(ws, x));
  EXPECT_EQ(r.measured_bytes, r.plan.peak_bytes);
  EXPECT_GE(r.budget_curve.size(), 2u);
  EXPECT_FALSE(r.plan.recomputed.empty());
  check_page(r.html());
  EXPECT_TRUE(contains(r.html(), "title=\"this plan: "));
}

TEST(MemoryReportPage, OfNothing) {
  EXPECT_FALSE(contains(MemoryReport{}.html(), "<svg"));
  check_page(MemoryReport{}.html());
}

TEST(MemoryReportPage, OfFunctions) {
  std::vector<Array> ws{fill({8, 8}, 1), fill({8, 8}, 2), fill({8, 8}, 4)};
  const MemoryReport r = memory_report(jit(grad(loss)), ANEW_ARGS(ws, fill({5, 8}, 3)));
  check_page(r.html());
  EXPECT_TRUE(contains(r.html(), "for (const Array&amp; w : ws) x = sin(matmul(x, w));")) << r.html();
  EXPECT_TRUE(contains(r.html(), "ws[2]"));
  EXPECT_TRUE(contains(r.html(), "d ws[1]"));
  check_page(memory_report(jit(grad(rnn)), fill({8, 8}, 1), fill({10, 8}, 2)).html());
}

// Looked at by a real browser, where there is one: it reads the page, and nothing is wider than a telephone.
TEST(MemoryReportPage, IsReadByABrowser) {
  if (std::system("command -v chromium > /dev/null 2>&1") != 0) GTEST_SKIP() << "no chromium";
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("anew_page_{}", getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "page.html") << memory_report(jit(grad(rnn)), fill({8, 8}, 1), fill({10, 8}, 2)).html();
  std::ofstream(folder / "frame.html")
      << "<iframe id=f src=page.html width=400 height=900></iframe><script>onload = () => { const e = "
         "document.getElementById('f').contentDocument.scrollingElement; document.title = (e.scrollWidth > "
         "e.clientWidth ? 'too wide' : 'fits') + (e.querySelector('rect') ? ', with rects' : ', empty'); };</script>";
  const std::string command = fmt::format(
      "timeout 60 chromium --headless=new --no-sandbox --disable-gpu --allow-file-access-from-files "
      "--user-data-dir={0} "
      "--virtual-time-budget=5000 --dump-dom file://{0}/frame.html > {0}/dom 2> {0}/log",
      folder.string());
  const int failed = std::system(command.c_str());
  std::stringstream dom;
  dom << std::ifstream(folder / "dom").rdbuf();
  std::filesystem::remove_all(folder);
  if (failed) GTEST_SKIP() << "chromium does not run here";
  EXPECT_TRUE(contains(dom.str(), "<title>fits, with rects</title>")) << dom.str();
}

}  // namespace
}  // namespace anew::report_formats_test
