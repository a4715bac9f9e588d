"""Checks of plugins' answers: an answer is either valid, or replaced by an ERROR.

`PluginCalls`, `GroupCalls` and the runners of the extension points call it. A valid answer has the types, shapes and
ranges that the contract names, so no later code has to check again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..contract.plugin import Plugin, PreFilterResult, Wait
from ..contract.status import LONGEST, Code, Status, cut, text_of
from ..contract.verdicts import Codes, Mask, StatusTable, Verdicts
from .points import POD_GROUP_POST_FILTER, POST_FILTER, Point

T = TypeVar("T")
_INT32 = np.iinfo(np.int32)
_FEW = 8
_MOST_OF_REASONS = 4 * LONGEST
"""Characters of all reasons of a status together."""
_MOST_ELEMENTS = 1_000_000


class PluginError(Exception):
    """An error of a plugin, with its name and point in front. The plugin's own exception is the cause."""


class Failed(Exception):
    """Ends what asked a plugin at its ERROR, `status`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def failure(point: Point, plugin: Plugin, error: BaseException) -> Status:
    """The ERROR for an exception that a plugin raised."""
    wrapped = PluginError(f"{point.words.format(plugin.name)}: {text_of(error)}")
    wrapped.__cause__ = error
    return Status(Code.ERROR, (), plugin.name, wrapped)


def error_in(context: str, status: Status) -> Status:
    """An ERROR with the text of `status` behind `context`, by the same plugin."""
    text = f"{context}: {cut(status.message)}"
    if status.error is None:
        return Status(Code.ERROR, (text,), status.plugin)
    wrapped = PluginError(text)
    wrapped.__cause__ = status.error
    return Status(Code.ERROR, (), status.plugin, wrapped)


def judged(point: Point, plugin: Plugin, answer: Status) -> Status | None:
    """A plugin's status as it counts: None for success, an ERROR in kube-scheduler's words for no answer at all.

    Raises TypeError for a status that is none.
    """
    status = _bounded(answer.checked())
    code = status.code
    if code is Code.SUCCESS:
        return None
    if code is not Code.ERROR and code in point.legal:
        return status if code is Code.SKIP else status.by(plugin.name)
    return error_in(point.words.format(plugin.name), status.by(plugin.name))


def checked(point: Point, plugin: Plugin, answer: object) -> object:
    """An answer as it counts. Raises TypeError for one that has no meaning at the point."""
    if not isinstance(answer, point.answers):
        of_type(answer, *point.answers)
    if isinstance(answer, PreFilterResult):
        of_type(answer.node_names, frozenset)
    if isinstance(answer, Wait):
        return wait_of(answer)
    return judged(point, plugin, answer) if isinstance(answer, Status) else answer


def of_type(answer: Any, *types: type) -> Any:
    """The answer. Raises TypeError unless it is of one of the types."""
    if isinstance(answer, types):
        return answer
    raise TypeError(f"it answered {type(answer).__name__}, not {' or '.join(each.__name__ for each in types)}")


def text(answer: object) -> str:
    """A text. Raises TypeError."""
    found: str = of_type(answer, str)
    return found


def boolean(answer: object) -> bool:
    """Yes or no. Raises TypeError."""
    found: bool = of_type(answer, bool)
    return found


def int32(answer: object) -> int:
    """A number as the API has them. Raises TypeError, or ValueError for one that is out of range."""
    number: int = of_type(answer, int)
    if not _INT32.min <= number <= _INT32.max:
        raise ValueError("it answered a number that is out of the range of int32")
    return number


def hashable(answer: Hashable) -> Hashable:
    """The answer, for comparison with others. Raises TypeError if it is not hashable."""
    hash(answer)
    return answer


def by_topic(answer: Any) -> Mapping[str, Any]:
    """A mapping by texts. Raises TypeError for anything else."""
    found = dict(of_type(answer, Mapping))
    all_of(found, str)
    return found


def all_of(answer: Iterable[Any], kind: type[T]) -> Sequence[T]:
    """Everything that is iterated over. Raises TypeError when it cannot be, or has anything but `kind`.

    Raises ValueError when it has no end, or one that is beyond any cluster.
    """
    found = tuple(islice(answer, _MOST_ELEMENTS + 1))
    if len(found) > _MOST_ELEMENTS:
        raise ValueError(f"it answered more than {_MOST_ELEMENTS:,} of {kind.__name__}")
    for each in found:
        if not isinstance(each, kind):
            raise TypeError(f"it answered something besides {kind.__name__}")
    return found


def rejection(answer: object) -> Status:
    """A status that rejects. Raises TypeError, or ValueError for any other status."""
    status: Status = of_type(answer, Status).checked()
    if not (status.rejected or status.code is Code.ERROR):
        raise ValueError(f"it answered {status.code.wire_name} where it was asked for a rejection")
    return _bounded(status)


def _bounded(status: Status) -> Status:
    """This status; its reasons are joined into one where there are too many to be reported."""
    if len(status.reasons) <= 1 or sum(map(len, status.reasons)) <= _MOST_OF_REASONS:
        return status
    return replace(status, reasons=(cut(", ".join(status.reasons)),))


def post_filtered(plugin: Plugin, answer: object) -> tuple[str | None, Status | None]:
    """`(nominated node, status)`, as PostFilter answers it."""
    match answer:
        case (None | str() as node_name, None | Status() as status):
            return node_name, _ending_round(POST_FILTER, plugin, status)
    return None, failure(POST_FILTER, plugin, TypeError("it is not a node's name or None, and a Status or None"))


def pod_group_post_filtered(plugin: Plugin, answer: object) -> tuple[Mapping[str, str] | None, Status | None]:
    """`(node by UID, status)`, as PodGroupPostFilter answers it."""
    match answer:
        case Status():
            return None, _ending_round(POD_GROUP_POST_FILTER, plugin, answer)
        case (None | Mapping() as nominations, None | Status() as status):
            if nominations is None or all(isinstance(each, str) for pair in nominations.items() for each in pair):
                return nominations, _ending_round(POD_GROUP_POST_FILTER, plugin, status)
    wrong = TypeError("it is not nodes by UID or None, and a Status or None")
    return None, failure(POD_GROUP_POST_FILTER, plugin, wrong)


def _ending_round(point: Point, plugin: Plugin, status: Status | None) -> Status | None:
    """A status with PostFilter's meaning: the reasons of a success are notes, and an error has its own message."""
    if status is None:
        return None
    try:
        spoken = status.code is Code.SUCCESS or (status.code is Code.ERROR and point is POST_FILTER)
        return _bounded(status.checked()).by(plugin.name) if spoken else judged(point, plugin, status)
    except TypeError as error:
        return failure(point, plugin, error)


def wait_of(answer: Wait) -> Wait:
    """A wait whose reasons are few enough to be reported. Raises TypeError or ValueError for one that is none."""
    seconds = float(of_type(answer.seconds, int, float))
    if seconds != seconds:
        raise ValueError("it answered a wait of no length")
    return Wait(seconds, _bounded(Status.wait(*answer.reasons).checked()).reasons)


def not_cleared(status: Status) -> Status:
    """The status for a pre-flight answer that is neither success nor SKIP."""
    if status.code is Code.ERROR:
        return status
    wrong = f'PreBindPreFlight {status.plugin} returned "{status.code.wire_name}", which is unsupported'
    return Status.failure(f"{wrong}. It is supposed to return Success, Skip, or Error status").by(status.plugin)


def is_long_work(left: object, plugin: Plugin) -> bool:
    """Whether that is what a Filter may leave in `LongWork.left`."""
    match left:
        case (str() as name, work) if callable(work):
            return name == plugin.name
    return False


def verdicts(point: Point, plugin: Plugin, answer: object, nodes: int) -> Verdicts:
    """One verdict for each of `nodes` nodes. Raises Failed when it is not that."""
    if isinstance(answer, Status):
        raise Failed(answer)
    if isinstance(answer, Verdicts) and isinstance(answer.table, StatusTable):
        codes = answer.codes
        if isinstance(codes, np.ndarray) and codes.shape == (nodes,) and codes.dtype.kind in "iu":
            if _are_in(answer.table, codes):
                return answer
            raise Failed(failure(point, plugin, ValueError("it has verdicts with a number that its table lacks")))
    raise Failed(failure(point, plugin, ValueError(f"it is not one verdict for each of {nodes} nodes")))


def _are_in(table: StatusTable, codes: Codes) -> bool:
    """Whether the table has all these numbers. Mostly there is one: the node that the pod before was put on."""
    if len(codes) > _FEW:
        return int(codes.min()) >= 0 and int(codes.max()) <= len(table)
    numbers = codes.tolist()
    return not numbers or (min(numbers) >= 0 and max(numbers) <= len(table))


def mask(answer: Any, nodes: int) -> Mask:
    """bool, shape (nodes,). Raises TypeError for an answer that is not."""
    if isinstance(answer, np.ndarray) and answer.shape == (nodes,) and answer.dtype == np.bool_:
        return answer
    raise TypeError(f"it is not one bool for each of {nodes} nodes")


def integers(point: Point, plugin: Plugin, answer: object, nodes: int) -> npt.NDArray[np.int64]:
    """int64, shape (nodes,). Raises Failed for an answer that is not one integer for each of `nodes` nodes."""
    if isinstance(answer, Status):
        raise Failed(answer)
    if isinstance(answer, np.ndarray) and answer.shape == (nodes,) and answer.dtype.kind in "iu":
        return np.asarray(answer, np.int64)
    raise Failed(failure(point, plugin, ValueError(f"it is not one integer for each of {nodes} nodes")))
