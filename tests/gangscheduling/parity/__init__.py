"""Random situations of native groups that kube-scheduler and Muster decide one after the other, and what differs.

`python -m tests.gangscheduling.parity`; see `verdict` for what is compared.
"""
