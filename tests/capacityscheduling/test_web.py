"""The page of quotas, before and after it is drawn, and when it is drawn anew."""

from typing import Any

import msgspec
import pytest

from muster.operator.podgroups.membership import GroupKinds
from muster.operator.web.change_log import ChangeLog, StateIndex
from muster.operator.web.cluster import ClusterState
from muster.operator.web.templating import Templates
from muster.operator.web.views.quotas import QuotaRow, quotas_page
from muster.plugins.capacityscheduling.api import ElasticQuota
from muster.plugins.catalog import QUOTAS, group_kinds
from tests.capacityscheduling.objects import make_quota

KINDS = GroupKinds(group_kinds())


def used(namespace: str, amounts: dict[str, str], **fields: Any) -> ElasticQuota:
    """A quota with so much used of it."""
    return msgspec.convert({**make_quota(namespace, **fields), "status": {"used": amounts}}, ElasticQuota)


ML = used("ml", {"cpu": "6"}, min={"cpu": "4"}, max={"cpu": "8"})
DEV = used("dev", {"memory": "1Gi"}, min={"cpu": "4"}, max={"memory": "1Gi"}, parent="ml/quota")


def test_each_resource_of_a_quota_is_a_row() -> None:
    view = quotas_page(QUOTAS.report([ML, DEV]), all_known=True)
    assert view.rows == [
        QuotaRow("dev", "cpu", "0", "4", 0, "4", "", "", "0.0%", "ml/quota"),
        QuotaRow("dev", "memory", "1Gi", "1Gi", 100, "0", "1Gi", "", "", "ml/quota"),
        QuotaRow("ml", "cpu", "6", "8", 75, "4", "8", "2", "150.0%", ""),
    ]
    assert (view.problems, view.hidden) == ([], 0)


def test_shares_are_not_shown_if_only_some_quotas_are_known() -> None:
    assert {row.share for row in quotas_page(QUOTAS.report([ML, DEV]), all_known=False).rows} == {""}


@pytest.mark.parametrize(
    ("amount", "limit", "filled"), [("0", "0", 0), ("1", "0", 100), ("9", "4", 100), ("1", "3", 33)]
)
def test_the_bar_is_filled_to_the_limit_at_most(amount: str, limit: str, filled: int) -> None:
    [row] = quotas_page(QUOTAS.report([used("ml", {"cpu": amount}, max={"cpu": limit})]), all_known=True).rows
    assert row.filled == filled


async def test_the_page_names_what_is_not_followed() -> None:
    view = quotas_page(QUOTAS.report([ML, used("dev", {}, parent="none/quota")]), all_known=True)
    drawn = await Templates().render(
        "quotas", quotas=True, view=view, page="Quotas", base="", about="", version=0, missing=[]
    )
    assert "6 of 8 used" in drawn
    assert "its parent none/quota does not exist, or is not used" in drawn
    assert '<a href="/quotas" aria-current="page">Quotas</a>' in drawn


def test_a_changed_quota_counts_as_a_change_of_the_cluster() -> None:
    log = ChangeLog()
    before, after = (
        StateIndex.of(ClusterState((), (), KINDS, {}, [quota])) for quota in (ML, used("ml", {"cpu": "7"}))
    )
    log.record(before, [])
    assert log.differences(before, 1.0) is None
    assert log.differences(after, 2.0) == []
