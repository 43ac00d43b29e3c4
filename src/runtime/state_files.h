// Bytes kept on disk, by a number (a step, a piece). Written behind and read ahead by a thread of its own: at most two
// writes wait, a third one waits for them. What is read is what was written, or an Error. Either in one unnamed file,
// which is gone with the process however it ends and stays in no cache of the system; or as a journal, one file for
// each, from which another process can go on.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/base.h"
#include "runtime/system_file.h"

namespace anew {

// Who asks, for messages: "[op] cannot write {what} in {folder}; hint: {give} a folder ...".
struct FileOwner {
  std::string op, folder;
  Location at;
  std::string what = "a state", give = "give";
};

// Where bytes lie; called by one thread at a time. Throws Errors.
class StateBackend {
 public:
  virtual ~StateBackend() = default;
  virtual void write(std::int64_t key, const std::string& bytes) = 0;
  virtual std::string read(std::int64_t key) = 0;
  virtual void drop(std::int64_t key) = 0;
};
std::unique_ptr<StateBackend> open_unnamed(const FileOwner& owner);
// Throws what that would throw where the folder cannot be written to, so that it is said before anything has to go
// there.
void check_folder(const FileOwner& owner);

// Files of the folder with these keys, each written under another name first, and checked when it is opened: torn ones
// are as if they were not there. The folder is locked. Every file knows `run`, and files of another one are an Error.
struct Journal {
  std::unique_ptr<StateBackend> backend;
  std::vector<std::int64_t> keys;  // that were there, ascending
};
Journal open_journal(const FileOwner& owner, std::int64_t run);

class StateFiles {
 public:
  StateFiles(std::unique_ptr<StateBackend> backend, const Location& at);
  ~StateFiles();  // what is waiting is written
  StateFiles(const StateFiles&) = delete;
  StateFiles& operator=(const StateFiles&) = delete;

  void write(std::int64_t key, std::string bytes);
  void read_ahead(std::int64_t key);
  std::string read(std::int64_t key);
  void drop(std::int64_t key);
  void finish();        // waits, and throws what went wrong
  bool failed() const;  // nothing can be written or read any more

 private:
  struct Read {
    std::string bytes;
    bool done = false;
  };
  struct Job {
    enum class Kind { write, read, drop } kind;
    std::int64_t key;
    std::string bytes = {};
    std::shared_ptr<Read> to = {};  // of a read
  };
  void work();
  void add(Job job);
  void do_job(Job& job);
  void rethrow();

  std::unique_ptr<StateBackend> backend_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;                                 // the first one is being done
  std::map<std::int64_t, std::shared_ptr<Read>> ahead_;  // asked for, and not yet fetched
  std::exception_ptr error_;
  bool stops_ = false;
  int writes_ = 0;  // waiting
  std::thread thread_;
};

}  // namespace anew
