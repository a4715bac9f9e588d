"""Reviews of tokens and rights, which nothing stores: there is no access control here, so all are let in.

`kubectl auth can-i` asks for them, and so does a Muster that serves its pages only to those who may read them.
"""

from muster.operator.sandbox.kinds import TOKEN_REVIEWS, Kind
from muster.operator.sandbox.objects import Object

_USER = {"username": "sandbox", "groups": ["system:masters", "system:authenticated"]}


def answer(kind: Kind, review: Object) -> Object:
    """The review with its verdict: the token is good, the act is allowed."""
    status = {"authenticated": True, "user": _USER} if kind is TOKEN_REVIEWS else {"allowed": True}
    typed = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {}}
    return typed | {"spec": review.get("spec") or {}, "status": status}
