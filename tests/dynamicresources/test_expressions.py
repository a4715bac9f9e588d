"""Selectors: what the expression language makes of a device."""

from typing import Any

import pytest

from muster.plugins.dynamicresources.cel.compiler import compile_expression
from muster.plugins.dynamicresources.cel.errors import CompileError, EvaluationError
from muster.plugins.dynamicresources.cel.values import DomainMaps, parse_quantity, parse_semver

DOMAIN = "gpu.example.com"
A = f"device.attributes['{DOMAIN}']"
DEVICE: dict[str, Any] = {
    "driver": DOMAIN,
    "allowMultipleAllocations": False,
    "attributes": DomainMaps(
        {DOMAIN: {"model": "a100", "index": 1, "mig": False, "version": parse_semver("1.5.0"), "sizes": [1, 2]}}
    ),
    "capacity": DomainMaps({DOMAIN: {"memory": parse_quantity("40Gi")}}),
}

TRUE = [
    f"device.driver == '{DOMAIN}' && !device.allowMultipleAllocations",
    # attributes and domains
    f"{A}.model == 'a100' && {A}['model'] == 'a100'",
    f"'model' in {A} && !('other' in {A}) && '{DOMAIN}' in device.attributes",
    f"has({A}.model) && !has({A}.other) && !has(device.attributes['other.example.com'].model)",
    "!('other.example.com' in device.attributes) && device.attributes['other.example.com'] == {}",
    f"{A}.?other.orValue('none') == 'none' && {A}[?'model'].orValue('none') == 'a100'",
    f"{A}.?model.hasValue() && !{A}.?other.?more.hasValue()",
    f"{A}.?model.orValue({A}.other) == 'a100' && {A}.?model.or(optional.of({A}.other)).value() == 'a100'",
    "optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.none(), optional.of(2)].unwrapOpt() == [2]",
    "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && !['a'].filter(x, x == 'b').first().hasValue()",
    f"{A}.?index.optMap(i, i + 1).value() == 2 && optional.none().or(optional.of(1)).value() == 1",
    f"cel.bind(own, {A}, own.model == 'a100' && own.index == 1)",
    f"{A}.sizes.exists(size, size > 1) && {A}.sizes.all(size, size > 0) && {A}.sizes.exists_one(size, size == 1)",
    f"device.attributes.exists(domain, domain.startsWith('gpu')) && {A}.exists(name, name == 'mig')",
    # quantities and versions
    f"device.capacity['{DOMAIN}'].memory.compareTo(quantity('40960Mi')) == 0",
    f"device.capacity['{DOMAIN}'].memory.isGreaterThan(quantity('39Gi')) && quantity('1') == quantity('1000m')",
    "quantity('1Gi').add(quantity('1Gi')) == quantity('2Gi') && quantity('3').sub(1).asInteger() == 2",
    "isQuantity('1.5Gi') && !isQuantity('much') && !quantity('1500m').isInteger() && sign(quantity('-1')) == -1",
    "quantity('1500m').asApproximateFloat() == 1.5",
    f"{A}.version.compareTo(semver('1.5.0')) == 0 && {A}.version.isLessThan(semver('1.10.0'))",
    "semver('v1.2', true) == semver('1.2.0') && semver('01.02.03', true).minor() == 2",
    "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('1.0.0-rc').isLessThan(semver('1.0.0'))",
    "semver('1.0.0+a') == semver('1.0.0+b') && !isSemver('1.2') && isSemver('1.2', true) && !isSemver('01.0.0')",
    # numbers
    "1 == 1.0 && 1u == 1 && 1 < 1.5 && 2.5 > 2 && !(1 == '1') && 1 != '1'",
    "-7 / 2 == -3 && -7 % 2 == -1 && 7u / 2u == 3u && 1.0 / 4.0 == 0.25 && 0x10 == 16 && 1e3 == 1000.0",
    "-9223372036854775808 < 9223372036854775807 && int('12') == 12 && double('1.5') == 1.5 && uint(3) == 3u",
    "string(1.5) == '1.5' && string(true) == 'true' && bool('true') && type(1) == int && type('') == string",
    # text
    "'a' + 'b' == 'ab' && 'abc'.contains('b') && 'abc'.endsWith('c') && size('äbc') == 3 && 'abc'.size() == 3",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && ['a', 'b'].join('-') == 'a-b'",
    "'abc'.charAt(1) == 'b' && 'abcb'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3 && 'abc'.substring(1) == 'bc'",
    "' a '.trim() == 'a' && 'aBc'.upperAscii() == 'ABC' && 'aBc'.lowerAscii() == 'abc'",
    "'aa'.replace('a', 'b') == 'bb' && 'aa'.replace('a', 'b', 1) == 'ba' && strings.quote('a\"') == '\"a\\\\\"\"'",
    "'%s has %d of %.2f'.format(['a', 1, 1.5]) == 'a has 1 of 1.50' && '%x'.format([255]) == 'ff'",
    "'a100'.matches('^a[0-9]+$') && 'a1b2'.find('[0-9]') == '1' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
    r"'\x41\u0042\n' == 'AB' + '\n' && r'\n' == '\\n' && b'\x41' == b'A' && '''a'b''' == 'a\'b'",
    # lists, maps and sets
    "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2].map(x, x > 1, x) == [2] && [1, 2].filter(x, x > 1) == [2]",
    "[1, 2].all(i, v, v == i + 1) && [1, 2].transformList(i, v, i + v) == [1, 3]",
    "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && {'a': 1, 'b': 2}.size() == 2 && {'a': 1}.exists(k, v, v == 1)",
    "[1, 2].exists_one(i, v, v > 1) && !{'a': 1, 'b': 1}.exists_one(k, v, v == 1)",
    "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'} && [5].transformMapEntry(i, v, v > 5, {v: i}) == {}",
    "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].sum() == 3 && [1, 2].max() == 2 && [[1], [2]].flatten() == [1, 2]",
    "['b', 'aa'].sortBy(s, s.size()) == ['b', 'aa'] && [1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]",
    "lists.range(3) == [0, 1, 2] && [1, 2, 3].slice(1, 3) == [2, 3] && [1, 2].indexOf(2) == 1 && [1, 2].isSorted()",
    "sets.contains([1, 2], [1]) && sets.equivalent([1, 1, 2], [2, 1]) && !sets.intersects([1], [2])",
    "[?optional.none(), 1] == [1] && {?'a': optional.of(1)} == {'a': 1} && 1 in [1, 2] && 'a' in {'a': 1}",
    # what errors do not decide
    "1 / 0 == 1 || true",
    f"{A}.other == 1 || true",
    f"!({A}.other == 1 && false)",
    "[0, 1].exists(x, 1 / x == 1) && !([0, 2].all(x, 1 / x == 1))",
    "true ? true : 1 / 0 == 1",
    "(1 < 2) == true // a remark",
]

ERRORS = {
    f"{A}.other == 'x'": "no such key: other",
    "1 / 0 == 1": "division by zero",
    "9223372036854775807 + 1 > 0": "integer overflow",
    "1u - 2u == 0u": "unsigned integer overflow",
    "[1][2] == 1": "index out of bounds: 2",
    f"{A}.model < {A}.index": "no such overload",
    f"{A}.model": "CEL result could not be converted to bool",
    f"{A}.model && true": "no such overload",
    f"{A}.model.isGreaterThan(quantity('1'))": "no such overload",
    "'a'.orValue('b') == 'a'": "no such overload",
    "[1].unwrapOpt() == [1]": "no such overload",
    "[{'a': 1}, {'a': 2}].transformMapEntry(i, v, v) == {}": "insert failed: key a already exists",
    "optional.none().value() == 1": "optional.none() dereference",
    "lists.range(2000).all(a, lists.range(2000).all(b, a + b >= 0))": "operation cancelled: actual cost limit exceeded",
    "lists.range(10001).size() > 0": "operation cancelled: actual cost limit exceeded",
    f"lists.range(300).all(a, {' && '.join(['a >= 0'] * 60)})": "operation cancelled: actual cost limit exceeded",
    "cel.bind(a, lists.range(5000), a == a && a == a)": "operation cancelled: actual cost limit exceeded",
    "cel.bind(a, lists.range(5000), [a, a, a, a] == [])": "operation cancelled: actual cost limit exceeded",
    "'a'.matches('(')": "Illegal regex: missing ): (",
}

NO_EXPRESSIONS = {
    "device.driver ==": "mismatched input",
    "device.other == 1": "undefined field 'other'",
    "node.name == 'n'": "undeclared reference to 'node'",
    "nosuch(1) == 1": "undeclared reference to 'nosuch'",
    "device.driver.nosuch() == 1": "undeclared reference to 'nosuch'",
    "'open == 1": "token recognition error",
    "99999999999999999999 > 1": "invalid int literal",
    "has(device)": "invalid argument to has() macro",
    "(" * 5000 + "true" + ")" * 5000: "nested too deeply",
}


@pytest.mark.parametrize("expression", TRUE)
def test_an_expression_evaluates_to_true(expression: str) -> None:
    assert compile_expression(expression)(DEVICE) is True


@pytest.mark.parametrize("expression", ERRORS)
def test_evaluation_fails_for(expression: str) -> None:
    select = compile_expression(expression)
    with pytest.raises(EvaluationError) as caught:
        select(DEVICE)
    assert str(caught.value) == ERRORS[expression]


@pytest.mark.parametrize("expression", NO_EXPRESSIONS, ids=range(len(NO_EXPRESSIONS)))
def test_the_reason_why_a_text_is_no_expression_is_reported(expression: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(expression)
    assert NO_EXPRESSIONS[expression] in str(caught.value)


def test_a_pattern_that_backtracks_elsewhere_takes_no_longer_than_others() -> None:
    device = DEVICE | {"driver": "a" * 5000 + "!"}
    assert compile_expression("device.driver.matches('(a+)+$')")(device) is False
