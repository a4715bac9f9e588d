"""Random lives of many gangs, watched from outside."""
