"""Quantities: the table holds what Kubernetes' own parser answers; Hypothesis compares with decimal arithmetic."""

from decimal import ROUND_UP, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.quantity import MAX_VALUE, QuantityError, milli_value, nanos, value

FACTORS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "P": Decimal("1e15"),
    "E": Decimal("1e18"),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
} | {f"{letter}{power}": Decimal(10) ** int(power) for letter in "eE" for power in ("-11", "-2", "0", "3", "+4", "12")}


def by_decimal(number: str, suffix: str) -> tuple[int, int]:
    """`(value, milli value)` of a quantity without sign: to nano units, capped, then to the unit; always rounded up."""
    with localcontext(prec=400):
        amount = (Decimal(number) * FACTORS[suffix]).quantize(Decimal("1e-9"), ROUND_UP)
        amount = min(amount, Decimal(MAX_VALUE))
        whole, thousandths = (scaled.to_integral_value(ROUND_UP) for scaled in (amount, amount * 1000))
        return int(whole), min(int(thousandths), MAX_VALUE)


numbers = st.from_regex(r"\A(?:[0-9]{1,25}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})\Z")


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        ("0", 0, 0),
        ("1", 1, 1000),
        ("+1", 1, 1000),
        ("00.5", 1, 500),
        (".5", 1, 500),
        ("5.", 5, 5000),
        ("100m", 1, 100),
        ("1500m", 2, 1500),
        ("1n", 1, 1),
        ("1u", 1, 1),
        ("999999n", 1, 1),
        ("1000001n", 1, 2),
        ("250u", 1, 1),
        ("2k", 2_000, 2_000_000),
        ("3M", 3_000_000, 3_000_000_000),
        ("4G", 4 * 10**9, 4 * 10**12),
        ("5T", 5 * 10**12, 5 * 10**15),
        ("6P", 6 * 10**15, 6 * 10**18),
        ("7Ki", 7 * 2**10, 7000 * 2**10),
        ("8Mi", 8 * 2**20, 8000 * 2**20),
        ("1.5Gi", 3 * 2**29, 1500 * 2**30),
        ("2Ti", 2**41, 1000 * 2**41),
        ("3Pi", 3 * 2**50, 3000 * 2**50),
        ("1.1Ki", 1127, 1_126_400),
        ("2e3", 2000, 2_000_000),
        ("2E3", 2000, 2_000_000),
        ("1.5e3", 1500, 1_500_000),
        ("1.e3", 1000, 1_000_000),
        ("1e+3", 1000, 1_000_000),
        ("15e-1", 2, 1500),
        ("1E", 10**18, MAX_VALUE),
    ],
)
def test_every_notation_is_read(text: str, whole: int, milli: int) -> None:
    assert (value(nanos(text)), milli_value(nanos(text))) == (whole, milli)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("0.1n", 1), ("0.5n", 1), ("1.5n", 2), ("0.0000000001", 1), ("1e-400", 1), ("-0.1n", -1), ("-1.5n", -2)],
)
def test_an_amount_that_is_finer_than_a_nano_unit_is_rounded_away_from_zero(text: str, amount: int) -> None:
    assert nanos(text) == amount


@pytest.mark.parametrize(("text", "whole", "milli"), [("-1", -1, -1000), ("-100m", -1, -100), ("-1.5", -2, -1500)])
def test_negative_quantities_are_rounded_away_from_zero_too(text: str, whole: int, milli: int) -> None:
    assert (value(nanos(text)), milli_value(nanos(text))) == (whole, milli)


@pytest.mark.parametrize(
    "text", ["8Ei", "9Ei", "9223372036854775807Ki", "9223372036854775808", "10E", "1e19", "1e400", "1e99999999999"]
)
def test_quantities_are_capped_at_the_largest_int64(text: str) -> None:
    assert value(nanos(text)) == 2**63 - 1
    assert milli_value(nanos(text)) == 2**63 - 1
    assert value(nanos(f"-{text}")) == -(2**63 - 1)


def test_a_sum_beyond_the_largest_int64_is_capped_when_it_is_rounded() -> None:
    assert value(nanos("8Ei") + nanos("8Ei")) == 2**63 - 1


def test_the_largest_value_is_exact() -> None:
    assert value(nanos("9223372036854775807")) == 2**63 - 1
    assert value(nanos("9223372036854775806")) == 2**63 - 2


@pytest.mark.parametrize("text", [".", "+", "-", "m", "Ki", "e3"])
def test_a_missing_number_is_zero_as_for_the_api_server(text: str) -> None:
    assert nanos(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "one", "--1", "1.2.3", "1,5", "1_0", "0x1", "1 Gi", "nan", "inf", "\N{ARABIC-INDIC DIGIT THREE}"),
        *("1i", "1KI", "1ki", "1K", "1mi", "1Ee", "1eE3", "1k3", "1e3k", "1m3", "1e1.5"),
    ],
)
def test_a_text_that_is_no_quantity_is_refused_with_the_api_servers_words(text: str) -> None:
    with pytest.raises(QuantityError, match=r"^quantities must match the regular expression "):
        nanos(text)


def test_the_refused_text_is_named() -> None:
    with pytest.raises(QuantityError, match="got '1KI'"):
        nanos("1KI")


@pytest.mark.parametrize(
    ("number", "milli"), [(2, 2000), (0, 0), (0.5, 500), (1.0, 1000), (1e-05, 1), (1e21, MAX_VALUE), (0.1, 100)]
)
def test_numbers_of_manifests_count_as_they_are_written(number: float, milli: int) -> None:
    assert milli_value(nanos(number)) == milli


def test_space_around_a_quantity_is_ignored() -> None:
    assert nanos(" 1Gi\n") == nanos("1Gi")


@given(number=numbers, suffix=st.sampled_from(sorted(FACTORS)))
def test_any_quantity_agrees_with_decimal_arithmetic(number: str, suffix: str) -> None:
    amount = nanos(number + suffix)
    assert (value(amount), milli_value(amount)) == by_decimal(number, suffix)


@given(number=numbers, suffix=st.sampled_from(sorted(FACTORS)))
def test_the_sign_changes_nothing_but_the_sign(number: str, suffix: str) -> None:
    amount = nanos(number + suffix)
    assert nanos(f"+{number}{suffix}") == amount
    assert nanos(f"-{number}{suffix}") == -amount
    assert value(-amount) == -value(amount)
    assert milli_value(-amount) == -milli_value(amount)


@given(number=numbers, suffix=st.sampled_from(sorted(FACTORS)))
def test_rounding_never_loses_anything(number: str, suffix: str) -> None:
    amount = nanos(number + suffix)
    assert min(amount, MAX_VALUE * 10**6) <= milli_value(amount) * 10**6 < amount + 10**6
    assert amount <= value(amount) * 10**9 < amount + 10**9
