"""The snapshot's columns, for plugins that answer with vectors: what `nodes.snapshot` consists of, by name.

Public, like the package: `NodeView` and `SnapshotReader` lead to these types.
"""

from ..snapshot.domains import Domains
from ..snapshot.journal import Journal
from ..snapshot.labels import ABSENT, LabelColumn
from ..snapshot.namespaces import NamespaceUsage
from ..snapshot.node_selector import admitted, any_picks, worth
from ..snapshot.node_tables import ANY_ADDRESS, TaintColumn, TaintSet
from ..snapshot.partitions import NONE
from ..snapshot.relations import Clause, PodsMatching, TermsAbout
from ..snapshot.resources import Amounts, ResourceColumns
from ..snapshot.view import Rows

__all__ = [
    "ABSENT",
    "ANY_ADDRESS",
    "NONE",
    "Amounts",
    "Clause",
    "Domains",
    "Journal",
    "LabelColumn",
    "NamespaceUsage",
    "PodsMatching",
    "ResourceColumns",
    "Rows",
    "TaintColumn",
    "TaintSet",
    "TermsAbout",
    "admitted",
    "any_picks",
    "worth",
]
