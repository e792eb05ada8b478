"""The part of the Kubernetes API that helm's `lookup` needs: the Secrets in a directory, in the namespace `default`.

    api.py DIRECTORY

Prints its port on the loopback address, and serves until it is killed.
"""

import http.server
import json
import os
import sys

RESOURCES = {
    "/version": {"major": "1", "minor": "33", "gitVersion": "v1.33.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [{"name": "secrets", "namespaced": True, "kind": "Secret", "verbs": ["get"]}],
    },
}
SECRETS = "/api/v1/namespaces/default/secrets/"


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        status, answer = 200, RESOURCES.get(path)
        if path.startswith(SECRETS):
            file = os.path.join(sys.argv[1], os.path.basename(path) + ".json")
            answer = json.load(open(file)) if os.path.exists(file) else None
        if answer is None:
            status, answer = 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
print(server.server_port, flush=True)
server.serve_forever()
