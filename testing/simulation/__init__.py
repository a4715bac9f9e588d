"""A whole cluster with whole processes of Muster in one Python process: virtual time, one seed, and every fault.

What is real: each replica is the process that `muster run` runs, with its informers, election, writers, queue, engine
and the controllers of groups. What is simulated: the API server (the sandbox's objects and rules, without HTTP), the
network, kubelets, clocks and the event loop. What is left out: kopf, pages, probes and admission, TLS and credentials.

`simulate(seed)` plays a seed and reports violated guarantees; the same seed gives the same run to the byte. Plugin
authors pass an `Assembly` of their own configuration. `python -m muster.testing.simulation 1-300` plays many seeds, and
reduces a failing one to the acts that it needs. See docs/reliability.md.

`history` chooses what happens, `world` does it, `judge` checks what must hold; below these are `replica` (a process),
`network`, `streams` and `server` (its surroundings), and `loop` (time).
"""

from .history import Act, Scale, history_of, scale_of
from .simulation import SimulationOutcome, simulate, standard

__all__ = ["Act", "Scale", "SimulationOutcome", "history_of", "scale_of", "simulate", "standard"]
