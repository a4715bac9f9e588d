"""Volumes of pods: VolumeRestrictions, NodeVolumeLimits, VolumeZone and VolumeBinding."""
