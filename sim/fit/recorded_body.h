// A Body from what recording runs saw.
#pragma once

#include "sim/fit/recorder.h"

namespace tilecheck::fit {

Body recorded_body(const KernelSpec& spec, const RecordingRun& run, const Recorder& recorder);

}  // namespace tilecheck::fit
