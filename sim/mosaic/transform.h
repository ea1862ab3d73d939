// Index maps of payloads: transform functions and affine maps.
#pragma once

#include <memory>
#include <vector>

#include "sim/mosaic/ir.h"
#include "sim/mosaic/program.h"
#include "sim/spec/index_map.h"

namespace tilecheck::mosaic {

// What each result of a transform function depends on, with the foldings the TPU compiler makes (i * 0, i - i, i % 1).
std::vector<Dependence> dependences_of(const Function& transform, int grid_rank);

// The map written out, for IndexMap::expression; null where it holds what an IndexExpr does not say.
std::shared_ptr<const IndexExpr> expression_of(const Function& transform, int grid_rank);
std::shared_ptr<const IndexExpr> expression_of(const AffineMap& map);

// Index maps are evaluated without a core: throws Incomplete naming an operation on vectors, or one that does more than
// compute and load scalars.
void require_scalar_operations(const Module& module, const Function& transform);

// `owner` keeps module and program alive as long as the map. grid: the extents, which a map may ask for.
IndexMap index_map(std::shared_ptr<const void> owner, std::shared_ptr<const Program> program, const Function& transform,
                   const Dims& grid);
IndexMap index_map(std::shared_ptr<const void> owner, const AffineMap& map);

}  // namespace tilecheck::mosaic
