# SPDX-License-Identifier: MIT
"""Gap, collective, cross-rank and call analyses through the Python names, compared with worked examples."""

from dataclasses import asdict

import records
import tap
from stormlog import GapFinding, MemoryAnalyzer, MemorySnapshot, ProfileResult
from stormlog.collective_attribution import attribute_collective_memory, resolve_collective_attribution_config
from stormlog.distributed_analysis import analyze_cross_rank_events, summarize_cross_rank_analysis
from stormlog.gap_analysis import analyze_hidden_memory_gaps

MIB = 1024 ** 2


def by_class(findings):
    return {finding.classification: finding for finding in findings}


@tap.test("gap: growing hidden memory is a drift with its slope")
def _():
    events = [records.sample(i, 3.0e9 + i * 1e8, 2.5e9) for i in range(30)]
    drift = by_class(MemoryAnalyzer().analyze_memory_gaps(events))["persistent_drift"]
    tap.true(isinstance(drift, GapFinding), "a GapFinding")
    tap.equal((drift.severity, drift.confidence, drift.evidence["slope_bytes_per_sec"]), ("critical", 1.0, 1e9), "drift")
    tap.contains(drift.description, "953.67")
    tap.equal(len(drift.remediation), 3, "tips")


@tap.test("gap: two outliers are a spike, judged by the sample standard deviation")
def _():
    events = [records.sample(i, 2.5e9 + (4e9 if i in (10, 20) else 1e8), 2.5e9) for i in range(30)]
    spike = by_class(analyze_hidden_memory_gaps(events))["transient_spike"]
    tap.equal((spike.severity, spike.confidence), ("warning", 0.613), "judgement")
    tap.equal(spike.evidence, {"spike_count": 2, "max_gap_bytes": 4000000000, "max_zscore": 3.679,
                               "mean_gap_bytes": 360000000.0, "std_gap_bytes": 989461713.6}, "evidence")


@tap.test("gap: fragmentation follows its threshold; too few events or no gap give no finding")
def _():
    events = [records.sample(i, 3e9 + i * 5e7 + 1.5e9, 3e9 + i * 5e7, 1e9) for i in range(20)]
    found = by_class(analyze_hidden_memory_gaps(events))["fragmentation_like"]
    tap.equal((found.severity, found.confidence, found.evidence["avg_fragmentation_ratio"],
               found.evidence["max_fragmentation_ratio"]), ("critical", 1.0, 0.7102, 0.7468), "fragmentation")
    tap.equal("fragmentation_like" in by_class(analyze_hidden_memory_gaps(events, {"gap_fragmentation_ratio": 0.8})),
              False, "a higher threshold")
    tap.equal(analyze_hidden_memory_gaps(events[:2]), [], "two events")
    tap.equal(analyze_hidden_memory_gaps([records.sample(i, 2.5e9, 2.5e9) for i in range(9)]), [], "no gap")
    tap.equal(analyze_hidden_memory_gaps([]), [], "nothing")


def collective_events(world, markers=True, spiking=None, total=records.TOTAL):
    made = []
    for rank in range(world):
        for i in range(12):
            is_spike = i == 6 and (spiking is None or rank in spiking)
            at = records.BASE_NS + i * records.STEP_NS + rank * 2_000_000
            made.append(records.event(timestamp_ns=at, rank=rank, world_size=world, allocator_reserved_bytes=2 * 10 ** 9,
                                      allocator_allocated_bytes=2 * 10 ** 9, device_total_bytes=total,
                                      device_used_bytes=2 * 10 ** 9 + (1_600_000_000 if is_spike else 40_000_000)))
            if is_spike and markers:
                made.append(records.event(timestamp_ns=at + 10_000_000, rank=rank, world_size=world, event_type="marker",
                                          context="NCCL all-reduce", device_total_bytes=total))
    return made


@tap.test("collective: worked examples give the expected figures")
def _():
    results = attribute_collective_memory(collective_events(4))
    tap.equal([result.rank for result in results], [0, 1, 2, 3], "ranks")
    first = results[0]
    tap.equal((first.classification, first.confidence), ("collective_confident", 1.0), "judgement")
    tap.equal((first.interval_start_ns, first.interval_end_ns), (1700000000480000000, 1700000000730000000), "interval")
    tap.equal((first.evidence["robust_zscore"], first.evidence["peak_gap_ratio"]), (3.1754, 0.093132), "evidence")
    tap.equal(first.reason_codes, sorted(first.reason_codes), "sorted reasons")
    tap.equal([(r.classification, r.confidence) for r in attribute_collective_memory(collective_events(4, False))],
              [("collective_suspect", 0.51)] * 4, "without markers")
    alone = attribute_collective_memory(collective_events(1))
    tap.equal((alone[0].confidence, "single_rank_only" in alone[0].reason_codes), (0.51, True), "one rank")
    tap.equal(attribute_collective_memory(collective_events(2, False, spiking=[0])), [], "one of two, no marker")
    tap.equal(attribute_collective_memory(collective_events(3, total=None))[0].confidence, 0.95, "total unknown")


@tap.test("collective: presets and overrides are applied, and wrong ones refused")
def _():
    config = resolve_collective_attribution_config(" HIGH ", {"min_gap_bytes": 5})
    tap.equal((config.preset, config.min_samples_per_rank, config.min_gap_bytes), ("high", 5, 5), "config")
    tap.equal(len(attribute_collective_memory(collective_events(4), config=config)), 4, "a config is taken")
    for call, part in ((lambda: resolve_collective_attribution_config("none"), "none"),
                       (lambda: resolve_collective_attribution_config("low", {"x": 1}),
                        "Unknown collective attribution override"),
                       (lambda: resolve_collective_attribution_config("low", {"preset": 1}),
                        "Unknown collective attribution override"),
                       (lambda: resolve_collective_attribution_config("low", {"min_samples_per_rank": 2}),
                        "min_samples_per_rank"),
                       (lambda: MemoryAnalyzer(collective_sensitivity="?"), "?")):
        try:
            call()
        except ValueError as error:
            tap.contains(str(error), part)
        else:
            raise AssertionError(f"expected a ValueError about {part}")


def rank_events():
    values = {0: [1, 1, 1, 1.34], 1: [1, 1, 1, 1.30], 2: [1, 1, 1.38, 1.40], 3: [1, 1, 1, 1.28]}
    offsets = {0: 0, 1: 20, 2: 40, 3: 10}
    return [records.event(timestamp_ns=records.BASE_NS + offsets[rank] * 1_000_000 + i * records.STEP_NS, rank=rank,
                          world_size=4, device_used_bytes=int(value * records.GIB), device_total_bytes=records.TOTAL)
            for rank, row in values.items() for i, value in enumerate(row)]


@tap.test("ranks: the rank that grew first is named")
def _():
    merged, cause = analyze_cross_rank_events(rank_events())
    tap.equal((merged.world_size, merged.participating_ranks, merged.missing_ranks), (4, [0, 1, 2, 3], []), "ranks")
    tap.equal(merged.alignment_offsets_ns, {0: 0, 1: 20000000, 2: 40000000, 3: 10000000}, "offsets")
    tap.equal(cause.cluster_onset_timestamp_ns, records.BASE_NS + 300000000, "onset")
    top = cause.suspects[0]
    tap.equal((top.rank, top.confidence, top.lead_over_cluster_onset_ns, top.peak_delta_bytes),
              (2, "high", 100000000, 408021893), "top suspect")
    tap.equal([(s.rank, s.confidence) for s in cause.suspects[1:]], [(0, "low"), (1, "low"), (3, "low")], "the others")
    tap.equal(top.evidence["device_used_delta_bytes"], 408021893, "evidence")


@tap.test("ranks: the summary can be written as JSON, and notes name what was skipped")
def _():
    summary = summarize_cross_rank_analysis(rank_events() + [records.event(event_type="peak")])
    tap.equal(summary["rank_sample_counts"], {"0": 4, "1": 4, "2": 4, "3": 4}, "counts")
    tap.equal(summary["notes"], ["Ignored non-sample events during cross-rank analysis."], "notes")
    alone = summarize_cross_rank_analysis([records.event()])
    tap.true(any(note.startswith("At least two ranks are required") for note in alone["notes"]), "one rank")
    merged, cause = analyze_cross_rank_events([])
    tap.equal((merged.world_size, merged.merged_points, cause.suspects), (0, [], []), "nothing")


# --- measured calls ----------------------------------------------------------------------------------------------


def snapshot(time, allocated, reserved=None):
    return MemorySnapshot(time, allocated, allocated if reserved is None else reserved, 0, 0, 0, 0, 0)


def call(name="f", seconds=1.0, before=0, after=0, peak=None, at=0.0, reserved=None):
    change = after - before
    return ProfileResult(name, seconds, snapshot(at, before), snapshot(at + seconds, after, reserved),
                         snapshot(at, after if peak is None else peak), max(0, change), max(0, -change), 0, 0)


@tap.test("calls: growth in every call is a leak, with metrics and tips")
def _():
    results = [call(before=i * 50 * MIB, after=(i + 1) * 50 * MIB, at=float(i)) for i in range(4)]
    found = {p.pattern_type: p for p in MemoryAnalyzer().analyze_memory_patterns(results)}
    leak = found["memory_leak"]
    tap.equal((leak.severity, leak.affected_functions, leak.metrics["total_memory_growth"], leak.metrics["call_count"]),
              ("warning", ["f"], 200 * MIB, 4), "leak")
    tap.equal(len(leak.suggestions), 4, "tips")


@tap.test("calls: fragmentation, spikes and repeated allocations are found")
def _():
    broken = [call(after=10 * MIB, reserved=40 * MIB) for _ in range(2)]
    fragmented = MemoryAnalyzer().analyze_memory_patterns(broken)[0]
    tap.equal((fragmented.pattern_type, len(fragmented.suggestions)), ("fragmentation", 4), "0.75 unused")
    tap.contains("\n".join(fragmented.suggestions), "'stormlog whatif'", "no setting is recommended without proof")
    spiky = [call(after=MIB) for _ in range(10)] + [call(after=100 * MIB)]
    found = {p.pattern_type: p for p in MemoryAnalyzer().analyze_memory_patterns(spiky)}
    tap.equal((found["memory_spikes"].metrics["spike_count"], found["memory_spikes"].severity), (1, "warning"), "spike")
    tap.equal(found["repeated_allocations"].severity, "info", "eleven small calls")


@tap.test("calls: a slow function is an insight, unless it has fewer calls than the threshold")
def _():
    slow = [call("slow", seconds=9.0) for _ in range(3)]
    slow += [call(f"quick{i}", seconds=0.1) for i in range(4) for _ in range(3)]
    analyzer = MemoryAnalyzer()
    found = analyzer.generate_performance_insights(slow)[0]
    tap.equal((found.category, found.data["slowest_function"], found.confidence, len(found.recommendations)),
              ("execution_time", "slow", 0.8, 4), "slow function")
    analyzer.thresholds["min_calls_for_analysis"] = 4
    tap.equal(analyzer.generate_performance_insights(slow), [], "with a higher minimum")


@tap.test("the report always has its fixed keys, and the others only with events or several ranks")
def _():
    analyzer = MemoryAnalyzer()
    base = {"summary", "critical_issues", "high_impact_insights", "all_patterns", "all_insights", "recommendations",
            "optimization_score"}
    empty = analyzer.generate_optimization_report()
    tap.equal(set(empty), base, "no events")
    tap.equal(empty["optimization_score"]["grade"], "A", "nothing found")
    tap.equal(empty["summary"]["analysis_timestamp"], None, "timestamp")
    tap.equal(set(analyzer.generate_optimization_report(events=[])), base | {"gap_analysis", "collective_attribution"},
              "an empty list of events")
    several = analyzer.generate_optimization_report(events=rank_events())
    tap.equal(several["cross_rank_analysis"]["first_cause_suspects"][0]["rank"], 2, "several ranks")
    leaky = analyzer.generate_optimization_report([call(before=i * 2 ** 29, after=(i + 1) * 2 ** 29) for i in range(4)])
    tap.equal((leaky["critical_issues"][0]["pattern_type"], leaky["recommendations"][0]["priority"]),
              ("memory_leak", "high"), "critical first")
    tap.equal(leaky["optimization_score"]["score"] <= 80, True, "score")


@tap.test("results are dataclasses")
def _():
    result = call(before=5, after=3, peak=9)
    tap.equal((result.memory_diff(), result.peak_memory_usage(), result.memory_freed), (-2, 9, 2), "numbers")
    tap.equal(set(result.to_dict()) - set(asdict(result)), {"memory_diff", "peak_memory_usage"}, "added keys")


tap.main()
