// The one exception for bad input: a file, an argument or a spec that cannot be used.
#pragma once

#include <stdexcept>
#include <string>

namespace tilecheck {

// Caught only at the edge (the command, the Python module); exit code 2. A finding about a user's kernel is never an
// exception, and a broken invariant of our own is an assertion.
class InputError : public std::runtime_error {
 public:
  // where: the file, offset, option or spec field at fault. what: what is wrong and what was expected.
  InputError(std::string where, const std::string& what)
      : std::runtime_error(where.empty() ? what : where + ": " + what), where_(std::move(where)) {}
  const std::string& where() const { return where_; }

 private:
  std::string where_;
};

// Something the simulator does not model: the run ends `incomplete` (exit code 3), never as a pass.
class Incomplete : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilecheck
