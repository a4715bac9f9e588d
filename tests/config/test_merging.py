"""Which plugins run at which point, in which order, with which weights."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.config import POINTS, ConfigurationError, PluginReference, Plugins, PluginSet, ResolvedProfile
from muster.framework.config.merge import merge_plugins, plugins_at
from tests.config.catalog import DEFAULTS, EXTENDS, names, resolved, weights

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "data" / "merged.jsonl").read_text().splitlines()]


def profile(plugins: str) -> ResolvedProfile:
    """The profile with `plugins`, in YAML's flow style."""
    return resolved(f"profiles: [{{schedulerName: s, plugins: {{{plugins}}}}}]")[0]


def listed(profile: ResolvedProfile) -> dict[str, str]:
    """The points that have plugins, in the form of the recorded file: names, with weights where they count."""
    rows = {
        point: " ".join(f"{plugin.name}:{plugin.weight}" if plugin.weight else plugin.name for plugin in plugins)
        for point, plugins in profile.points.items()
    }
    return {point: row for point, row in rows.items() if row}


@pytest.mark.parametrize("record", [record for record in RECORDED if "points" in record])
def test_profiles_resolve_as_kube_scheduler_1_37_1_was_seen_to_resolve_them(record: dict[str, object]) -> None:
    assert listed(profile(json.dumps(record["plugins"])[1:-1])) == record["points"]


@pytest.mark.parametrize("record", [record for record in RECORDED if "error" in record])
def test_profiles_are_refused_as_kube_scheduler_1_37_1_was_seen_to_refuse_them(record: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        profile(json.dumps(record["plugins"])[1:-1])
    assert any(problem.text.endswith(record["error"]) for problem in caught.value.errors)


def test_without_plugins_the_defaults_run_at_every_point_they_extend() -> None:
    default = profile("")
    for point in POINTS:
        assert names(default, point) == [name for name, _ in DEFAULTS if point in EXTENDS[name]]
    assert weights(default)["TaintToleration"] == 3
    assert weights(default)["VolumeBinding"] == 1


def test_a_point_can_disable_a_default() -> None:
    changed = profile("filter: {disabled: [{name: NodePorts}]}")
    assert "NodePorts" not in names(changed, "filter")
    assert "NodePorts" in names(changed, "preFilter")


def test_a_point_that_disables_all_runs_its_own_entries_in_their_order() -> None:
    changed = profile(
        "score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: 9}, {name: ImageLocality}]}"
    )
    assert weights(changed) == {"NodeAffinity": 9, "ImageLocality": 1}


def test_multi_point_can_disable_a_default_everywhere() -> None:
    changed = profile("multiPoint: {disabled: [{name: NodeAffinity}]}")
    assert all("NodeAffinity" not in names(changed, point) for point in POINTS)


def test_multi_point_can_disable_all_defaults() -> None:
    wanted = "{name: PrioritySort}, {name: DefaultBinder}, {name: NodeName}"
    changed = profile(f"multiPoint: {{disabled: [{{name: '*'}}], enabled: [{wanted}]}}")
    assert listed(changed) == {
        "queueSort": "PrioritySort",
        "bind": "DefaultBinder",
        "preFilter": "NodeName",
        "filter": "NodeName",
    }


def test_an_enabled_entry_wins_over_a_disabled_one_of_the_same_list() -> None:
    changed = profile("multiPoint: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}")
    assert names(changed, "filter")[-1] == "NodeName"


def test_a_multi_point_entry_takes_the_place_of_its_default() -> None:
    changed = profile("multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}")
    assert names(changed, "score") == names(profile(""), "score")
    assert weights(changed)["NodeAffinity"] == 7


def test_a_multi_point_entry_without_weight_weighs_one_instead_of_the_default() -> None:
    assert weights(profile("multiPoint: {enabled: [{name: NodeAffinity}]}"))["NodeAffinity"] == 1


def test_an_entry_that_overrides_multi_point_goes_first() -> None:
    changed = profile("score: {enabled: [{name: ImageLocality, weight: 4}, {name: NodeAffinity}]}")
    default = names(profile(""), "score")
    rest = [name for name in default if name not in ("ImageLocality", "NodeAffinity")]
    assert names(changed, "score") == ["ImageLocality", "NodeAffinity", *rest]


def test_an_entry_that_multi_point_does_not_have_goes_last() -> None:
    changed = profile("multiPoint: {disabled: [{name: NodeName}]}, filter: {enabled: [{name: NodeName}]}")
    assert names(changed, "filter")[-1] == "NodeName"


def test_the_weight_of_a_point_wins_over_the_weight_of_multi_point() -> None:
    changed = profile(
        "score: {enabled: [{name: NodeAffinity, weight: 5}]}, multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}"
    )
    assert weights(changed)["NodeAffinity"] == 5


def test_an_entry_of_a_point_without_weight_weighs_one_whatever_multi_point_says() -> None:
    assert weights(profile("score: {enabled: [{name: NodeAffinity}]}"))["NodeAffinity"] == 1


def test_placements_are_scored_with_weights_of_their_own() -> None:
    changed = profile("placementScore: {enabled: [{name: NodeResourcesFit, weight: 6}]}")
    assert weights(changed, "placementScore") == {"NodeResourcesFit": 6}
    assert weights(changed)["NodeResourcesFit"] == 1


PLUGIN = st.builds(
    PluginReference,
    name=st.sampled_from(sorted(EXTENDS)),
    weight=st.one_of(st.none(), st.integers(min_value=0, max_value=9)),
)
DISABLED = st.lists(st.builds(PluginReference, name=st.sampled_from(["*", *sorted(EXTENDS)])), max_size=4).map(tuple)


@st.composite
def plugin_sets(draw: st.DrawFn, point: str | None = None) -> PluginSet:
    entries = draw(st.lists(PLUGIN, max_size=6, unique_by=lambda plugin: plugin.name))
    fitting = tuple(entry for entry in entries if point is None or point in EXTENDS[entry.name])
    return PluginSet(enabled=fitting, disabled=draw(DISABLED))


@given(point=st.sampled_from(sorted(POINTS)), data=st.data())
def test_any_merge_keeps_the_order_of_its_sources(point: str, data: st.DataObject) -> None:
    own, multi = data.draw(plugin_sets(point), label="own"), data.draw(plugin_sets(), label="multiPoint")
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in point)
    merged = merge_plugins(DEFAULTS, Plugins(**{snake: own, "multi_point": multi}))
    order = [plugin.name for plugin in merged.multi_point.enabled]
    result = [plugin.name for plugin in plugins_at(point, merged, EXTENDS)]
    mine = [plugin.name for plugin in own.enabled]
    disabled = {plugin.name for plugin in own.disabled}
    spread = [] if "*" in disabled else [name for name in order if point in EXTENDS[name] and name not in disabled]

    assert len(result) == len(set(result))
    assert set(result) == set(mine) | set(spread)
    assert [name for name in result if name not in mine] == [name for name in spread if name not in mine]
    overriding = [name for name in mine if name in spread]
    assert result[: len(overriding)] == overriding
    added = [name for name in mine if name not in spread]
    assert result[len(result) - len(added) :] == added


@given(multi=plugin_sets())
def test_merging_with_the_defaults_loses_no_entry_and_keeps_defaults_in_order(multi: PluginSet) -> None:
    merged = [plugin.name for plugin in merge_plugins(DEFAULTS, Plugins(multi_point=multi)).multi_point.enabled]
    disabled = {plugin.name for plugin in multi.disabled}
    kept = [] if "*" in disabled else [name for name, _ in DEFAULTS if name not in disabled]
    assert merged[: len(kept)] == kept
    assert set(merged) == {*kept, *(plugin.name for plugin in multi.enabled)}
    assert len(merged) == len(set(merged))
