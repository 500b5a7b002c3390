"""What schemathesis has to know of our servers.

Generated names and ids are unknown to any server, so that nearly every answer would be
"not found". Here most of those that fit the schema are replaced by names that the server
knows; what breaks the schema on purpose is sent as it is.
"""

import json
import os
import random
import re
import time

import requests
import schemathesis

URL = os.environ["FUZZ_URL"]
HEADERS = {"content-type": "application/json"}
if os.environ.get("FUZZ_TOKEN"):
    HEADERS["authorization"] = "Bearer " + os.environ["FUZZ_TOKEN"]
IS_TOOLS = os.environ["FUZZ_TARGET"] == "tools"
CHOICES = random.Random(int(os.environ["FUZZ_SEED"]))
# Calls between two looks at what the server knows: some operations delete it.
REFRESH = 200
# Streams without an end are read for so long.
SECONDS = 0.02

known = {}
calls = 0


def call(method, path, body=None):
    text = None if body is None else json.dumps(body)
    answer = requests.request(method, URL + path, data=text, headers=HEADERS, timeout=10)
    return answer.json() if answer.ok else {}


def refresh():
    """Makes something to be found, and notes the names of what there is."""
    if IS_TOOLS:
        runtimes = call("GET", "/api/v1/runtimes").get("runtimes", [])
        actions = call("GET", "/api/v1/actions").get("actions", {})
        # What belongs to an agent needs its ids.
        keys = [key for key in actions if not key.startswith(("/agent", "/util"))]
        call("POST", "/api/v1/run", {"key": "/flow/hello", "input": "Ada"})
        sample = {"testCaseId": "ada", "input": "Ada", "reference": "Hello"}
        call("POST", "/api/v1/datasets", {"datasetId": "people", "data": [sample]})
        traces = call("GET", "/api/v1/traces?limit=5").get("traces", [])
        evaluations = call("GET", "/api/v1/evaluations").get("evaluations", [])
        known.update(
            runtime=[runtime["id"] for runtime in runtimes],
            actionKey=keys,
            key=[key[1:] for key in keys],
            type=["defaultModel", "prompt", "middleware"],
            traceId=[trace["traceId"] for trace in traces],
            id=[trace["traceId"] for trace in traces],
            dataset=["people"],
            evaluation=[evaluation["evalRunId"] for evaluation in evaluations],
        )
    agents = list(call("GET", "/api/agents").get("agents", {}))
    known["agent"] = agents
    known["session"], known["snapshot"] = [], []
    for agent in agents:
        turn = {"input": {"role": "user", "content": [{"text": "a green tea, please"}]}}
        result = call("POST", f"/api/agents/{agent}/execute", turn).get("result", {})
        if result.get("snapshotId"):
            known["session"].append(result["sessionId"])
            known["snapshot"].append(result["snapshotId"])


@schemathesis.hook
def before_call(ctx, case, kwargs):
    global calls
    if calls % REFRESH == 0:
        refresh()
    calls += 1
    bound_stream(case)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for parameters in (case.path_parameters, case.query):
        for name in parameters or {}:
            if known.get(name) and CHOICES.random() < 0.7:
                parameters[name] = CHOICES.choice(known[name])
    if not IS_TOOLS and "stream" in (case.query or {}):
        case.query["stream"] = CHOICES.choice(["true", "false"])
    if isinstance(case.body, dict) and CHOICES.random() < 0.7:
        fill(case.operation.path, case.body)


def bound_stream(case):
    """Nothing is learnt from waiting for events that do not come."""
    if not IS_TOOLS or not case.path.endswith("/events") or case.query is None:
        return
    try:
        is_short = float(case.query.get("seconds", "inf")) <= SECONDS
    except (TypeError, ValueError):
        return
    if not is_short:
        case.query["seconds"] = SECONDS


def fill(path, body):
    """Lets a body that fits its schema name what there is."""
    if "runtimeId" in body:
        body["runtimeId"] = None
    if path in ("/api/v1/run", "/api/v1/stream") and known.get("actionKey"):
        body["key"] = CHOICES.choice(known["actionKey"])
        if CHOICES.random() < 0.5:
            body["input"] = CHOICES.choice(["Ada", {"name": "Ada"}, 7, None])
    if path.startswith("/api/v1/evaluations"):
        if "dataSource" in body:
            body["dataSource"] = {"datasetId": "people"}
        if "actionRef" in body:
            body["actionRef"] = CHOICES.choice(["/flow/hello", "/flow/broken"])
        if "evaluators" in body:
            body["evaluators"] = None
    if path.endswith("/execute"):
        body["input"] = CHOICES.choice(["hello", {"content": "a green tea, please"}])
        if CHOICES.random() < 0.5:
            body.pop("init", None)
        elif known.get("session"):
            body["init"] = {"sessionId": CHOICES.choice(known["session"])}
    if path.endswith(("/fork", "/abort")) and known.get("snapshot"):
        body["snapshotId"] = CHOICES.choice(known["snapshot"])


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    name = type(failure).__name__
    # After ten wrong tokens the tools answer 429, which lets nobody in either.
    if name == "IgnoredAuth" and "got `429 " in failure.message:
        return False
    # HTTP lets everybody send headers that are not described.
    unknown = "in header - object with unexpected properties"
    if name == "AcceptedNegativeData" and unknown in failure.message:
        return False
    return not (name == "AcceptedNegativeData" and is_list_for_struct(failure, case))


def is_list_for_struct(failure, case):
    """Inside of an action's input serde takes a list for a struct: the input that the code
    gets is whole, so that `is_proven_by_parse` of oxikit-core lets it through."""
    found = re.search(r"in body - (data -> .+): Incorrect type", failure.message)
    value = case.body
    for member in found.group(1).split(" -> ") if found and not IS_TOOLS else [None]:
        value = value.get(member) if isinstance(value, dict) else None
    return isinstance(value, list)


@schemathesis.hook
def after_call(ctx, case, response):
    """The application that was started again is another runtime, which has to be there."""
    if case.path == "/api/v1/app/restart" and response.status_code == 200:
        for _ in range(100):
            if call("GET", "/api/v1/actions").get("actions"):
                break
            time.sleep(0.05)
        refresh()
