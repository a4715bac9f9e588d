"""Reservations: capacity that is kept for pods and groups that have waited long, so that none starves."""
