#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

#include "reference/basic.h"
#include "reference/product.h"

namespace tilecheck::reference {
namespace {

constexpr int64_t kQueries = 256;  // handled together: bounds memory to 256 rows of logits a head

struct Sizes {
  int64_t batch, q_heads, kv_heads, q_len, kv_len, dim, v_dim;
  int64_t group() const { return q_heads / kv_heads; }  // query heads that share a key head
};

Sizes sizes_of(const Array& q, const Array& k, const Array& v) {
  assert(q.rank() == 4 && k.rank() == 4 && v.rank() == 4);
  const Sizes n = {q.dim(0), q.dim(1), k.dim(1), q.dim(2), k.dim(2), q.dim(3), v.dim(3)};
  assert(k.dim(0) == n.batch && v.dim(0) == n.batch && v.dim(1) == n.kv_heads && v.dim(2) == n.kv_len);
  assert(k.dim(3) == n.dim && n.kv_heads > 0 && n.q_heads % n.kv_heads == 0);
  return n;
}

bool may_see(const AttentionOptions& options, int64_t b, int64_t i, int64_t j) {
  if (options.causal && j > i + options.causal_offset) return false;
  if (options.q_segment_ids && (*options.q_segment_ids)(b, i) != (*options.kv_segment_ids)(b, j)) return false;
  if (options.mask && (*options.mask)(i, j) == 0) return false;
  return true;
}

// A head as a matrix: rows [first, first + count) of x(b, h, :, :).
Array rows_of(const Array& x, int64_t b, int64_t h, int64_t first, int64_t count) {
  const double* begin = x.row(b, h, first);
  return Array({count, x.dim(3)}, std::vector<double>(begin, begin + count * x.dim(3)));
}

Array head_of(const Array& x, int64_t b, int64_t h) { return rows_of(x, b, h, 0, x.dim(2)); }

// target(b, h, first + i, :) += rows(i, :).
void add_rows(Array& target, int64_t b, int64_t h, int64_t first, const Array& rows) {
  double* to = target.row(b, h, first);
  for (size_t i = 0; i < rows.values.size(); ++i) to[i] += rows.values[i];
}

// The capped logits of some queries of one head, (queries, keys); -infinity for keys that may not be seen. queries:
// rows [first, ...) of head h.
Array logits_of(const Array& queries, const Array& keys, const AttentionOptions& options, int64_t b, int64_t h,
                int64_t first) {
  Array logits = product(queries, transpose(keys));
  for (int64_t i = 0; i < queries.dim(0); ++i)
    for (int64_t j = 0; j < keys.dim(0); ++j) {
      double& logit = logits(i, j);
      if (options.bias) logit += (*options.bias)(b, h, first + i, j);
      logit *= options.scale;
      if (options.soft_cap != 0) logit = options.soft_cap * std::tanh(logit / options.soft_cap);
      if (!may_see(options, b, first + i, j)) logit = -INFINITY;
    }
  return logits;
}

// Their softmax over all keys.
struct Weights {
  Array p;                   // (queries, keys)
  std::vector<double> m, l;  // of each query
};

Weights softmax(const Array& logits) {
  Weights w{Array(logits.shape), {}, {}};
  for (int64_t i = 0; i < logits.dim(0); ++i) {
    double m = -INFINITY, l = 0;
    for (int64_t j = 0; j < logits.dim(1); ++j)
      if (!std::isnan(m) && !(logits(i, j) <= m)) m = logits(i, j);  // NaN stays NaN
    if (m != -INFINITY) {
      for (int64_t j = 0; j < logits.dim(1); ++j) l += w.p(i, j) = std::exp(logits(i, j) - m);
      for (int64_t j = 0; j < logits.dim(1); ++j) w.p(i, j) /= l;
    }
    w.m.push_back(m);
    w.l.push_back(l);
  }
  return w;
}

// Calls head(b, kv_head) for all of them; heads share nothing, so large ones run on as many threads as there are cores.
void for_each_kv_head(const Sizes& n, const std::function<void(int64_t, int64_t)>& head) {
  const int64_t heads = n.batch * n.kv_heads;
  const bool large = n.batch * n.q_heads * n.q_len * n.kv_len * n.dim > 1'000'000;
  const int64_t threads = large ? std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, heads) : 1;
  const auto share = [&](int64_t first) {
    for (int64_t index = first; index < heads; index += threads) head(index / n.kv_heads, index % n.kv_heads);
  };
  std::vector<std::jthread> others;
  for (int64_t t = 1; t < threads; ++t) others.emplace_back(share, t);
  share(0);
}

}  // namespace

AttentionResult attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options) {
  const Sizes n = sizes_of(q, k, v);
  const std::vector<int64_t> rows = {n.batch, n.q_heads, n.q_len};
  AttentionResult result = {Array({n.batch, n.q_heads, n.q_len, n.v_dim}), Array(rows), Array(rows), Array(rows)};
  for_each_kv_head(n, [&](int64_t b, int64_t kv_head) {
    const Array keys = head_of(k, b, kv_head), values = head_of(v, b, kv_head);
    for (int64_t h = kv_head * n.group(); h < (kv_head + 1) * n.group(); ++h)
      for (int64_t first = 0; first < n.q_len; first += kQueries) {
        const Array queries = rows_of(q, b, h, first, std::min(kQueries, n.q_len - first));
        const Weights w = softmax(logits_of(queries, keys, options, b, h, first));
        add_rows(result.out, b, h, first, weighted_sum(w.p, values));
        for (int64_t i = 0; i < queries.dim(0); ++i) {
          const auto at = static_cast<size_t>(i);
          result.m(b, h, first + i) = w.m[at];
          result.l(b, h, first + i) = w.l[at];
          result.logsumexp(b, h, first + i) = w.m[at] + std::log(w.l[at]);
        }
      }
  });
  return result;
}

AttentionGradients attention_backward(const Array& q, const Array& k, const Array& v, const Array& d_out,
                                      const AttentionOptions& options) {
  const AttentionResult forward = attention(q, k, v, options);
  ForwardResiduals residuals{forward.logsumexp, Array(forward.logsumexp.shape)};
  const int64_t v_dim = v.dim(3);
  for (size_t row = 0; row < residuals.delta.values.size(); ++row)
    for (size_t c = 0; c < static_cast<size_t>(v_dim); ++c) {
      const size_t at = row * static_cast<size_t>(v_dim) + c;
      residuals.delta.values[row] += forward.out.values[at] * d_out.values[at];
    }
  return attention_backward(q, k, v, d_out, residuals, options);
}

AttentionGradients attention_backward(const Array& q, const Array& k, const Array& v, const Array& d_out,
                                      const ForwardResiduals& residuals, const AttentionOptions& options) {
  const Sizes n = sizes_of(q, k, v);
  AttentionGradients g = {Array(q.shape), Array(k.shape), Array(v.shape), {}};
  if (options.bias) g.dbias = Array(options.bias->shape);
  for_each_kv_head(n, [&](int64_t b, int64_t kv_head) {
    const Array keys = head_of(k, b, kv_head), values = head_of(v, b, kv_head);
    for (int64_t h = kv_head * n.group(); h < (kv_head + 1) * n.group(); ++h)
      for (int64_t first = 0; first < n.q_len; first += kQueries) {
        const int64_t count = std::min(kQueries, n.q_len - first);
        const Array queries = rows_of(q, b, h, first, count), d_rows = rows_of(d_out, b, h, first, count);
        const Array logits = logits_of(queries, keys, options, b, h, first);
        const Array dp = product(d_rows, transpose(values));  // out = p v
        Array p(logits.shape), ds(logits.shape);              // ds: by q k^T + bias
        for (int64_t i = 0; i < count; ++i)
          for (int64_t j = 0; j < n.kv_len; ++j) {
            if (logits(i, j) == -INFINITY) continue;  // may not be seen
            p(i, j) = std::exp(logits(i, j) - residuals.logsumexp(b, h, first + i));
            // p is a softmax: its derivative by the capped logits is p_ij (dp_ij - sum_t p_it dp_it), and that sum is
            // the query's delta.
            const double tanh = options.soft_cap != 0 ? logits(i, j) / options.soft_cap : 0;
            ds(i, j) = p(i, j) * (dp(i, j) - residuals.delta(b, h, first + i)) * (1 - tanh * tanh) * options.scale;
            if (options.bias) g.dbias(b, h, first + i, j) = ds(i, j);
          }
        add_rows(g.dq, b, h, first, weighted_sum(ds, keys));
        add_rows(g.dk, b, kv_head, 0, weighted_sum(transpose(ds), queries));
        add_rows(g.dv, b, kv_head, 0, weighted_sum(transpose(p), d_rows));
      }
  });
  return g;
}

Array paged_attention(const Array& q, const Array& k_pages, const Array& v_pages, const Array& lengths,
                      const Array& page_table, const AttentionOptions& options) {
  assert(q.rank() == 3 && k_pages.rank() == 4 && v_pages.shape == k_pages.shape && page_table.rank() == 2);
  const int64_t heads = q.dim(1), kv_heads = k_pages.dim(0), page_size = k_pages.dim(2), dim = q.dim(2);
  Array result(q.shape);
  for (int64_t b = 0; b < q.dim(0); ++b) {
    // Gather the sequence's keys and values, then attend to them as usual.
    const auto length = static_cast<int64_t>(lengths(b));
    Array query({1, heads, 1, dim}), k({1, kv_heads, length, dim}), v({1, kv_heads, length, dim});
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t c = 0; c < dim; ++c) query(0, h, 0, c) = q(b, h, c);
    for (int64_t h = 0; h < kv_heads; ++h)
      for (int64_t t = 0; t < length; ++t)
        for (int64_t c = 0; c < dim; ++c) {
          const auto page = static_cast<int64_t>(page_table(b, t / page_size));
          k(0, h, t, c) = k_pages(h, page, t % page_size, c);
          v(0, h, t, c) = v_pages(h, page, t % page_size, c);
        }
    const Array out = attention(query, k, v, {.scale = options.scale, .soft_cap = options.soft_cap}).out;
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t c = 0; c < dim; ++c) result(b, h, c) = out(0, h, 0, c);
  }
  return result;
}

}  // namespace tilecheck::reference
