"""Configuration texts for tests."""

from muster.framework.config import ConfigurationError, KubeSchedulerConfiguration, load

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SOURCE = "config.yaml"


def configuration(body: str = "") -> KubeSchedulerConfiguration:
    """The configuration of a file that holds `body` after apiVersion and kind; `body` starts on line 3."""
    return load(HEAD + body, SOURCE)


def faults(body: str) -> list[str]:
    """The texts of everything that is wrong with such a file, nothing for a good one."""
    try:
        configuration(body)
    except ConfigurationError as error:
        return [problem.text for problem in error.errors]
    return []


def with_args(plugin: str, args: str) -> str:
    """The body of a file with `args`, in YAML's flow style, for `plugin`."""
    return f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]"


ARGS_PATH = "profiles[0].pluginConfig[0].args"
