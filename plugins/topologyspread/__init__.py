"""How evenly pods lie over zones, hosts and other domains."""
