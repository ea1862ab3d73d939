// The block pipeline: runs a core's part of the grid, moving window blocks as the TPU's pipeline does (machine-rules
// 1-9).
#pragma once

#include "sim/machine/state.h"
#include "sim/spec/plan.h"

namespace tilecheck {

// Called after each step; false cancels the run.
using StepHook = std::function<bool()>;

// Runs `part` of the grid on the core of `state`. Findings go to state.findings; throws StopRun after one that stops
// the run. through_engine: window copies are copies of the sync engine, with its clocks and races; else, where nothing
// else can touch the arrays and slots, they move at once, which no schedule could tell apart, until the body starts a
// copy of its own.
void run_part(MachineState& state, const Body& body, const GridPart& part, bool through_engine,
              const StepHook& after_step);

}  // namespace tilecheck
