"""What pods may mount where: VolumeRestrictions, NodeVolumeLimits, VolumeZone and VolumeBinding."""
