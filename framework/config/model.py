"""KubeSchedulerConfiguration v1 as kube-scheduler 1.37 defines it: every field, its type and its default.

`load` makes instances; the operator reads leader election, client and backoff settings off them, and `resolve` turns
the profiles into the plugins to run. JSON dumps (`model_dump(mode="json", by_alias=True)`) can be loaded again.
"""

from typing import Annotated, Any, Final

from pydantic import Field, ValidationInfo, field_validator
from pydantic.alias_generators import to_snake

from muster.framework.config.args.table import API_VERSION, known_args
from muster.framework.config.extenders import ExtenderConfig
from muster.framework.config.fields import Bool, ConfigModel, Int32, Int64, Number, Seconds, Text, unless_zero

KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"


class LeaderElectionConfiguration(ConfigModel):
    """How replicas agree on the one that schedules. Durations are seconds."""

    leader_elect: Bool = True
    lease_duration: Annotated[Seconds, unless_zero(15.0)] = 15.0
    renew_deadline: Annotated[Seconds, unless_zero(10.0)] = 10.0
    retry_period: Annotated[Seconds, unless_zero(2.0)] = 2.0
    resource_lock: Annotated[Text, unless_zero("leases")] = "leases"
    resource_name: Annotated[Text, unless_zero("kube-scheduler")] = "kube-scheduler"
    resource_namespace: Annotated[Text, unless_zero("kube-system")] = "kube-system"


class ClientConnectionConfiguration(ConfigModel):
    """How to reach the API server.

    `qps` (requests per second) and `burst` are None when absent or 0. kube-scheduler then takes 50 and 100; Muster sets
    no limit of its own. A negative `qps` means no limit in both.
    """

    kubeconfig: Text = ""
    accept_content_types: Text = ""
    content_type: Annotated[Text, unless_zero("application/vnd.kubernetes.protobuf")] = (
        "application/vnd.kubernetes.protobuf"
    )
    qps: Annotated[Number | None, unless_zero(None)] = None
    burst: Annotated[Int32 | None, unless_zero(None)] = None


class PluginReference(ConfigModel):
    """A plugin by name. `weight` counts where plugins score; 0 and None stand for 1 there."""

    name: Text = ""
    weight: Int32 | None = None


class PluginSet(ConfigModel):
    """Plugins to add to the defaults of an extension point, and defaults to leave out (`*`: all of them)."""

    enabled: tuple[PluginReference, ...] = ()
    disabled: tuple[PluginReference, ...] = ()


class Plugins(ConfigModel):
    """A plugin set for each extension point, and `multi_point` for every point that a plugin extends."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """The set of an extension point, by the point's name in YAML."""
        plugins: PluginSet = getattr(self, to_snake(point))
        return plugins


class PluginConfig(ConfigModel):
    """Arguments of a plugin: a model for the plugins in ARGS_MODELS, plain values for any other."""

    name: Text = ""
    args: Any = Field(default=None, validate_default=True)

    @field_validator("args", mode="before")
    @classmethod
    def _as_model(cls, value: Any, info: ValidationInfo) -> Any:
        return known_args(info.data.get("name", ""), value, info.context)


class KubeSchedulerProfile(ConfigModel):
    """A scheduler name and the plugins that schedule the pods with this name.

    `percentage_of_nodes_to_score` goes before the configuration's own; see there.
    """

    scheduler_name: Text | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class KubeSchedulerConfiguration(ConfigModel):
    """A whole configuration.

    `percentage_of_nodes_to_score`: kube-scheduler scores 5 to 50 percent of the nodes when it is 0 or absent. In Muster
    0 means the same, and None, for absent, means all nodes.
    """

    api_version: Text = API_VERSION
    kind: Text = KIND
    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: Bool = True
    enable_contention_profiling: Bool = Field(default=None, validate_default=True)
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = Field(default=(), validate_default=True)
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: Bool = False

    @field_validator("enable_contention_profiling", mode="before")
    @classmethod
    def _follow_profiling(cls, value: Any, info: ValidationInfo) -> Any:
        return info.data.get("enable_profiling", True) if value is None else value

    @field_validator("profiles", mode="after")
    @classmethod
    def _name_a_single_profile(cls, profiles: tuple[KubeSchedulerProfile, ...]) -> tuple[KubeSchedulerProfile, ...]:
        """There is always a profile, and only one that is alone gets a name by default."""
        if len(profiles) > 1:
            return profiles
        alone = profiles[0] if profiles else KubeSchedulerProfile()
        if alone.scheduler_name is not None:
            return profiles
        return (alone.model_copy(update={"scheduler_name": DEFAULT_SCHEDULER_NAME}),)

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """The `spec.schedulerName` values to listen to, in the order of the profiles."""
        return tuple(profile.scheduler_name or "" for profile in self.profiles)

    @property
    def ordered_extenders(self) -> tuple[ExtenderConfig, ...]:
        """The extenders in the order of calling: those that may fail come last."""
        return tuple(sorted(self.extenders, key=lambda extender: extender.ignorable))
