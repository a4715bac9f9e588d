"""The workloads that are measured, one or more of each test case of scheduler_perf, and those that cannot be.

Many test cases have a workload of 5,000 nodes with a thousand pods or two to measure, which two cores bear: it is
measured as it is, since what a scheduler costs grows with the nodes. Others have a small workload, which is measured as
it is, too. Of the rest, made for large machines alone, the workload here is measured with fewer objects, all test cases
by the same factor.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from bench.scheduler_perf.configuration import Workload, find, scaled

FACTOR = Fraction(1, 5)
"""So much of the objects of `SCALED` there are."""

AS_THEY_ARE: Sequence[str] = (
    "SchedulingBasic/5000Nodes",
    "SchedulingWithMixedChurn/1000Nodes",
    "SchedulingDeletedPodsWithFinalizers/1000Node_1000DeletingPods",
    "SchedulingWithExtendedResource/500pods_500nodes_DRAExtendedResourceEnabled",
    "SchedulingPodAntiAffinity/5000Nodes",
    "SchedulingPodMatchingAntiAffinity/500Nodes",
    "SchedulingPodAffinity/5000Nodes",
    "SchedulingPreferredPodAffinity/5000Nodes",
    "SchedulingPreferredPodAntiAffinity/5000Nodes",
    "SchedulingNodeAffinity/5000Nodes",
    "MixedSchedulingBasePod/5000Nodes",
    "TopologySpreading/5000Nodes",
    "PreferredTopologySpreading/5000Nodes",
    "DefaultTopologySpreading/500Nodes",
    "SchedulingWithNodeInclusionPolicy/500Nodes",
    "SchedulingSecrets/5000Nodes",
    "SchedulingInTreePVs/500Nodes",
    "SchedulingMigratedInTreePVs/500Nodes",
    "SchedulingCSIPVs/500Nodes",
    "PreemptionAsync/500Nodes",
    "Unschedulable/500Nodes/10Init/1kPods",
    "EventHandlingPodDelete/50Nodes_500Pods",
    "EventHandlingPodUpdate/1Node_1000Pods",
    "EventHandlingNodeAdd/100Nodes_1000Pods",
    "EventHandlingPodAdd/1000Pods",
    "EventHandlingNodeUpdate/100Nodes_1000Pods",
    "GangPreemptionBasic/100Nodes_1PreemptorGang_100Pods_Evicting_1000InitPods",
    "GangPreemptionBasic/100Nodes_10PreemptorGangs_10Pods_Evicting_1000InitPods",
    "GangPreemptionPodGroups/100Nodes_10PreemptorGangs_10Pods_Evicting_50LowPriorityGangs",
    "GangPreemptionAffinity/100Nodes_10PreemptorGangs_10Pods_Evicting_1000InitPods",
    "SchedulingWithResourceClaimTemplate/2000pods_200nodes",
    "SchedulingWithResourceClaimTemplate/half_100nodes",
    "SchedulingWithResourceClaimTemplate/full_100nodes",
    "SchedulingWithResourceClaimTemplate/selector_empty_500nodes",
    "SchedulingWithResourceClaimTemplate/match_empty_500nodes",
    "SchedulingWithResourceClaim/2000pods_200nodes",
    "DeviceTaintToleration/fast",
    "FirstAvailable/fast",
    "ExtendedResource/Explicit_25classes_2000pods_200nodes",
    "ExtendedResource/Implicit_25classes_2000pods_200nodes",
    "Partitionable/half_100nodes",
    "PartitionableBacktracking/half_100nodes",
    "ConsumableCapacity/half_100nodes",
    "SharedPodGroupResourceClaim/1podgroup_1000pods",
    "SharedPodGroupResourceClaimTemplate/1podgroup_1000pods",
)
"""Measured in their published size."""

SCALED: Sequence[str] = (
    "SchedulingDaemonset/15000Nodes",
    "SchedulingWhileGated/1Node_10000GatedPods",
    "SchedulingRequiredPodAntiAffinityWithNSSelector/5000Nodes_2000Pods",
    "SchedulingPreferredAntiAffinityWithNSSelector/5000Nodes_2000Pods",
    "SchedulingRequiredPodAffinityWithNSSelector/5000Nodes_2000Pods",
    "SchedulingPreferredAffinityWithNSSelector/5000Nodes_5000Pods",
    "SchedulingGatedPodsWithPodAffinityImpactForThroughput/1Node_10000GatedPods",
    "PreemptionPVs/1000Nodes",
    "PreemptionBasic/1000Nodes",
    "PreemptionPodGroupDisruptionMode/1000Nodes_1000Candidates_NoPodGroup",
    "PreemptionPodGroupDisruptionMode/1000Nodes_1000Candidates_DisruptionSingle",
    "PreemptionPodGroupDisruptionMode/1000Nodes_1000Candidates_DisruptionAll",
    "HostPortConflict/20000Nodes_20000Pods_1000BatchSize",
    "ResourceSaturation/20000Nodes_20000Pods_1000BatchSize",
    "StarvationIndependent/10000Nodes_10000Cloggers",
    "StarvationPodGroup/10000Nodes_10000Cloggers_Podgroup",
    "BasicScheduling/5000Nodes_1000Groups_3000Pods",
    "GangScheduling/5000Nodes_1000Gangs_3000Pods",
    "GangScheduling/5000Nodes_3Gangs_3000Pods_1000PerGroup",
    "TopologyAwareScheduling/5000Nodes_750Gangs_3000Pods",
    "TopologyAwareScheduling/5000Nodes_3Gangs_3000Pods_1000PerGroup",
    "ExtendedResourceScoring/5000pods_500nodes",
)
"""Measured with `FACTOR` of their objects."""

LEFT_OUT: Mapping[str, str] = {
    "PublishResourceSlices": "it makes no pods: what it measures is read inside the process of kube-scheduler",
    "NodeDeclaredFeaturesEnabled": "it replaces the features of nodes that kube-scheduler is compiled with",
    "CompatibilityGroups": "Muster leaves out devices with compatibility groups, as kube-scheduler does by default",
    "SchedulingWithResourceClaimTemplateListAttributes": (
        "Muster compares no attributes that are lists, as kube-scheduler does by default"
    ),
}
"""Test cases of which no workload can be measured with both sides, and why."""


def chosen(workloads: Sequence[Workload], titles: Sequence[str], factor: Fraction) -> list[Workload]:
    """The workloads of these titles, those of `SCALED` with so much of their objects. Raises `UnknownWorkloadError`."""
    found = [find(workloads, title) for title in titles]
    return [scaled(each, factor) if each.title in SCALED else each for each in found]
