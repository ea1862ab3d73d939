// The values that `--set NAME=VALUES` stands for in a sweep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecheck {

inline constexpr int kMaxRangeValues = 10000;

// "64,128,bf16": each item as it stands. "A..B*M": A, A*M, A*M*M, ... up to B. "A..B+S": A, A+S, ... up to B.
// "A..B": doubling. Items of a list may be ranges; repeats are dropped, order is kept.
// where names the option for the InputError ("--set block_q=128..64").
std::vector<std::string> expand_ranges(std::string_view text, const std::string& where);

}  // namespace tilecheck
