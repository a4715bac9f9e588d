"""Volume sources: the storage that pods name inline and that persistent volumes refer to.

The structs of pods and of storage objects share them. Only the fields are read that say whether two volumes are the
same storage, and which CSI driver serves them.
"""

from __future__ import annotations

import msgspec

from .meta import Wire


class GCEPersistentDisk(Wire):
    """A disk of Google's cloud."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Wire):
    """A disk of Amazon's cloud."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class AzureDisk(Wire):
    """A disk of Microsoft's cloud."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class Cinder(Wire):
    """A disk of OpenStack."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class Portworx(Wire):
    """A volume of Portworx."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class ISCSI(Wire):
    """A disk behind an iSCSI target, identified by the target's name."""

    iqn: str = ""
    read_only: bool = False


class RBD(Wire):
    """An image in a Ceph pool, behind any of the monitors."""

    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False


class CSISource(Wire):
    """A volume of a CSI driver; an inline one has no handle."""

    driver: str = ""
    volume_handle: str = ""


class Unread(Wire):
    """A source of which only counts that it is there."""


class VolumeSources(Wire):
    """The in-tree sources that CSI drivers have taken over; a volume has at most one."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: Unread | None = None
    cinder: Cinder | None = None
    portworx_volume: Portworx | None = None
    vsphere_volume: Unread | None = None
    csi: CSISource | None = None
