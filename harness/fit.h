// Fit, compile-time rules and time of a subject on a target, as an outcome.
#pragma once

#include <optional>

#include "harness/outcome.h"
#include "harness/subject.h"

namespace tilecheck {

struct FitRequest {
  const Target* target = nullptr;
  std::optional<int64_t> vmem_limit_bytes;  // --vmem-limit; outranks the kernel's own
  bool share_hbm = false;                   // --share-hbm: copies in flight share HBM's bandwidth
  bool is_payload = false;                  // it has passed JAX's lowering: only libtpu's rules are asked
  bool target_is_assumed = false;           // nobody named it: what it would refuse to compile is a warning
  int timeline_steps = 64;                  // steps whose times are kept
  bool advise = true;                       // look for what could be better
};

// Adds fit, time and findings to `outcome`. spec: with a concrete grid where it is known.
// prefetch: scalar-prefetch values, where index maps read known ones.
void analyse_fit(const KernelSpec& spec, const fit::Body* facts, const FitRequest& request, Outcome& outcome,
                 const PrefetchReader* prefetch = nullptr);

// Evaluations of index maps that the counting of HBM bytes may take: some milliseconds.
inline constexpr int64_t kMaxFitEvaluations = 100'000;
// HBM bytes of a subject's windows from its plan, the same on every target.
struct SubjectTraffic {
  std::vector<WindowCounters> windows;  // none where it is unknown
  std::string unknown;                  // why: it takes too long to count, or depends on values that only a run has
};
SubjectTraffic subject_traffic(const Subject& subject);

// `tilecheck fit`: nothing is run. traffic: subject_traffic(subject), which several targets share; null: counted here.
Outcome fit_subject(const Subject& subject, const FitRequest& request, const SubjectTraffic* traffic = nullptr);

}  // namespace tilecheck
