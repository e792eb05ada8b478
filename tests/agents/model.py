"""A model whose answers are in a file. It speaks the HTTP APIs of Anthropic (Messages) and of OpenAI (Responses).

`model.py AGENT REPORT`: the file with the answers, and the file that gets what the model was offered and told, as JSON.
It prints its address.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

AGENT, REPORT = map(Path, sys.argv[1:])
COMMANDS = [step["command"] for step in json.loads(AGENT.read_text())]
ANSWER = "The mean is right now."
SERVER, TOOL = "mcp__airlock", "run"
USAGE = {"input_tokens": 1, "output_tokens": 1}


class Model(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Print nothing."""

    def do_HEAD(self):
        """Answer the probe of a client."""
        self.answer(b"", "text/plain")

    def do_GET(self):
        """Name no models."""
        self.answer(b'{"data": [], "models": []}', "application/json")

    def do_POST(self):
        """Answer with the next command, or with the last words."""
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        path = self.path.partition("?")[0]
        if path == "/v1/messages":
            self.stream(messages(request))
        elif path == "/v1/responses":
            self.stream(responses(request))
        else:
            self.answer(b'{"input_tokens": 1}', "application/json")

    def stream(self, events):
        """Send events."""
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.answer(text.encode(), "text/event-stream")

    def answer(self, body, kind):
        """Send a response."""
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def report(tools, told):
    """Write what the model was offered and told so far."""
    REPORT.write_text(json.dumps({"tools": tools, "told": told}))


def text_of(content):
    """Return the text of a tool's result."""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def messages(request):
    """Return the events of Anthropic's API."""
    lists = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    blocks = [block for content in lists for block in content]
    told = [text_of(block["content"]) for block in blocks if block["type"] == "tool_result"]
    tools = [tool["name"] for tool in request.get("tools", [])]
    name = f"{SERVER}__{TOOL}"
    block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": ANSWER}, "end_turn"
    # A client also asks for titles and the like, without tools.
    if name in tools:
        report(tools, told)
        if len(told) < len(COMMANDS):
            block = {"type": "tool_use", "id": f"toolu_{len(told)}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": COMMANDS[len(told)]})}
            reason = "tool_use"
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": []}
    return [
        {"type": "message_start", "message": head | {"stop_reason": None, "stop_sequence": None, "usage": USAGE}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
    ]


def responses(request):
    """Return the events of OpenAI's API."""
    told = [text_of(item["output"]) for item in request["input"] if item.get("type") == "function_call_output"]
    named = {tool.get("name", tool["type"]): tool.get("tools", []) for tool in request["tools"]}
    report([*named, *(f"{SERVER}__{tool['name']}" for tool in named.get(SERVER, []))], told)
    item = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    if len(told) < len(COMMANDS):
        arguments = json.dumps({"command": COMMANDS[len(told)]})
        item = {"type": "function_call", "id": f"fc_{len(told)}", "call_id": f"call_{len(told)}"}
        item |= {"name": TOOL, "namespace": SERVER, "arguments": arguments}
    usage = {**USAGE, "input_tokens_details": None, "output_tokens_details": None, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
