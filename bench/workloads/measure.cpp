// Time and memory of this process, from the kernel.
#include "measure.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace workloads {
namespace {

long status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stol(line.substr(key.size() + 1)) * 1024;
  return 0;
}

}  // namespace

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

double foreign_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  file >> name >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
  return static_cast<double>(user + nice + system + irq + soft + steal) / static_cast<double>(sysconf(_SC_CLK_TCK)) -
         cpu_seconds();
}

std::optional<long> reset_peak() {
  malloc_trim(0);
  std::ofstream file("/proc/self/clear_refs");
  if (!(file << "5" << std::flush)) return std::nullopt;
  return status("VmRSS");
}
long peak_bytes() { return status("VmHWM"); }

int calls_per_sample(const std::function<void()>& step) {
  step();
  const double start = wall_seconds();
  int calls = 0;
  do step(), ++calls;
  while (calls < 20 && wall_seconds() - start < 2e-3);
  return std::clamp(static_cast<int>(1e-3 * calls / (wall_seconds() - start + 1e-9)), 1, 10000);
}

Samples sample(const std::function<void()>& step, int calls, int least, int repeat, double max_seconds) {
  Samples out;
  const double start = wall_seconds(), foreign = foreign_seconds();
  auto count = [&] { return static_cast<int>(out.wall.size()); };
  while (count() < repeat && (count() < least || wall_seconds() - start < max_seconds)) {
    const double c = cpu_seconds(), t = wall_seconds();
    for (int i = 0; i < calls; ++i) step();
    out.wall.push_back((wall_seconds() - t) / calls);
    out.cpu.push_back((cpu_seconds() - c) / calls);
  }
  const double wall = wall_seconds() - start;
  const double ticks = 2.0 / static_cast<double>(sysconf(_SC_CLK_TCK));  // the kernel counts in them
  if (wall > 0.1) out.foreign_cores = std::max(0.0, foreign_seconds() - foreign - ticks) / wall;
  return out;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

}  // namespace workloads
