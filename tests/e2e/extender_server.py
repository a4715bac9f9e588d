"""An HTTP extender as a process of its own, which answers as a file says: `python extender_server.py RULES PORT LOG`.

RULES is JSON and read for each request:
    nodes: names of the nodes that pass; all pass where it is left out. `unresolvable`: whether others are so.
    scores: by node. evict: by node, UIDs; left out, the victims stay as they came.
    also: names that pass besides, asked about or not.
    seconds: how long each answer takes. status: what is answered with instead.
    bind: the API server's URL and a token to bind with.
Each request is a line of LOG: the verb and the body.
"""

import json
import ssl
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RULES, LOG = Path(sys.argv[1]), Path(sys.argv[3])


def names_of(args: dict[str, Any]) -> list[str]:
    if args["NodeNames"] is not None:
        return list(args["NodeNames"])
    return [node["metadata"]["name"] for node in args["Nodes"]["items"]]


def filtered(args: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    passing = [name for name in names_of(args) if name in rules.get("nodes", [name])]
    reasons = {name: f"the extender does not like {name}" for name in names_of(args) if name not in passing}
    failed = "failedAndUnresolvableNodes" if rules.get("unresolvable") else "failedNodes"
    if args["NodeNames"] is not None:
        return {"nodeNames": [*passing, *rules.get("also", ())], failed: reasons}
    items = [node for node in args["Nodes"]["items"] if node["metadata"]["name"] in passing]
    return {"nodes": {"items": items}, failed: reasons}


def prioritized(args: dict[str, Any], rules: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"Host": name, "Score": rules.get("scores", {}).get(name, 0)} for name in names_of(args)]


def preempted(args: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    if args["NodeNameToVictims"] is not None:
        asked = {
            node: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
            for node, victims in args["NodeNameToVictims"].items()
        }
    else:
        asked = args["NodeNameToMetaVictims"]
    return {"NodeNameToMetaVictims": {name: asked[name] for name in asked if name in rules.get("evict", asked)}}


def bound(args: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    server, token = rules["bind"]
    body = {"metadata": {"name": args["PodName"]}, "target": {"apiVersion": "v1", "kind": "Node", "name": args["Node"]}}
    request = urllib.request.Request(
        f"{server}/api/v1/namespaces/{args['PodNamespace']}/pods/{args['PodName']}/binding",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, context=ssl._create_unverified_context())
    return {}


VERBS = {"filter": filtered, "prioritize": prioritized, "preempt": preempted, "bind": bound}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.rpartition("/")[2]
        with LOG.open("a") as log:
            log.write(json.dumps([verb, args]) + "\n")
        rules = json.loads(RULES.read_text())
        time.sleep(rules.get("seconds", 0))
        status = rules.get("status", 200)
        body = json.dumps(VERBS[verb](args, rules) if status == 200 else {}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    if len(sys.argv) > 4:
        certificate, key, authority = sys.argv[4:]
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
