#include "sim/mosaic/op_attrs.h"

#include <array>
#include <utility>

#include "sim/mosaic/text.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

// Each dimension of an operand is named exactly once by its three lists.
bool cover(int rank, std::initializer_list<const Dims*> lists) {
  Dims seen = Dims::filled(rank, 0);
  int named = 0;
  for (const Dims* list : lists)
    for (int64_t d : *list) {
      if (d < 0 || d >= rank || seen[static_cast<int>(d)]++ != 0) return false;
      ++named;
    }
  return named == rank;
}

template <typename T, size_t N>
std::optional<T> lookup(const std::array<std::pair<std::string_view, T>, N>& table, std::string_view name) {
  for (const auto& [text, value] : table)
    if (text == name) return value;
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::vector<int64_t>>> integer_lists(std::string_view text) {
  std::vector<std::vector<int64_t>> lists;
  TextCursor at(text, "integer lists");
  do {
    if (!at.eat("[")) return std::nullopt;
    std::vector<int64_t>& list = lists.emplace_back();
    if (at.eat("]")) continue;
    do {
      const std::optional<int64_t> value = at.integer();
      if (!value) return std::nullopt;
      list.push_back(*value);
    } while (at.eat(","));
    if (!at.eat("]")) return std::nullopt;
  } while (at.eat(","));
  if (!at.done()) return std::nullopt;
  return lists;
}

std::optional<DotDims> dot_dims(const Op& op, int lhs_rank, int rhs_rank) {
  DotDims out;
  if (const Attr* attr = op.find(AttrName::dimension_numbers)) {
    if (attr->kind != AttrKind::dialect || attr->mnemonic != "tpu.dot_dimension_numbers") return std::nullopt;
    const auto lists = integer_lists(attr->body);
    if (!lists || lists->size() != 7) return std::nullopt;
    for (const std::vector<int64_t>& list : *lists)
      if (list.size() > kMaxRank) return std::nullopt;
    const std::array<Dims*, 7> into{&out.lhs_contract, &out.rhs_contract, &out.lhs_keep, &out.rhs_keep,
                                    &out.out_order,    &out.lhs_batch,    &out.rhs_batch};
    for (size_t i = 0; i < into.size(); ++i) *into[i] = Dims((*lists)[i]);
  } else {
    if (lhs_rank != 2 || rhs_rank != 2) return std::nullopt;
    const bool lhs_transposed = op.bool_or(AttrName::transpose_lhs, false);
    const bool rhs_transposed = op.bool_or(AttrName::transpose_rhs, false);
    out.lhs_contract = {lhs_transposed ? 0 : 1};
    out.lhs_keep = {lhs_transposed ? 1 : 0};
    out.rhs_contract = {rhs_transposed ? 1 : 0};
    out.rhs_keep = {rhs_transposed ? 0 : 1};
  }
  if (!cover(lhs_rank, {&out.lhs_contract, &out.lhs_keep, &out.lhs_batch})) return std::nullopt;
  if (!cover(rhs_rank, {&out.rhs_contract, &out.rhs_keep, &out.rhs_batch})) return std::nullopt;
  if (out.lhs_contract.rank() != out.rhs_contract.rank() || out.lhs_batch.rank() != out.rhs_batch.rank())
    return std::nullopt;
  // out_order names each kept and each batch dimension once, a batch dimension by its lhs number.
  if (!out.out_order.empty()) {
    if (out.out_order.rank() % 2 != 0) return std::nullopt;
    Dims lhs, rhs;
    for (int i = 0; i < out.out_order.rank(); i += 2) {
      if (out.out_order[i] != 0 && out.out_order[i] != 1) return std::nullopt;
      (out.out_order[i] == 0 ? lhs : rhs).push_back(out.out_order[i + 1]);
    }
    if (!cover(lhs_rank, {&lhs, &out.lhs_contract})) return std::nullopt;
    if (!cover(rhs_rank, {&rhs, &out.rhs_contract, &out.rhs_batch})) return std::nullopt;
  }
  return out;
}

std::optional<Precision> precision(const Op& op) {
  const Attr* attr = op.find(AttrName::precision);
  if (!attr) return Precision::default_;
  static constexpr std::array<std::pair<std::string_view, Precision>, 3> kNames{
      {{"bf16", Precision::bf16}, {"bf16x3", Precision::bf16x3}, {"fp32", Precision::highest}}};
  return lookup(kNames, attr->body);
}

std::optional<ReductionKind> reduction_kind(const Op& op) {
  using K = ReductionKind;
  static constexpr std::array<std::pair<std::string_view, K>, 19> kNames{{{"add", K::add},
                                                                          {"mul", K::mul},
                                                                          {"maximumf", K::maximumf},
                                                                          {"minimumf", K::minimumf},
                                                                          {"maxnumf", K::maxnumf},
                                                                          {"minnumf", K::minnumf},
                                                                          {"maxsi", K::maxsi},
                                                                          {"minsi", K::minsi},
                                                                          {"maxui", K::maxui},
                                                                          {"minui", K::minui},
                                                                          {"and", K::and_},
                                                                          {"or", K::or_},
                                                                          {"xor", K::xor_},
                                                                          {"arg_max", K::arg_max},
                                                                          {"arg_min", K::arg_min},
                                                                          {"find_first_set", K::find_first_set},
                                                                          {"sum", K::add},
                                                                          {"max", K::maximumf},
                                                                          {"min", K::minimumf}}};
  return lookup(kNames, op.enum_body(AttrName::kind));
}

std::optional<ElementWindow> element_window(const Attr& attr) {
  if (attr.kind != AttrKind::dialect || attr.mnemonic != "tpu.element_window") return std::nullopt;
  auto lists = integer_lists(attr.body);
  if (!lists || lists->size() != 2) return std::nullopt;
  return ElementWindow{std::move((*lists)[0]), std::move((*lists)[1])};
}

}  // namespace tilecheck::mosaic
