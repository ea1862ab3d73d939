// Index maps of payloads: transform functions and affine maps.
#pragma once

#include <memory>

#include "sim/mosaic/ir.h"
#include "sim/mosaic/program.h"
#include "sim/spec/index_map.h"

namespace tilecheck::mosaic {

// What a transform function's results depend on, with the foldings the TPU compiler makes (i * 0, i - i, i % 1).
Dependence dependence_of(const Module& module, const Function& transform, int grid_rank);

// `owner` keeps module and program alive as long as the map. grid: the extents, which a map may ask for.
IndexMap index_map(std::shared_ptr<const void> owner, std::shared_ptr<const Program> program, const Module& module,
                   const Function& transform, const Dims& grid);
IndexMap index_map(std::shared_ptr<const void> owner, const AffineMap& map);

}  // namespace tilecheck::mosaic
