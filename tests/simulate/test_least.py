"""The search for the least number that will do."""

from hypothesis import given
from hypothesis import strategies as st

from muster.operator.simulate.least import least


class Question:
    """Answers yes from `enough` on, and remembers what it was asked."""

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.asked: list[int] = []

    async def __call__(self, number: int) -> bool:
        self.asked.append(number)
        return number >= self.enough


@given(enough=st.integers(1, 300), guess=st.integers(-3, 400), limit=st.integers(0, 300))
async def test_finds_the_least_number_whatever_the_guess(enough: int, guess: int, limit: int) -> None:
    question = Question(enough)
    found = await least(question, guess=guess, limit=limit)
    assert found == (enough if enough <= limit else None)
    assert all(1 <= number <= limit for number in question.asked)
    assert len(question.asked) <= 20


async def test_a_right_guess_and_no_hope_cost_two_questions_each() -> None:
    right, hopeless = Question(12), Question(1000)
    await least(right, guess=12, limit=512)
    await least(hopeless, guess=12, limit=512)
    assert right.asked == [12, 11]
    assert hopeless.asked == [12, 512]


@given(yes=st.sets(st.integers(1, 40)), guess=st.integers(1, 40))
async def test_finds_one_that_does_while_the_number_before_it_does_not(yes: set[int], guess: int) -> None:
    async def does(number: int) -> bool:
        return number in yes

    found = await least(does, guess=guess, limit=40)
    if found is not None:
        assert found in yes
        assert found - 1 not in yes
    else:
        assert 40 not in yes
