"""How evenly pods are spread over zones, hosts and other domains."""
