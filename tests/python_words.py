"""Words that only Python uses, by which tests recognise an error message that was not written for users."""

import re

PYTHON = re.compile(
    r"object has no|\bNoneType\b|<class|\bNone\b|subscriptable|unhashable|\bdict\b|\blist indices\b|not iterable"
    r"|\bstr\b|\bTrue\b|\bFalse\b|argument|unsupported operand|codec can't|Traceback|isoformat|<byte string>|\{'|\['|b'"
    r"|\bKeyError\b|Expected `"
)
