"""What many kernels came to, in a few lines."""


def lines(kernels, unused_suppressions, place="in {}"):
    """kernels: pairs of where a kernel ran (a test; None: nowhere in particular) and its KernelReport."""

    def where(test):
        return " " + place.format(test) if test else ""

    reports = [kernel for _, kernel in kernels]
    yield (f"{len(reports)} kernels, {sum(k.calls for k in reports)} calls, "
           f"{sum(k.seconds for k in reports):.2f} s in the simulator")
    kinds = {}
    for test, kernel in kernels:
        for finding in kernel.findings:
            kinds.setdefault((finding["severity"], finding["kind"]), []).append(test or kernel.name)
    for (severity, kind), places in sorted(kinds.items()):
        unit = "tests" if kernels[0][0] else "kernels"
        yield f"{severity} {kind}: {len(places)} in {len(set(places))} {unit}, first {places[0]}"
    if kernels:
        test, slowest = max(kernels, key=lambda k: k[1].seconds)
        yield f"slowest: {slowest.name}, {slowest.seconds:.2f} s{where(test)}"
    sized = [k for k in reports if k.fit and k.fit["limit_bytes"]]
    if sized:
        nearest = max(sized, key=lambda k: k.fit["need_bytes"] / k.fit["limit_bytes"])
        share = 100 * nearest.fit["need_bytes"] / nearest.fit["limit_bytes"]
        yield f"nearest to its VMEM limit: {nearest.name}, {share:.0f}% of {nearest.fit['limit_bytes']} bytes"
    for unused in unused_suppressions:
        yield f"{unused['file']}:{unused['line']}: suppression of {', '.join(unused['kinds'])} was not needed"
