"""Words that only Python uses, by which tests tell that an error came out as nobody had meant it."""

import re

PYTHON = re.compile(
    r"object has no|\bNoneType\b|<class|\bNone\b|subscriptable|unhashable|\bdict\b|\blist indices\b|not iterable"
    r"|\bstr\b|\bTrue\b|\bFalse\b|argument|unsupported operand|codec can't|Traceback|isoformat|<byte string>|\{'|\['|b'"
    r"|\bKeyError\b|Expected `"
)
