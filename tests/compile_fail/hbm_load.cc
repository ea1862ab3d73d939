// Memory spaces in types: a vector access to HBM does not compile.
#include "sim/machine/core.h"

using namespace tilecheck;

void body(Core& core, const VmemRef& vmem, const HbmRef& hbm) {
  Tile tile = core.load(vmem);
  core.store(vmem, tile);
#if CASE == 1  // must not compile: deleted
  tile = core.load(hbm);
#elif CASE == 2  // must not compile: deleted
  core.store(hbm, tile);
#elif CASE == 3  // must not compile: initialization|conversion
  const VmemRef& wrong = hbm;
  core.load(wrong);
#endif
  (void)hbm;
}
