"""PodGroups and pods as other projects' operators create them."""
