// Runs a fuzz program without libFuzzer: a fixed number of random changes to its corpus, the same on every machine.
//   fuzz_NAME [--seed N] [--iterations N] CORPUS_FOLDER...     prints the seed; exit 1 when an input fails
//   fuzz_NAME FILE...                                          runs these inputs alone
// An input fails by an exception that leaves LLVMFuzzerTestOneInput or by what stops the program (a signal, a
// sanitizer). It is written to fuzz-failure.bin first.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "sim/io/file.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tilecheck {
namespace {

// A small generator with the same sequence everywhere (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, n); n > 0.
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_;
};

constexpr uint64_t kMaxInputBytes = 1 << 20;

void change_once(std::string& input, const std::vector<std::string>& seeds, Random& random) {
  const auto position = [&] { return static_cast<size_t>(random.below(input.size())); };
  const auto length = [&](size_t from) {
    return static_cast<size_t>(random.below(std::min<uint64_t>(input.size() - from, 64)) + 1);
  };
  switch (input.empty() ? 8 : random.below(10)) {
    case 0:
      input[position()] ^= static_cast<char>(1 << random.below(8));
      break;
    case 1: {
      static constexpr unsigned char kTelling[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, '0', '9', '-', '(', '}', '"'};
      input[position()] = static_cast<char>(kTelling[random.below(sizeof kTelling)]);
      break;
    }
    case 2: {
      const size_t at = position();
      input.erase(at, length(at));
      break;
    }
    case 3: {
      const size_t at = position();
      input.insert(at, input.substr(at, length(at)));
      break;
    }
    case 4: {
      const size_t from = position(), to = position();
      const std::string part = input.substr(from, length(from));
      input.replace(to, part.size(), part);
      break;
    }
    case 5:
      input.resize(position());
      break;
    case 6: {  // a decimal number becomes another
      size_t at = position();
      while (at < input.size() && (input[at] < '0' || input[at] > '9')) ++at;
      size_t end = at;
      while (end < input.size() && input[end] >= '0' && input[end] <= '9') ++end;
      static constexpr const char* kNumbers[] = {"0",
                                                 "1",
                                                 "-1",
                                                 "4294967295",
                                                 "4294967296",
                                                 "9223372036854775807",
                                                 "1152921504606846976",
                                                 "1e99",
                                                 "99999999999999999999"};
      if (at < end) input.replace(at, end - at, kNumbers[random.below(std::size(kNumbers))]);
      break;
    }
    case 7: {  // a little-endian word becomes a telling one
      static constexpr uint64_t kWords[] = {0,          1,          0x7f,        0xff,           0xffff,    0x7fffffff,
                                            0x80000000, 0xffffffff, 0x100000000, UINT64_MAX / 2, UINT64_MAX};
      const uint64_t word = kWords[random.below(std::size(kWords))];
      const size_t bytes = size_t{1} << random.below(4), at = position();
      std::memcpy(input.data() + at, &word, std::min(bytes, input.size() - at));
      break;
    }
    case 8: {
      const std::string& other = seeds[random.below(seeds.size())];
      if (other.empty()) break;
      const size_t from = static_cast<size_t>(random.below(other.size()));
      input.insert(input.empty() ? 0 : position(), other.substr(from, static_cast<size_t>(random.below(256))));
      break;
    }
    default: {
      const size_t at = position();
      for (size_t i = length(at); i > 0; --i) input[at + i - 1] = static_cast<char>(random.next());
    }
  }
  if (input.size() > kMaxInputBytes) input.resize(kMaxInputBytes);
}

// The input under test, for the handlers of what cannot be caught.
const std::string* g_input = nullptr;

void keep_input() {
  if (std::FILE* file = g_input ? std::fopen("fuzz-failure.bin", "wb") : nullptr) {
    std::fwrite(g_input->data(), 1, g_input->size(), file);
    std::fclose(file);
    std::fprintf(stderr, "the input is in fuzz-failure.bin; repeat with it as the only argument\n");
  }
  g_input = nullptr;
}

extern "C" void on_signal(int number) {
  keep_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// What the program returned: 0 for an input it used, -1 for one it refused. Leaves by exit(1) on an exception.
int try_input(const std::string& input) {
  g_input = &input;
  try {
    const int result = LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    g_input = nullptr;
    return result;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected exception: %s\n", error.what());
    keep_input();
    std::exit(1);
  }
}

void add_folder(const std::string& folder, std::vector<std::string>& seeds) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) seeds.push_back(read_file(path));
}

int run(const std::vector<std::string>& arguments) {
  uint64_t seed = 1, iterations = 20000;
  std::vector<std::string> seeds;
  bool mutating = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if ((argument == "--seed" || argument == "--iterations") && i + 1 < arguments.size()) {
      (argument == "--seed" ? seed : iterations) = std::strtoull(arguments[++i].c_str(), nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      mutating = true;
      add_folder(argument, seeds);
    } else {
      seeds.push_back(read_file(argument));
    }
  }
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(keep_input);
#endif
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(number, on_signal);
  uint64_t refused_seeds = 0;
  for (const std::string& input : seeds) refused_seeds += try_input(input) == -1;
  std::printf("%zu given inputs, %llu refused\n", seeds.size(), static_cast<unsigned long long>(refused_seeds));
  if (!mutating) return 0;
  if (refused_seeds == seeds.size()) {
    std::fprintf(stderr, "no input of the corpus is accepted: changing them would test nothing\n");
    return 1;
  }
  std::printf("--seed %llu --iterations %llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(iterations));
  std::fflush(stdout);
  Random random(seed);
  uint64_t refused = 0;
  for (uint64_t i = 0; i < iterations; ++i) {
    std::string input = seeds[random.below(seeds.size())];
    for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) change_once(input, seeds, random);
    refused += try_input(input) == -1;
  }
  std::printf("%llu refused\n", static_cast<unsigned long long>(refused));
  return 0;
}

}  // namespace
}  // namespace tilecheck

int main(int argc, char** argv) {
  try {
    return tilecheck::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
