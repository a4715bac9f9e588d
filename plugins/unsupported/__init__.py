"""What keeps pods waiting that ask for more than Muster can judge."""
